// What tests/extensions/table/wasm/test_browser.py runs in a page: fetches the job, and sends the answer back.
import { AgentClient } from "/built/client.mjs";
import { playRounds } from "/built/engine.mjs";
import { Library } from "/built/rounds.mjs";

/** Digests of random rounds, as wasm_run.mjs makes them in Node. */
async function rounds(library, job) {
  const { engine } = await library.load(job.game);
  const keys = job.keys.map((key) => BigInt.asIntN(64, BigInt(`0x${key}`)));
  return job.variants.map(([rules, numPlayers]) => {
    const { digests } = playRounds(engine.variant(rules, numPlayers).newGame(), keys);
    return Array.from(digests, String);
  });
}

/** A round that an agent in the worker plays, while the page counts the frames that it could draw. */
async function worker(library, job) {
  const game = await library.load(job.game);
  const round = game.round({ rules: job.variant[0], num_players: job.variant[1], key: job.key });
  const client = new AgentClient("/built/");
  const gone = new AbortController();
  const lost = client.choose(round.data, job.agent, { signal: gone.signal });
  gone.abort();
  const error = await lost.catch((reason) => reason.name);
  const unknown = await client.choose(round.data, "nobody").catch((reason) => reason.message);
  let longest = 0,
    numTicks = 0,
    last = performance.now(),
    isDone = false;
  const tick = () => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
    numTicks++;
    if (!isDone) setTimeout(tick);
  };
  tick();
  const actions = [],
    times = [];
  while (!round.isOver && actions.length < (job.most ?? Infinity)) {
    const { action, ms } = await client.choose(round.data, job.agent, job.options);
    actions.push(action);
    times.push(ms);
    round.play(action);
  }
  isDone = true;
  client.close();
  return { actions, times, longest, numTicks, error, unknown, record: round.record() };
}

let answer;
try {
  const job = await (await fetch("/job")).json();
  const library = await Library.open("/built/");
  answer = { answer: await { rounds, worker }[job.command](library, job) };
} catch (error) {
  answer = { error: String(error?.stack ?? error) };
}
await fetch("/answer", { method: "POST", body: JSON.stringify(answer) });

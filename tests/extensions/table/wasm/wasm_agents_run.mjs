// What tests/extensions/table/wasm/test_wasm_agents.py runs in Node: node wasm_agents_run.mjs DIR COMMAND, a job as JSON on standard input.
import fs from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, command] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(`${folder}/${name}`).href);
const { IllegalPlay, Library, RecordError } = await load("rounds.mjs");
const { Agents } = await load("agents.mjs");
const job = JSON.parse(fs.readFileSync(0, "utf8"));
const library = await Library.open(
  folder,
  async (name) => new Uint8Array(fs.readFileSync(`${folder}/${name}`)),
);
const game = await library.load(job.game);
const agents = new Agents(library);
const start = ([rules, num_players], key) => game.round({ rules, num_players, key });

/** By variant, an agent's choices in rounds where two plays in three are its own, the third is another legal action. */
async function choices() {
  const times = [];
  const chosen = [];
  for (const variant of job.variants) chosen.push(await choicesIn(variant, times));
  times.sort((a, b) => a - b);
  return { chosen, median: times[times.length >> 1], p99: times[Math.floor(times.length * 0.99)] };
}

async function choicesIn(variant, times) {
  const chosen = [];
  for (const [i, key] of job.keys.entries()) {
    const round = start(variant, key);
    await agents.prepare(round, job.agent);
    const some = [];
    for (let n = 0; !round.isOver; n++) {
      const begin = performance.now();
      some.push(agents.chosen(round, agents.info(round, job.agent), job.options));
      times.push(performance.now() - begin);
      round.play((n + i) % 3 ? some[n] : round.game.nthLegal((7 * n) % round.game.countLegal()));
    }
    chosen.push(some);
    round.free();
  }
  return chosen;
}

/** What an agent says of all legal plays, at each decision of a round. */
async function advice() {
  return Promise.all(
    job.records.map(async (line) => {
      const whole = game.fromRecord(line);
      await agents.prepare(whole, job.agent);
      return Array.from({ length: whole.numPlays }, (_, n) =>
        agents.advise(whole.at(n), job.agent, job.options),
      );
    }),
  );
}

/** Rounds of records: all views at every decision, after undoing and playing again; the record. */
function rounds() {
  return job.records.map((line) => {
    const whole = game.fromRecord(line);
    const leads = [];
    const views = Array.from({ length: whole.numPlays + 1 }, (_, n) => {
      const round = whole.at(n);
      if (n) {
        const last = round.history().at(-1);
        round.undo();
        round.play(last);
      }
      const seats = [null, ...Array.from({ length: round.numPlayers }, (_, seat) => seat)];
      const found = seats.map((seat) => round.view(seat));
      leads.push(round.leadAt);
      round.free();
      return found;
    });
    const again = game.fromData(JSON.parse(JSON.stringify(whole.data)));
    const { nextLeader: leader, payments } = whole;
    return { views, leads, record: again.record(), hands: whole.hands(), leader, payments };
  });
}

/** What records are: the row and the record again, or the sentence and the clause of the refusal. */
function records() {
  return job.records.map((line) => {
    try {
      const round = game.fromRecord(line);
      const found = { row: Array.from(round.game.row, String), record: round.record() };
      round.free();
      return found;
    } catch (error) {
      if (!(error instanceof RecordError)) throw error;
      return { error: error.message, clause: error.clause };
    }
  });
}

/** For sets of cards: the legal action that they are, and the legal actions that contain them and more. */
function sets() {
  const round = game.fromRecord(job.record);
  return job.sets.map((text) => {
    const cards = text
      .split(" ")
      .filter(Boolean)
      .map((card) => game.cards.indexOf(card));
    const found = round.find(cards);
    let isPlayed = false;
    const copy = round.at(round.numPlays);
    try {
      copy.playCards(game.mask(text));
      isPlayed = true;
    } catch (error) {
      if (!(error instanceof IllegalPlay)) throw error;
    }
    if (isPlayed !== (found !== null)) throw new Error(`${text}: find and play do not agree`);
    return { action: found?.action ?? -1, more: round.extensions(cards).map((play) => play.action) };
  });
}

/** float16 to float32, all of them, as bits. */
function halves() {
  const { engine } = game;
  const all = engine.take(Uint16Array, 65536),
    words = engine.take(Uint32Array, 65536);
  all.array.set(Array.from({ length: 65536 }, (_, i) => i));
  engine.calls.widen(all.at, words.at, 65536);
  return Array.from(words.array);
}

process.stdout.write(JSON.stringify(await { choices, advice, rounds, records, sets, halves }[command]()));

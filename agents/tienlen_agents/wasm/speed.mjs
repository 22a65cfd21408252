/**
 * Measure the speed of the engine and of the agents on one thread: `node speed.mjs [RULES PLAYERS]`, or in a
 * page `import("./speed.mjs").then(({ measure }) => measure(library))`.
 */
import { FINISHED, playRounds, Variant } from "./engine.mjs";
import { Agents } from "./agents.mjs";
import { Library } from "./rounds.mjs";

const KEY_STEP = 0x9e3779b97f4a7c15n;
const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];

/**
 * @param {Library} library
 * @param {string} rules
 * @param {number} numPlayers
 * @param {number} numRounds
 * @param {() => number} now milliseconds
 */
export async function measure(library, rules = "cardgames", numPlayers = 4, numRounds = 2000, now = () => performance.now()) {
  const loaded = await library.loadRules(rules);
  const bare = loaded.tables.without_history.find((v) => v.rules === rules && v.num_players === numPlayers);
  const game = (bare ? new Variant(loaded.engine, bare) : loaded.engine.variant(rules, numPlayers)).newGame();
  const keys = Array.from({ length: numRounds }, (_, i) => BigInt.asIntN(64, BigInt(i) * KEY_STEP));
  const rate = (play) => {
    const begin = now();
    return play() / (now() - begin) / 1000;
  };
  const inside = () => playRounds(game, keys, false).decisions;
  const twoCalls = () => {
    let decisions = 0, state = 1;
    for (const key of keys) {
      game.deal(key);
      for (let code = 0; !(code & FINISHED); decisions++) {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        code = game.step(game.chooseLegal(state / 4294967296));
      }
    }
    return decisions;
  };
  // The actions of some rounds, so that a decision is one call: the step with its mask and observation.
  const scripts = keys.slice(0, 200).map((key) => {
    game.deal(key);
    const actions = [];
    for (let n = 0; !game.isOver; n++) {
      actions.push(game.nthLegal((7 * n) % game.countLegal()));
      game.play(actions[n]);
    }
    return actions;
  });
  const oneCall = () => {
    let decisions = 0;
    for (let again = 0; again < numRounds / 200; again++)
      scripts.forEach((actions, i) => {
        game.deal(keys[i]);
        for (const action of actions) game.step(action);
        decisions += actions.length;
      });
    return decisions;
  };
  const repeat = (play) => Math.max(...Array.from({ length: 7 }, () => rate(play))); // others may use the processor
  const found = { inside: repeat(inside), oneCall: repeat(oneCall), twoCalls: repeat(twoCalls), agents: {} };
  const agents = new Agents(library);
  for (const { name } of loaded.tables.agents) {
    const times = [];
    for (let n = 0; n < 6; n++) {
      const round = loaded.round({ rules, num_players: numPlayers, key: n.toString(16).padStart(16, "0") });
      try {
        await agents.prepare(round, name);
      } catch (error) {
        if (error instanceof RangeError) break; // it does not play these rules
        throw error;
      }
      while (!round.isOver) {
        const isChoice = round.game.countLegal() > 1;
        const { action, ms } = agents.choose(round, name, { seed: 1 });
        if (isChoice) times.push(ms);
        round.play(action);
      }
      round.free();
    }
    if (times.length) found.agents[name] = { decisions: times.length, medianMs: median(times), worstMs: times.at(-1) };
  }
  return found;
}

if (globalThis.process?.argv[1] && import.meta.url.endsWith(globalThis.process.argv[1].split(/[\\/]/).at(-1))) {
  const { readFile } = await import("node:fs/promises");
  const library = await Library.open(import.meta.url, (name) => readFile(new URL(name, import.meta.url)));
  const [, , rules, numPlayers] = globalThis.process.argv;
  const used = () => globalThis.process.cpuUsage().user / 1000; // other programs do not count
  const found = await measure(library, rules, numPlayers && Number(numPlayers), undefined, used);
  const { inside, oneCall, twoCalls } = found;
  console.log("millions of decisions a second, one thread, with mask and observation:");
  console.log(`  ${inside.toFixed(2)} in a loop inside, ${oneCall.toFixed(2)} at one call a decision, ${twoCalls.toFixed(2)} at two`);
  console.log("milliseconds for a choice (median, worst; of decisions with a choice):");
  for (const [name, { decisions, medianMs, worstMs }] of Object.entries(found.agents))
    console.log(`  ${name}: ${medianMs.toFixed(3)}, ${worstMs.toFixed(1)} (${decisions})`);
}

// What tests/extensions/table/engine/test_wasm.py runs in Node: node wasm_run.mjs DIR COMMAND, a job as JSON on standard input.
import { createHash } from "node:crypto";
import fs from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, command] = process.argv.slice(2);
const { Engine, FINISHED, PAID, REFUSED, playRounds } = await import(
  pathToFileURL(`${folder}/engine.mjs`).href
);
const job = JSON.parse(fs.readFileSync(0, "utf8"));
const module = new WebAssembly.Module(fs.readFileSync(`${folder}/${job.game}.wasm`));
const tables = JSON.parse(fs.readFileSync(`${folder}/${job.tables ?? `${job.game}.json`}`, "utf8"));
const engine = new Engine(new WebAssembly.Instance(module), tables);
const newGame = (variant) => engine.variant(...variant).newGame();
const KEY_STEP = 0x9e3779b97f4a7c15n;

/** Digests of random rounds; the keys come from a file and the digests go to one, int64 both. */
function rounds() {
  const keys = new BigInt64Array(new Uint8Array(fs.readFileSync(job.keys)).buffer);
  const out = fs.openSync(job.out, "w");
  const decisions = job.variants.map((variant) => {
    const found = playRounds(newGame(variant), keys);
    fs.writeSync(out, new Uint8Array(found.digests.buffer));
    return found.decisions;
  });
  return { decisions, imports: WebAssembly.Module.imports(module).length };
}

/** SHA-256 of masks, observations and turns of fixed games that are dealt anew, as `played` of the golden tests. */
function golden() {
  return job.groups.map((variants) => {
    const hash = createHash("sha256");
    for (const variant of variants) {
      const games = Array.from({ length: job.numGames }, () => newGame(variant));
      games.forEach((game, i) => game.deal(BigInt(i) * 1000003n));
      for (let step = 0; step < job.numSteps; step++) {
        const counts = games.map((game) => game.countLegal());
        for (const game of games) hash.update(game.actionMask());
        for (const game of games) hash.update(game.observe());
        hash.update(new Uint8Array(BigInt64Array.from(games, (game) => BigInt(game.turn)).buffer));
        games.forEach((game, i) => {
          const code = game.play(game.nthLegal((7 * step + 13 * i) % counts[i]));
          if ((code & ~PAID) === FINISHED)
            game.deal(BigInt.asIntN(64, game.row[game.columns.key] + KEY_STEP));
        });
      }
    }
    return hash.digest("hex").slice(0, 32);
  });
}

/** REFUSED for each call with a number that a game does not have. */
function outOfRange(game) {
  const seats = [-2, game.variant.numPlayers, 99, 0.5, NaN, 2 ** 32, "1", null];
  const calls = [
    ...seats.flatMap((seat) => [
      () => game.deal(1n, 0, seat),
      () => game.beginRound(seat),
      () => game.observe(seat),
    ]),
    ...[-1, ...seats].map((seat) => () => game.resampleHidden(seat, 1n)),
    ...[-1, game.variant.numActions, 0.5, NaN].map((action) => () => game.actionCards(action)),
    ...[
      [2n ** 63n, 0],
      [1n, 0.5],
      [1n, 2 ** 60],
      [1n, NaN],
    ].map(
      ([key, round]) =>
        () =>
          game.deal(key, round),
    ),
  ];
  return calls.map((call) => {
    try {
      call();
    } catch (error) {
      if (error instanceof RangeError || /without resample_hidden/.test(error.message)) return REFUSED;
    }
    return 0;
  });
}

/** Everything that one game can be asked, at each decision of some rounds. */
function calls() {
  const game = newGame(job.variant);
  return job.rounds.map(({ key, leader, actions, exact, wrong }) => {
    game.deal(BigInt(key), 0, leader);
    return actions.map((action, i) => {
      const legal = game.listLegal();
      const before = Array.from(game.row, String);
      const refused = [-1, 0.5, 2 ** 32, NaN, game.variant.numActions, job.illegal[i % job.illegal.length]]
        .filter((a) => !legal.some((found) => found.action === a))
        .map((a) => game.play(a));
      refused.push(...wrong[i].map((cards) => game.play(action, BigInt(cards))));
      refused.push(...outOfRange(game));
      const isSame = Array.from(game.row, String).join() === before.join();
      const found = {
        row: before,
        legal: legal.map(({ action, cards }) => [action, String(cards)]),
        count: game.countLegal(),
        chosen: game.chooseLegal(job.draws[i % job.draws.length]),
        mask: Array.from(game.actionMask()),
        views: job.seats.map((seat) => Buffer.from(game.observe(seat)).toString("base64")),
        global: Buffer.from(game.globalObservation()).toString("base64"),
        cards: String(game.actionCards(action)),
        refused: refused.every((code) => code === REFUSED) && isSame,
      };
      const code = exact
        ? game.play(action, BigInt(exact[i]))
        : i % 2
          ? game.play(action)
          : game.step(action);
      if (!exact && i % 2 === 0) found.next = Buffer.from(game.observation).toString("base64");
      return { ...found, code, rewards: Array.from(game.rewards) };
    });
  });
}

/** Hidden cards sampled anew for a seat, from several keys. */
function samples() {
  const game = newGame(job.variant);
  game.deal(BigInt(job.key));
  const row = game.row.slice();
  return job.keys.map((key) => {
    game.row.set(row);
    game.resampleHidden(job.seat, BigInt(key));
    return Array.from(game.row, String);
  });
}

process.stdout.write(JSON.stringify({ rounds, golden, calls, samples }[command]()));

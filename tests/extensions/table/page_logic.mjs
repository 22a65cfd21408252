/**
 * The page's logic without a page: `node page_logic.mjs WEB ENGINE` bundles the sources in WEB, plays with the engine in
 * ENGINE, and prints by its name what each check found: "" or the error.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [web, engine] = process.argv.slice(2).map((folder) => path.resolve(folder));
const { build } = createRequire(`${web}/package.json`)("esbuild");
const out = fs.mkdtempSync(path.join(os.tmpdir(), "page-logic-"));

// A browser as far as the sources ask for it. Every tab has modules of its own and shares the storage.
const storage = new Map();
let writes = 0;
let listeners = [];
const tell = (type, event) => {
  for (const [name, listener, tab] of [...listeners]) if (name === type && tab !== event.tab) listener(event);
};
let tab = 0;
globalThis.document = { baseURI: "http://page/" };
globalThis.window = globalThis;
globalThis.addEventListener = (type, listener) => listeners.push([type, listener, tab]);
globalThis.removeEventListener = (_, listener) => {
  listeners = listeners.filter((one) => one[1] !== listener);
};
globalThis.localStorage = new Proxy(
  {
    getItem: (key) => storage.get(key) ?? null,
    setItem: (key, text) => {
      writes++;
      const hasChanged = storage.get(key) !== text,
        writer = tab;
      storage.set(key, text);
      if (hasChanged)
        setTimeout(() => {
          const before = tab;
          for (const [name, listener, other] of [...listeners])
            if (name === "storage" && other !== writer) {
              tab = other;
              listener({ key });
            }
          tab = before;
        });
    },
    removeItem: (key) => storage.delete(key),
  },
  {
    ownKeys: () => [...storage.keys()],
    getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
  },
);
globalThis.fetch = async (url) =>
  new Response(fs.readFileSync(path.join(engine, path.basename(new URL(url).pathname))));

// The agents' worker: each plays the first legal play.
const client = `import { Library } from "${pathToFileURL(engine).pathname}/rounds.mjs";
export class AgentClient {
  constructor(base, script, read) { this.library = Library.open(base, read); }
  async choose(data) {
    const round = (await (await this.library).loadRules(data.rules)).fromData(data);
    const [play] = round.legal();
    round.free();
    return play;
  }
}`;
const stub = {
  name: "client",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /client\.mjs$/ }, () => ({ path: "client", namespace: "stub" }));
    onResolve({ filter: /engine\.mjs$/ }, () => ({ path: path.join(engine, "engine.mjs") }));
    onLoad({ filter: /.*/, namespace: "stub" }, () => ({ contents: client, resolveDir: engine }));
  },
};
const entry = ["shown", "press", "writer", "progress", "stored", "local", "judge", "model", "machine", "said"]
  .map((name) => `export * from "${web}/src/${name}.ts";`)
  .join("\n");
await build({
  stdin: { contents: entry, resolveDir: web },
  outfile: path.join(out, "logic.mjs"),
  plugins: [stub],
  bundle: true,
  format: "esm",
  platform: "neutral",
  logLevel: "error",
});
const bundle = pathToFileURL(path.join(out, "logic.mjs")).href;
const page = await import(bundle);

const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const until = async (isSo) => {
  for (let i = 0; !isSo(); i++) {
    if (i > 2000) throw new Error(`it does not come: ${isSo}`);
    await pause(1);
  }
};
const gameOf = (config = {}, more = {}) => ({
  config: {
    rules: "cardgames",
    seats: ["human", "greedy", "greedy", "greedy"],
    whole_game: true,
    pause: 0,
    ...config,
  },
  rounds: [
    {
      rules: "cardgames",
      num_players: 4,
      key: "0000000000000083",
      round: 0,
      leader: null,
      scores: null,
      plays: [],
    },
  ],
  roundsSeen: 0,
  ...more,
});
/** Play on until the table waits after a round. */
async function playRound(host) {
  await until(() => host.view);
  while (!host.view.waiting && !host.view.result) {
    await until(() => host.view.current_seat === 0 || host.view.waiting || host.view.result);
    if (host.view.current_seat === 0 && !host.view.waiting) await host.play(host.view.legal.at(-1));
  }
}

const play = (seat, id, text, round = 0) => ({ type: "play", round, seat, id, text });
const NAMES = ["pass", "single 2h", "quad 7h", "double sequence 3-5 top 5h", "quad 9h"];
const viewOf = (events, more = {}) => ({
  events,
  lead_at: 0,
  round: 0,
  seats: [],
  counts: [0, 0],
  seat: 0,
  waiting: false,
  ...more,
});

const checks = {
  async "the play that ends a round is shown, with what the others hold"() {
    const host = new page.LocalHost(gameOf(), null);
    await playRound(host);
    assert.equal(host.view.waiting, true);
    const last = page.playsOf(host.view).at(-1),
      shown = page.shownView(host.view);
    assert.equal(shown.round, last.round);
    assert.equal(shown.table, last.text);
    assert.equal(shown.owner, last.text ? last.seat : shown.owner);
    assert.equal(shown.current_seat, null);
    const over = page.endedRound(host.view);
    assert.equal(over.hands.filter(Boolean).length, 1); // the last one holds cards
    assert.deepEqual(shown.hands, over.hands);
    assert.notEqual(host.view.hand, shown.hand); // the next deal lies behind it
    await host.next();
    assert.equal(page.shownView(host.view), host.view);
    host.close();
  },
  async "watchers see it before the next deal, too"() {
    const seats = ["greedy", "greedy", "greedy", "greedy"];
    const host = new page.LocalHost(gameOf({ seats, pause: 1 }), null);
    await until(() => host.view?.events.some(({ type }) => type === "round_over"));
    assert.equal(page.shownView(host.view).round, 0);
    assert.equal(page.shownView(host.view).current_seat, null);
    await host.step();
    assert.equal(page.shownView(host.view), host.view);
    assert.equal(host.view.round, 1);
    host.close();
  },
  "a chop is announced by its own play alone"() {
    const two = play(0, 1, "2h"),
      quad = play(1, 2, "7s 7c 7d 7h");
    assert.equal(page.isChop(viewOf([two]), NAMES), false);
    assert.equal(page.isChop(viewOf([two, quad]), NAMES), true);
    assert.equal(page.isChop(viewOf([two, quad, play(2, 0, "")]), NAMES), false);
    assert.equal(page.isChop(viewOf([two, quad, play(2, 0, ""), play(3, 4, "9s 9c 9d 9h")]), NAMES), false);
  },
  "a pass draws nothing on the table anew"() {
    const plays = [play(0, 1, "2h"), play(1, 2, "7s 7c 7d 7h")];
    assert.equal(page.numberOnTable(viewOf(plays)), 1);
    assert.equal(page.numberOnTable(viewOf([...plays, play(2, 0, ""), play(3, 0, "")])), 1);
  },
  "a press counts in the turn in which it began"() {
    const presses = new page.Presses();
    presses.begin("2h", -1);
    assert.deepEqual(presses.end("2h", 4, 1), { counts: true, mayPlay: false });
    presses.begin("3s", 4);
    assert.deepEqual(presses.end("3s", 5, 1), { counts: true, mayPlay: false });
    presses.begin("4s", 5);
    assert.deepEqual(presses.end("4s", 5, 1), { counts: true, mayPlay: true });
    assert.equal(presses.end("4s", 5, 0).mayPlay, true); // a program presses without a hand
  },
  "the second half of a double click does not hit the neighbour"() {
    const presses = new page.Presses();
    presses.begin("4s", 5);
    presses.end("4s", 5, 1);
    presses.begin("5s", 8);
    assert.equal(presses.end("5s", 8, 2).counts, false);
    presses.begin("6s", 8);
    assert.equal(presses.end("6s", 8, 1).counts, true);
    presses.begin("6s", 8);
    assert.equal(presses.end("6s", 8, 2).counts, true); // up and down again
  },
  "a puzzle is rated once"() {
    const wrong = page.answered(page.FRESH, 7, 1000, false);
    assert.equal(wrong.rating, 984);
    const reloaded = page.progressOf(JSON.parse(JSON.stringify(wrong)));
    assert.deepEqual(page.answered(reloaded, 7, 1000, true), reloaded);
    const { rated: _, ...old } = wrong; // stored by an earlier page
    assert.equal(page.answered(page.progressOf(old), 7, 1000, true).rating, 984);
    assert.deepEqual(page.progressOf({ rating: "x" }), page.FRESH);
  },
  async "two tabs agree on who writes"() {
    storage.set("game:5", JSON.stringify(gameOf({ seats: ["human", "greedy", "greedy", "greedy"] })));
    const other = await import(`${bundle}?other`);
    tab = 1;
    const first = new page.LocalHost(page.storedGame("5"), "5");
    await until(() => first.view);
    tab = 2;
    const second = new other.LocalHost(other.storedGame("5"), "5");
    await until(() => second.view);
    await pause(150);
    writes = 0;
    await pause(150);
    assert.ok(writes <= 12, `${writes} writes while nobody plays`);
    for (const [host, number] of [
      [first, 1],
      [second, 2],
      [first, 1],
    ]) {
      tab = number;
      await until(() => host.view.current_seat === 0);
      const { turn } = host.view;
      await host.play(host.view.legal.at(-1));
      await until(
        () => first.view.turn > turn && first.view.turn === second.view.turn && first.view.current_seat === 0,
      );
    }
    first.close();
    second.close();
    tab = 0;
  },
  async "a game for units is stored with its units"() {
    const rounds = [{ ...gameOf().rounds[0], rules: "south" }];
    const host = new page.LocalHost(gameOf({ rules: "south", whole_game: false }, { rounds }), "9");
    await playRound(host);
    const { result } = page.storedGame("9");
    assert.equal(
      result.balances.reduce((a, b) => a + b),
      0,
    );
    assert.ok(result.balances.some((units) => units));
    host.close();
  },
  async "several people at one device: a hand is shown when its person has taken the device"() {
    const host = new page.LocalHost(gameOf({ seats: ["human", "human", "greedy", "human"] }), "7");
    await until(() => host.view);
    const seen = new Set();
    const isMine = () => host.view.handover === null && host.view.current_seat === host.view.seat;
    while (!host.view.waiting) {
      await until(() => host.view.handover !== null || isMine() || host.view.waiting);
      const { handover, hand, legal, hands } = host.view;
      if (host.view.waiting) break;
      if (handover !== null) {
        assert.deepEqual([hand, legal, hands], ["", [], undefined]);
        if (host.view.current_seat === handover && seen.size) await host.play(""); // nobody plays for who is asked
        assert.equal(host.view.handover, handover);
        host.takeDevice();
        assert.deepEqual([host.view.seat, host.view.handover], [handover, null]);
        assert.notEqual(host.view.hand, "");
        seen.add(handover);
      } else await host.play(legal.at(-1));
      assert.equal(host.view.can_undo, false);
    }
    assert.deepEqual([...seen].sort(), [0, 1, 3]);
    await host.next();
    assert.equal(host.view.waiting, false);
    host.close();
  },
  async "who has to take the device is not told about the hidden hand"() {
    const view = {
      ...viewOf([]),
      current_seat: 0,
      seats: [{ name: "human", is_person: true, is_here: true }],
    };
    assert.equal(page.lastWords({ ...view, legal: [] }, [], String), "Your turn");
    assert.equal(page.lastWords({ ...view, legal: [""] }, [], String), "Nothing you hold beats this: pass");
  },
  "what a play costs is told in units where money is played for"() {
    const verdict = { loss: 2, halfWidth: 0.5, best: "" };
    assert.match(page.verdictText(verdict, true), /^This costs 2\.00 ± 0\.50 units\.$/);
    assert.match(page.verdictText(verdict, false), /points\.$/);
    assert.equal(
      page.verdictText({ ...verdict, loss: 0.4 }, true),
      page.verdictText({ ...verdict, loss: 0 }, false),
    );
  },
  async "the pace of Settings holds for the running game"() {
    const host = new page.LocalHost(gameOf({ pause: 600_000 }), null);
    await until(() => host.view);
    if (host.view.current_seat === 0) await host.play(host.view.legal.at(-1));
    const { turn } = host.view;
    await pause(30);
    assert.equal(host.view.turn, turn);
    host.setPace(0);
    await until(() => host.view.turn > turn);
    host.close();
  },
  async "what others played before stays theirs"() {
    const host = new page.LocalHost(gameOf({}, { begun: 3 }), "8");
    await until(() => host.view);
    assert.equal(page.storedGame("8").begun, 3);
    host.close();
  },
  async "every loss is checked where plays without a loss are counted"() {
    let asked = 0;
    const agents = {
      advise: async (_, __, { seed }) => {
        asked += Number(seed > 1);
        const one = { cards: [], action: 1, text: "", points: 0, loss: 1, loss_half_width: 0.1 };
        return { plays: [one, { ...one, action: 2, loss: 0 }], choice: 1 };
      },
    };
    const plays = Array.from({ length: 8 }, () => ({ seat: 0, text: "3s", action: 1, cards: [0] }));
    const round = { history: () => plays, at: () => ({ data: {}, legal: () => [1, 2], free() {} }) };
    let found = [];
    const { signal } = new AbortController();
    await page.judge(agents, round, { worlds: 8, only: 0, numLosses: Infinity }, signal, (all) => {
      found = all;
    });
    assert.equal(asked, 8);
    assert.equal(found.filter(({ isChecked }) => isChecked).length, 8);
  },
};

/** An evening at a table, by the numbers in `draws`: what the table shows after each event. */
async function evening({ rules, seats, whole_game, num_rounds, key, draws }) {
  const config = { rules, seats, whole_game, num_rounds };
  const start = { ...gameOf().rounds[0], rules, num_players: seats.length, key };
  const host = new page.LocalHost(gameOf(config, { rounds: [start] }), null);
  const views = [];
  for (const draw of draws) {
    await until(
      () => host.view && (host.view.current_seat === 0 || host.view.waiting || host.view.result !== null),
    );
    const { events, turn, waiting, can_undo, legal, hand, result, round } = host.view;
    const over = result && { scores: result.scores, winner: result.winner };
    const balances = host.view.balances ?? null;
    views.push({ events, turn, waiting, can_undo, legal, hand, round, result: over, balances });
    if (result || (can_undo && draw % 5 === 0)) await host.undo();
    else if (waiting && draw % 5 === 1) await host.end();
    else if (waiting) await host.next();
    else await host.play(legal[draw % legal.length]);
  }
  host.close();
  return views;
}

/** What the state machine says of events, and its numbers after each. */
async function events({ given, plays, events: list }) {
  const machine = await page.Machine.load();
  machine.look(given, plays);
  return list.map(([name, seat, number]) => [
    machine.react(name, seat, number),
    [...machine.numbers].map(Number),
  ]);
}

const { evenings = [], tables = [] } = JSON.parse(fs.readFileSync(0, "utf8"));
if (evenings.length || tables.length) {
  const found = { evenings: [], tables: [] };
  for (const one of evenings) found.evenings.push(await evening(one));
  for (const one of tables) found.tables.push(await events(one));
  fs.rmSync(out, { recursive: true });
  process.stdout.write(JSON.stringify(found), () => process.exit(0));
  await new Promise(() => {});
}

const found = {};
for (const [name, check] of Object.entries(checks)) {
  try {
    await check();
    found[name] = "";
  } catch (error) {
    found[name] = `${error.stack}`;
  }
}
fs.rmSync(out, { recursive: true });
process.stdout.write(JSON.stringify(found), () => process.exit(0));

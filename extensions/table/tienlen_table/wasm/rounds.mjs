/**
 * Rounds, what each seat sees of them, and their records; in a page, a worker or Node. There is no rule in here:
 * the module of the game knows the rules, its tables the words (`tienlen_table.wasm.tables`).
 *
 *     const library = await Library.open("./");
 *     const game = await library.loadRules("cardgames");
 *     const round = game.round({ rules: "cardgames", num_players: 4 });
 *     while (!round.isOver) round.play(round.legal()[0]);
 *     round.record();
 */
import { Engine, FINISHED, PAID, REFUSED } from "./engine.mjs";
import { fill, RecordError, RecordReader } from "./records.mjs";

/** A move that the rules do not allow; the round has not changed. `clause` of RULES.md. */
export class IllegalPlay extends Error {
  name = "IllegalPlay";
  constructor(message, clause = "") {
    super(message);
    this.clause = clause;
  }
}

const MOST_TEXTS = 5000;

/** Hands that the game cannot deal. */
export class DealError extends Error {
  name = "DealError";
}

export { RecordError };

/** All games of a folder. */
export class Library {
  constructor(index, read) {
    this.index = index;
    this.read = read;
    this.loaded = new Map();
  }

  /**
   * @param {string | URL} base address of the folder
   * @param {(name: string) => Promise<Uint8Array>} [read] reads a file of it; default: `fetch`
   */
  static async open(base, read) {
    const readFile = read ?? reader(base);
    return new Library(parse(await readFile("index.json")), readFile);
  }

  /** A game by its name. */
  load(name) {
    if (!this.index.games.some((game) => game.name === name))
      throw new RangeError(`there is no game ${name}`);
    let found = this.loaded.get(name);
    if (!found) {
      found = this.start(name);
      this.loaded.set(name, found);
      found.catch(() => this.loaded.delete(name)); // so that it can be tried again
    }
    return found;
  }

  async start(name) {
    const [module, tables] = await Promise.all([this.read(`${name}.wasm`), this.read(`${name}.json`)]);
    return new LoadedGame(await Engine.load(module, parse(tables)), this);
  }

  /** The game of a preset, or of rules of one's own: "#" and their digest. */
  async loadRules(rules) {
    if (/^#[0-9a-f]+$/.test(rules)) return this.loadVariant(rules);
    const game = this.index.games.find((g) => g.presets.some((preset) => preset.name === rules));
    if (!game) throw new RangeError(`there are no rules ${rules}`);
    return this.load(game.name);
  }

  /** Rules that are no preset: their tables are a file of the folder, which has the digest as its name. */
  async loadVariant(rules) {
    const found = parse(await this.read(`${rules.slice(1)}.json`));
    const [variant] = found.variants;
    if (variant.rules !== rules) throw new RangeError(`${rules}: the tables of other rules`);
    const loaded = await this.load(found.game),
      { tables } = loaded;
    if (tables.variants.some((other) => other.rules === rules)) return loaded;
    for (const part of ["action_tables", "texts", "constants", "networks"])
      tables[part] = { ...found[part], ...tables[part] };
    tables.variants.push(variant);
    const listed = this.index.games.find((game) => game.name === found.game).agents;
    for (const { name, network } of found.agents)
      if (!network || found.networks[variant.digest])
        listed.find((agent) => agent.name === name)?.tables.push([rules, variant.num_players]);
    return loaded;
  }

  /** The game of a record. */
  async loadRecord(line) {
    const [word, rules = ""] = line.trim().split(/\s+/);
    const game = this.index.games.find((g) => g.record !== "" && g.record === word);
    if (!game) throw new RecordError(`${word}: not the format of a record`, 1);
    if (rules.startsWith("#")) await this.loadRules(rules).catch(() => {}); // a preset's digest is known, another one refused below
    return this.load(game.name);
  }
}

/** Reads files by `fetch`; a missing file is an error. */
export function reader(base) {
  const folder = new URL(base, globalThis.location?.href);
  return async (name) => {
    const answer = await fetch(new URL(name, folder));
    if (!answer.ok) throw new Error(`${answer.url}: ${answer.status} ${answer.statusText}`);
    return new Uint8Array(await answer.arrayBuffer());
  };
}

/** JSON of the bytes of a file. */
export function parse(bytes) {
  return JSON.parse(new TextDecoder().decode(bytes));
}

const bit = (card) => 1n << BigInt(card);

/** Cards of a mask, ascending ids. */
function cardsOf(mask) {
  const cards = [];
  for (let card = 0; mask >> BigInt(card); card++) if ((mask >> BigInt(card)) & 1n) cards.push(card);
  return cards;
}

const maskOf = (cards) => cards.reduce((mask, card) => mask | bit(card), 0n);

/** A game whose module is running. */
export class LoadedGame {
  constructor(engine, library) {
    this.engine = engine;
    this.library = library;
    this.tables = engine.tables;
    this.name = this.tables.game;
    this.words = this.tables.words;
    this.cards = this.words.card_texts;
    this.hasCardChoice = this.tables.has_card_choice;
    this.reader = new RecordReader(this);
    this.texts = new Map(); // cards of masks: a page writes all plays of a game after each play
    this.free = new Map(); // games that can be used again, by variant
    this.cleaner = new FinalizationRegistry(({ variant, game }) => this.giveBack(variant, game));
  }

  /** A new key: 64 random bits as 16 hex digits. */
  newKey() {
    const bytes = globalThis.crypto.getRandomValues(new Uint8Array(8));
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  /** The text of cards, a mask or ids, in the order of the game. */
  text(cards, separator = " ") {
    const mask = typeof cards === "bigint" ? cards : maskOf(cards);
    let found = this.texts.get(mask);
    if (!found) {
      found = this.words.card_order.filter((card) => (mask >> BigInt(card)) & 1n).map((c) => this.cards[c]);
      if (this.texts.size >= MOST_TEXTS) this.texts.clear();
      this.texts.set(mask, found);
    }
    return found.join(separator);
  }

  /** The cards of a text, a mask; null if it is not one. */
  mask(text) {
    let mask = 0n;
    for (let at = 0; at < text.length;) {
      if (text[at] === " ") {
        at++;
        continue;
      }
      const card = this.cards.findIndex((name) => text.startsWith(name, at));
      if (card < 0 || mask & bit(card)) return null;
      mask |= bit(card);
      at += this.cards[card].length;
    }
    return mask;
  }

  /** The names of the actions of these rules, as Python's `action_to_text` gives them. */
  actionTexts(rules, numPlayers) {
    return this.engine.variant(rules, numPlayers).actionTexts;
  }

  /** What the rules are: the fields of Python's `Rules`. */
  about(rules, numPlayers) {
    return this.engine.variant(rules, numPlayers).tables.about;
  }

  /** The file of weights that an agent needs there; null for none. */
  fileOf(agent, rules, numPlayers) {
    const isNetwork = this.tables.agents.find(({ name }) => name === agent)?.network;
    return isNetwork ? this.tables.networks[this.engine.variant(rules, numPlayers).tables.digest].file : null;
  }

  take(variant) {
    return this.free.get(variant)?.pop() ?? variant.newGame();
  }

  giveBack(variant, game) {
    const free = this.free.get(variant) ?? [];
    free.push(game);
    this.free.set(variant, free);
  }

  /** Start a round. */
  round({ rules, num_players, key = this.newKey(), round = 0, leader = null, scores = null }) {
    return new Round(this, { rules, num_players, key, round, leader, scores, plays: [] });
  }

  /** A round of its data. */
  fromData(data) {
    const round = new Round(this, { ...data, plays: [] });
    for (const { action, cards } of data.plays) {
      const mask = this.mask(cards);
      if (mask === null) throw new IllegalPlay(`${cards}: not cards`);
      round.playMask(action, mask);
    }
    return round;
  }

  /** The number of cards of a mask. */
  count(mask) {
    return cardsOf(mask).length;
  }

  /** A round of its record. */
  fromRecord(line) {
    const { start, variant, plays, results, at, end } = this.reader.read(line);
    const round = within(at, () => new Round(this, { ...start, plays: [] }));
    for (const play of plays) within(play.column, () => round.playRecorded(play, variant));
    const found = round.isOver ? round.results() : null;
    if (results && results.join() !== found?.join()) throw this.reader.wrongResults(results, found, end);
    return round;
  }
}

/** Run a part of reading a record: what the module refuses becomes an error of the column. */
function within(column, run) {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof IllegalPlay || error instanceof DealError)) throw error;
    throw new RecordError(error.message, column, error.clause);
  }
}

/** One round; see `rounds.d.mts`. */
export class Round {
  constructor(loaded, data) {
    const { engine } = loaded;
    this.loaded = loaded;
    this.start = data;
    this.variant = engine.variant(data.rules, data.num_players);
    if (!data.hands && !/^[0-9a-f]{16}$/.test(data.key))
      throw new RangeError(`key ${data.key}: expected 16 hex digits`);
    if (!Number.isInteger(data.round) || data.round < 0 || data.round >= 2 ** 31)
      throw new RangeError(`round ${data.round}: expected a number from 0`);
    const isSeat = Number.isInteger(data.leader) && data.leader >= 0 && data.leader < data.num_players;
    if (data.leader !== null && !isSeat)
      throw new RangeError(`leader ${data.leader}: expected a seat or null`);
    const isScores =
      data.scores === null ||
      (data.scores.length === data.num_players && data.scores.every(Number.isInteger));
    if (!isScores) throw new RangeError("scores: expected a whole number for each seat, or null");
    this.game = loaded.take(this.variant);
    loaded.cleaner.register(this, { variant: this.variant, game: this.game }, this);
    this.owner = this.variant.tables.facts.find((fact) => fact.name === "owner")?.column ?? -1;
    this.plays = [];
    this.deal();
  }

  deal() {
    const { game, start } = this;
    this.leadAt = 0;
    if (start.hands) this.setHands(start, start.leader ?? -1);
    else game.deal(BigInt.asIntN(64, BigInt(`0x${start.key}`)), start.round, start.leader ?? -1);
    start.scores?.forEach((score, seat) => (game.row[game.columns.score + seat] = BigInt(score)));
  }

  /** Begin with given hands, and the cards beside them: the module judges them. */
  setHands({ hands, extra = {}, rules }, leader) {
    const { game, loaded } = this,
      { notation } = loaded.words;
    const names = notation.extra.flatMap(([, name, first]) => (first ? [name, first] : [name]));
    const masks = [...hands, ...names.map((name) => extra[name] ?? "")].map((text) => loaded.mask(text));
    if (masks.includes(null) || hands.length !== this.numPlayers)
      throw new DealError(`${hands.join("/")}: not hands`);
    const { fault, cards, most } = game.beginHands(masks, leader);
    if (fault)
      throw new DealError(fill(notation.hand_faults[fault], { cards: loaded.text(cards), most, rules }));
  }

  /** Give the memory back; the round must not be used again. */
  free() {
    if (!this.game) return;
    this.loaded.cleaner.unregister(this);
    this.loaded.giveBack(this.variant, this.game);
    this.game = null;
  }

  get data() {
    const { rules, num_players, key, round, leader, scores, hands, extra } = this.start;
    const plays = this.plays.map(({ action, mask }) => ({ action, cards: this.loaded.text(mask) }));
    const found = { rules, num_players, key, round, leader, scores: scores && [...scores], plays };
    return hands ? { ...found, hands: [...hands], ...(extra ? { extra: { ...extra } } : {}) } : found;
  }

  get numPlayers() {
    return this.variant.numPlayers;
  }

  get currentSeat() {
    return this.game.turn;
  }

  get isOver() {
    return this.game.isOver;
  }

  get places() {
    return this.game.places.map((place) => (place < 0 ? null : place));
  }

  get scores() {
    return this.game.scores;
  }

  get numPlays() {
    return this.plays.length;
  }

  /** Whether anything is paid under these rules. */
  get hasPayments() {
    return this.variant.tables.payments !== null;
  }

  /** What has been paid in the round, `[]` under rules without payments: Python's `Batch.payments`. */
  get payments() {
    const { payments } = this.variant.tables;
    if (!payments) return [];
    const { row } = this.game;
    const part = (word, [shift, bits]) => {
      const rest = word >> BigInt(shift);
      return Number(bits ? BigInt.asUintN(bits, rest) : rest);
    };
    return Array.from({ length: Number(row[payments.number]) }, (_, i) => {
      const word = row[payments.first + i];
      const found = Object.fromEntries(
        Object.entries(payments.fields).map(([name, field]) => [name, part(word, field)]),
      );
      return { ...found, cause: payments.causes[found.cause] };
    });
  }

  /** The units that each seat got in the round, less those that it paid: Python's `Batch.balances`. */
  get balances() {
    const found = Array.from({ length: this.numPlayers }, () => 0);
    for (const { payer, payee, amount } of this.payments) {
      found[payer] -= amount;
      found[payee] += amount;
    }
    return found;
  }

  /** The seat that leads the next round; null: its deal decides, or this round is not over. */
  get nextLeader() {
    return this.isOver && this.variant.tables.next_leader ? this.places.indexOf(0) : null;
  }

  /** Whether the game is over, too: the module plays the last play again, in a game of several rounds. */
  gameIsOver(numRounds = null) {
    const { loaded, variant, plays } = this;
    const [at, asRules, noEnd] = variant.tables.rounds;
    if (!this.isOver) return false;
    variant.gameSpec ??= loaded.engine.takeNumbers(variant.tables.spec);
    variant.gameSpec.array[at] = BigInt(numRounds === null ? asRules : numRounds || noEnd);
    const before = this.at(plays.length - 1);
    const { action, mask } = plays[plays.length - 1];
    const { game } = before;
    try {
      game.spec = variant.gameSpec.at;
      const code = loaded.hasCardChoice ? game.play(action, mask) : game.play(action);
      return (code & ~PAID) === FINISHED;
    } finally {
      game.spec = variant.spec.at;
      before.free();
    }
  }

  hands() {
    return this.game.hands.map((hand) => this.loaded.text(hand));
  }

  playText(action, mask) {
    const { play_texts, named_plays } = this.variant.tables;
    if (named_plays[action] !== undefined) return named_plays[action];
    return play_texts === null ? this.loaded.text(mask) : this.loaded.tables.texts[play_texts][action];
  }

  asPlay(action, mask) {
    return { action, cards: cardsOf(mask), text: this.playText(action, mask) };
  }

  legal() {
    return this.game.listLegal().map(({ action, cards }) => this.asPlay(action, cards));
  }

  /** The legal action of exactly these cards, -1 for none. */
  actionOf(mask) {
    if (this.isOver) return -1;
    if (this.loaded.hasCardChoice) return this.game.findAction(mask);
    return this.game.listLegal().find(({ cards }) => cards === mask)?.action ?? -1;
  }

  find(cards) {
    const mask = maskOf(cards),
      action = this.actionOf(mask);
    return action < 0 ? null : this.asPlay(action, mask);
  }

  refusal(cards) {
    return this.game.calls.refusal ? this.game.findReason(maskOf(cards)).reason : -1;
  }

  extensions(cards) {
    const mask = maskOf(cards);
    const found = this.loaded.hasCardChoice
      ? this.game.listExtensions(mask)
      : this.game.listLegal().filter((play) => play.cards !== mask && (play.cards & mask) === mask);
    return found.map((play) => this.asPlay(play.action, play.cards));
  }

  play(move) {
    if (typeof move === "number") return this.playMask(move, null);
    return this.playMask(move.action, maskOf(move.cards));
  }

  /** Play a set of cards, a mask; 0n: pass. */
  playCards(mask) {
    const action = this.actionOf(mask);
    if (action < 0) throw this.refused(-1, mask);
    return this.playMask(action, mask);
  }

  /** A play of a record. */
  playRecorded({ action, mask, named }, { named_plays }) {
    if (named !== undefined) {
      const found = Object.keys(named_plays).find((one) => named_plays[one] === named);
      if (found === undefined) {
        const { card } = this.loaded.words.notation.faults;
        throw new IllegalPlay(`column 1: ${fill(card, { word: named.slice(0, 2) })}`);
      }
      return this.playMask(Number(found), 0n);
    }
    return action === undefined ? this.playCards(mask) : this.playMask(action, mask);
  }

  playMask(action, wanted) {
    const { game } = this;
    const seat = game.turn;
    const own = seat < 0 ? undefined : game.listLegal().find((play) => play.action === action)?.cards;
    const mask = wanted ?? own;
    const code = own === undefined ? REFUSED : mask === own ? game.play(action) : game.play(action, mask);
    if (code === REFUSED) throw this.refused(action, mask ?? 0n);
    this.plays.push({ action, mask, seat });
    if (this.owner < 0 || game.row[this.owner] < 0n) this.leadAt = this.plays.length;
    const rewards = Array.from(game.rewards);
    return { seat, ...this.asPlay(action, mask), rewards, isOver: (code & ~PAID) === FINISHED };
  }

  /** Why a play is refused, as Python says it; `action` -1: that of the cards. */
  refused(action, mask) {
    const { game, loaded, variant } = this,
      { words } = loaded;
    if (!game.calls.refusal)
      return new IllegalPlay(`${loaded.text(mask) || this.playText(action, mask)}: not a legal play`);
    const why = game.findReason(mask, action);
    const position = this.position(why.table);
    if (why.action < 0)
      return new IllegalPlay(`${loaded.text(mask)}${variant.tables.notation.no_combination} (${position})`);
    const [sentence, clause] = words.reasons[why.reason];
    const shapes = loaded.tables.texts[variant.tables.shapes];
    const [, size, ...kind] = shapes[why.table].split(" ");
    const cards = loaded.text(why.missing || why.required);
    const reason = fill(sentence, {
      cards,
      bomb: shapes[why.action].split(" ")[0],
      kind: kind.join(" "),
      size,
    });
    const play = why.action ? this.playText(why.action, mask) : variant.actionTexts[0];
    return new IllegalPlay(
      fill(words.notation.refused, { play, why: `${reason}, ${clause}`, position }),
      clause,
    );
  }

  /** The position of the seat to act in a few words; `table`: the action on the table, 0 for none. */
  position(table) {
    const { game, loaded, variant } = this,
      { notation, position } = loaded.words;
    if (this.isOver) return notation.over;
    const [words, empty, declaring] = position,
      [first] = game.listLegal();
    const isDeclared = first !== undefined && variant.tables.named_plays[first.action] !== undefined;
    const shown = (table ? variant.actionTexts[table] : empty) + (isDeclared ? declaring : "");
    return fill(notation.position, {
      seat: game.turn,
      words: fill(words, { table: shown, hand: loaded.text(game.hands[game.turn]) }),
    });
  }

  undo(count = 1) {
    if (!Number.isInteger(count) || count < 0 || count > this.plays.length)
      throw new RangeError(`undo ${count}: expected 0 to ${this.plays.length}`);
    const plays = this.plays.slice(0, this.plays.length - count);
    this.plays = [];
    this.deal();
    for (const { action, mask } of plays) this.playMask(action, mask);
  }

  at(numPlays) {
    const { data } = this;
    return this.loaded.fromData({ ...data, plays: data.plays.slice(0, numPlays) });
  }

  /** All plays so far, each with its seat. */
  history() {
    return this.plays.map(({ action, mask, seat }) => ({ seat, ...this.asPlay(action, mask) }));
  }

  view(seat) {
    const { game, loaded } = this;
    if (seat !== null && !(Number.isInteger(seat) && seat >= 0 && seat < this.numPlayers))
      throw new RangeError(`seat ${seat}: expected 0 to ${this.numPlayers - 1}, or null`);
    const legal = seat !== null && seat === game.turn ? game.listLegal() : [];
    const facts = {};
    for (const fact of this.variant.tables.facts) facts[fact.name] = this.fact(fact, legal);
    return {
      seat,
      current_seat: game.turn < 0 ? null : game.turn,
      hand: seat === null ? "" : loaded.text(game.hands[seat]),
      counts: game.hands.map((hand) => cardsOf(hand).length),
      places: this.places,
      scores: this.scores,
      ...(this.hasPayments ? { balances: this.balances } : {}),
      ...facts,
      legal: legal.map(({ action, cards }) => this.playText(action, cards)),
      legal_ids: legal.map(({ action }) => action),
    };
  }

  fact(fact, legal) {
    const { game, loaded } = this;
    const { row } = game;
    const isEmpty =
      fact.unless.some((column) => row[column] !== 0n) ||
      (fact.if_negative >= 0 && row[fact.if_negative] >= 0n);
    const value = fact.column < 0 ? 0n : row[fact.column];
    const seats = Array.from({ length: this.numPlayers }, (_, seat) => seat);
    switch (fact.kind) {
      case "cards":
        return loaded.text(isEmpty ? 0n : value);
      case "common":
        return loaded.text(
          isEmpty || !legal.length ? 0n : legal.reduce((mask, play) => mask & play.cards, -1n),
        );
      case "seat":
        return Number(value);
      case "optional_seat":
        return value < 0n ? null : Number(value);
      case "seat_mask": {
        const shown = fact.within < 0 ? value : value & row[fact.within];
        return seats.filter((seat) => (shown >> BigInt(seat)) & 1n);
      }
      case "each_cards":
        return seats.map((seat) => loaded.text(row[fact.column + seat]));
      case "each_bits":
        return seats.map((seat) =>
          Number(fact.bits ? BigInt.asUintN(fact.bits, row[fact.column + seat]) : row[fact.column + seat]),
        );
      case "order": {
        const cards = [];
        for (let rest = value; rest & 63n; rest >>= 6n) cards.push(loaded.cards[Number(rest & 63n) - 1]);
        return cards.join(" ");
      }
      case "suit":
        return isEmpty || !value ? "" : loaded.words.suit_texts[cardsOf(value)[0] & 3];
      default:
        throw new Error(`a fact of the kind ${fact.kind}`);
    }
  }

  results() {
    const { game, loaded, numPlayers, start } = this;
    const found = Array.from(game.row.subarray(loaded.words.result_column).subarray(0, numPlayers), Number);
    // A record has the points of the round, a row those of the game.
    const before = loaded.words.result_column === game.columns.score ? start.scores : null;
    return before ? found.map((points, seat) => points - before[seat]) : found;
  }

  record() {
    const { loaded, start, variant } = this;
    const names = variant.tables.play_words && loaded.tables.texts[variant.tables.play_words];
    const hands = start.hands?.map((text) => loaded.text(loaded.mask(text), "")).join("/");
    const deal = hands ? `hands=${hands}` : `key=${start.key}.${start.round}`;
    const beside = (hands ? loaded.words.notation.extra : []).flatMap(([word, name, first]) => {
      const cards = loaded.mask(start.extra?.[name] ?? ""),
        at = loaded.mask(start.extra?.[first] ?? "");
      return cards ? [`${word}=${loaded.text(at, "")}${loaded.text(cards & ~at, "")}`] : [];
    });
    const words = [loaded.words.record, variant.rules, ...variant.tables.size, deal, ...beside];
    if (start.leader !== null) words.push(`lead=${start.leader}`);
    words.push(":");
    const { named_plays } = variant.tables;
    const idText = (action, mask) =>
      names[action] + (loaded.hasCardChoice ? `:${loaded.text(mask, "")}` : "");
    for (const { action, mask } of this.plays)
      words.push(names ? idText(action, mask) : (named_plays[action] ?? (loaded.text(mask, "") || "-")));
    if (this.isOver) words.push("=", ...this.results().map(String));
    return words.join(" ");
  }
}

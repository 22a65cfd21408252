/**
 * The engine in JavaScript: loads the module that Python's `tienlen_table.engine.build` makes of the
 * games' own kernels, and calls it. There is no rule in here, and no table: both come from Python.
 *
 *     const engine = await Engine.load(await (await fetch("tienlen.wasm")).arrayBuffer(), tables);
 *     const game = engine.variant("cardgames", 4).newGame();
 *     game.deal(42n);
 *     while (!game.isOver) game.play(game.listLegal()[0].action);
 *
 * Card masks, keys and all numbers of a row are of 64 bits: BigInt.
 */

/**
 * @typedef {object} Piece A named piece of the observation.
 * @property {number} start
 * @property {number[]} shape
 * @property {string} meaning
 *
 * @typedef {object} VariantTables One variant, as Python's `tables_of` writes it.
 * @property {string} rules name of the preset
 * @property {number} num_players
 * @property {string} digest of the rules
 * @property {number} num_actions
 * @property {number} row_size
 * @property {number} observation_size
 * @property {number} global_observation_size
 * @property {(number | string)[]} spec
 * @property {string} action_table
 * @property {Object<string, Piece>} layout
 *
 * @typedef {object} Columns Where the columns that all games have lie in a row.
 * @property {number} hand
 * @property {number} place
 * @property {number} score
 * @property {number} turn
 * @property {number} key
 * @property {number} round
 * @property {number} legal
 * @property {number[]} hidden
 * @property {number} played
 *
 * @typedef {object} Tables All variants of a game.
 * @property {string} game
 * @property {Object<string, unknown>} settings
 * @property {Columns} columns
 * @property {Object<string, {fields: (number | string)[], texts: string[]}>} action_tables
 * @property {VariantTables[]} variants
 *
 * @typedef {Int8ArrayConstructor | Uint8ArrayConstructor | Float32ArrayConstructor | Float64ArrayConstructor
 *     | BigInt64ArrayConstructor} ArrayType
 */

/** `play` refuses an action that is not legal; else it gives the next seat or FINISHED, plus PAID. */
export const REFUSED = -1;
export const PAID = 8;
export const FINISHED = 16;
const NUMBERS = 64; // room for what goes to a call and comes back

/** An array in the memory of a module, which stays valid when the memory grows. @template {ArrayType} T */
class Block {
  /**
   * @param {WebAssembly.Memory} memory
   * @param {T} type
   * @param {number} at address
   * @param {number} length
   */
  constructor(memory, type, at, length) {
    this.memory = memory;
    this.type = type;
    this.at = at;
    this.length = length;
    this.view = new type(memory.buffer, at, length);
  }

  /** The array; take it anew after anything that may have grown the memory. @returns {InstanceType<T>} */
  get array() {
    if (this.view.buffer !== this.memory.buffer)
      this.view = new this.type(this.memory.buffer, this.at, this.length);
    return /** @type {InstanceType<T>} */ (this.view);
  }

  /**
   * The same memory as an array of another type.
   * @template {ArrayType} U
   * @param {U} type
   * @param {number} length
   * @returns {Block<U>}
   */
  as(type, length) {
    return new Block(this.memory, type, this.at, length);
  }
}

/** A game's module with its memory. */
export class Engine {
  /**
   * @param {WebAssembly.Instance} instance
   * @param {Tables} tables
   */
  constructor(instance, tables) {
    /** The functions of the module. @type {Object<string, (...args: number[]) => number>} */
    this.calls = /** @type {any} */ (instance.exports);
    this.memory = /** @type {WebAssembly.Memory} */ (instance.exports.memory);
    this.tables = tables;
    this.end = Number(/** @type {WebAssembly.Global} */ (instance.exports.__heap_base).value);
    /** @type {Map<string, Block<BigInt64ArrayConstructor>>} */
    this.actionTables = new Map();
    /** @type {Map<VariantTables, Variant>} */
    this.variants = new Map();
  }

  /**
   * Compile and start a module.
   * @param {BufferSource} bytes the .wasm file
   * @param {Tables} tables the .json file of the same game
   */
  static async load(bytes, tables) {
    const { instance } = await WebAssembly.instantiate(bytes, {});
    return new Engine(instance, tables);
  }

  /**
   * Take an array of zeros from the module's memory. To give back all that was taken since, set `end` back.
   * @template {ArrayType} T
   * @param {T} type
   * @param {number} length
   * @returns {Block<T>}
   */
  take(type, length) {
    const at = this.end;
    this.end = (at + type.BYTES_PER_ELEMENT * length + 63) & ~63;
    const missing = this.end - this.memory.buffer.byteLength;
    if (missing > 0) this.memory.grow(Math.ceil(missing / 65536));
    const block = new Block(this.memory, type, at, length);
    new Uint8Array(this.memory.buffer, at, this.end - at).fill(0);
    return block;
  }

  /** @param {(number | string)[]} numbers */
  takeNumbers(numbers) {
    const block = this.take(BigInt64Array, numbers.length);
    block.array.set(numbers.map(BigInt));
    return block;
  }

  /**
   * The variant of a preset and a number of players.
   * @param {string} rules
   * @param {number} numPlayers
   */
  variant(rules, numPlayers) {
    const tables = this.tables.variants.find((v) => v.rules === rules && v.num_players === numPlayers);
    if (!tables) throw new RangeError(`${this.tables.game}: no variant ${rules} for ${numPlayers} players`);
    let variant = this.variants.get(tables);
    if (!variant) this.variants.set(tables, (variant = new Variant(this, tables)));
    return variant;
  }

  /** An agent that was compiled into the module. @param {string} name */
  agent(name) {
    return new Agent(this, name);
  }
}

/** An agent of the module; it plays all variants of its game. */
export class Agent {
  /**
   * @param {Engine} engine
   * @param {string} name
   */
  constructor(engine, name) {
    this.call = engine.calls[name];
    if (!this.call || !engine.calls[`${name}_start`])
      throw new RangeError(`the module of ${engine.tables.game} has no agent ${name}`);
    this.state = engine.take(BigInt64Array, engine.calls[`${name}_size`]());
    engine.calls[`${name}_start`](this.state.at);
  }

  /** Its action, -1 if the game is over. @param {Game} game */
  choose(game) {
    return this.call(game.spec, game.actions, game.at, this.state.at, game.idBlock.at, game.cardBlock.at);
  }
}

/** One variant of a game: its tables in the module's memory. */
export class Variant {
  /**
   * @param {Engine} engine
   * @param {VariantTables} tables
   */
  constructor(engine, tables) {
    this.engine = engine;
    this.tables = tables;
    this.rules = tables.rules;
    this.numPlayers = tables.num_players;
    this.numActions = tables.num_actions;
    this.layout = tables.layout;
    this.actionTexts = engine.tables.action_tables[tables.action_table].texts;
    this.spec = engine.takeNumbers(tables.spec);
    let actions = engine.actionTables.get(tables.action_table);
    if (!actions) {
      actions = engine.takeNumbers(engine.tables.action_tables[tables.action_table].fields);
      engine.actionTables.set(tables.action_table, actions);
    }
    this.actions = actions;
  }

  newGame() {
    return new Game(this);
  }
}

/** One game. Reuse it for the next deal: its memory is not given back. */
export class Game {
  /** @param {Variant} variant */
  constructor(variant) {
    const { engine, tables } = variant;
    this.variant = variant;
    this.calls = engine.calls;
    this.columns = engine.tables.columns;
    this.rowBlock = engine.take(BigInt64Array, tables.row_size);
    // The mask, the observation and the rewards lie in one piece, so that one call digests them.
    const pad = (/** @type {number} */ size) => (size + 7) & ~7;
    const sizes = [pad(tables.num_actions), pad(tables.observation_size), pad(4 * tables.num_players)];
    this.numWords = (sizes[0] + sizes[1] + sizes[2]) / 8;
    const start = engine.take(Uint8Array, 8 * this.numWords).at;
    this.maskBlock = new Block(engine.memory, Int8Array, start, tables.num_actions);
    this.observationBlock = new Block(engine.memory, Uint8Array, start + sizes[0], tables.observation_size);
    this.rewardBlock = new Block(
      engine.memory,
      Float32Array,
      start + sizes[0] + sizes[1],
      tables.num_players,
    );
    this.globalBlock = engine.take(Uint8Array, tables.global_observation_size);
    this.idBlock = engine.take(BigInt64Array, tables.num_actions);
    this.cardBlock = engine.take(BigInt64Array, tables.num_actions);
    this.numberBlock = engine.take(BigInt64Array, NUMBERS);
    this.spec = variant.spec.at;
    this.actions = variant.actions.at;
    this.at = this.rowBlock.at;
    this.row[this.columns.turn] = -1n;
  }

  /** int64 (ROW,): the state, hidden cards included; live. */
  get row() {
    return this.rowBlock.array;
  }

  /** int8 (A,): what `step` and `actionMask` wrote last. */
  get mask() {
    return this.maskBlock.array;
  }

  /** uint8 (O,): what `step` and `observe` wrote last. */
  get observation() {
    return this.observationBlock.array;
  }

  /** float32 (P,): the rewards of the last action. */
  get rewards() {
    return this.rewardBlock.array;
  }

  /** The seat to act, -1 when the game is over. */
  get turn() {
    return Number(this.row[this.columns.turn]);
  }

  get isOver() {
    return this.turn < 0;
  }

  /** @param {number} column @returns {bigint[]} a number of each seat */
  seats(column) {
    return Array.from(this.row.subarray(column, column + this.variant.numPlayers));
  }

  /** Card masks, one a seat. */
  get hands() {
    return this.seats(this.columns.hand);
  }

  /** Places, one a seat: 0 is the first, -1 is not settled. */
  get places() {
    return this.seats(this.columns.place).map(Number);
  }

  /** Points, one a seat. */
  get scores() {
    return this.seats(this.columns.score).map(Number);
  }

  /**
   * The module checks nothing: a number out of its range would be an address out of the game.
   * @param {string} name
   * @param {number} value
   * @param {number} least
   * @param {number} end the first one that is too large
   */
  check(name, value, least, end = this.variant.numPlayers) {
    if (!Number.isInteger(value) || value < least || value >= end)
      throw new RangeError(`${name} ${value}: expected ${least}..${end - 1}`);
  }

  /**
   * Start a game from its key.
   * @param {bigint} key 64 bits, signed
   * @param {number} round which round of the key's game is dealt
   * @param {number} leader the seat that leads; -1: as the rules say
   * @returns {number} the seat to act
   * @throws {RangeError} another number; nothing has changed
   */
  deal(key, round = 0, leader = -1) {
    this.check("leader", leader, -1);
    if (BigInt.asIntN(64, key) !== key || !Number.isSafeInteger(round))
      throw new RangeError(`key ${key}, round ${round}: expected integers of 64 bits`);
    const numbers = this.numberBlock.array;
    numbers[0] = key;
    numbers[1] = BigInt(round);
    numbers[2] = BigInt(leader);
    this.row.fill(0n);
    this.rewards.fill(0);
    return this.calls.begin(this.spec, this.actions, this.at, this.numberBlock.at);
  }

  /** Start a round of the hands in the row. @param {number} leader the seat that leads; -1: as the rules say */
  beginRound(leader = -1) {
    this.check("leader", leader, -1);
    return this.calls.begin_round(this.spec, this.actions, this.at, leader);
  }

  /**
   * Play an action.
   * @param {number} action
   * @param {bigint} [cards] the exact cards; undefined: the lowest suits
   * @returns {number} REFUSED, and nothing has changed; else the next seat or FINISHED, plus PAID
   */
  play(action, cards) {
    if (action !== (action | 0)) return REFUSED; // the call would round it
    if (cards === undefined)
      return this.calls.play(this.spec, this.actions, this.at, action, this.rewardBlock.at);
    this.numberBlock.array[0] = cards;
    return this.calls.play_cards(
      this.spec,
      this.actions,
      this.at,
      action,
      this.numberBlock.at,
      this.rewardBlock.at,
    );
  }

  /** `play`, then write `mask` and `observation` of the next player. @param {number} action */
  step(action) {
    if (action !== (action | 0)) return REFUSED;
    return this.calls.step(
      this.spec,
      this.actions,
      this.at,
      action,
      this.rewardBlock.at,
      this.maskBlock.at,
      this.observationBlock.at,
    );
  }

  /** int8 (A,): 1 is legal. */
  actionMask() {
    this.calls.write_mask(this.spec, this.at, this.maskBlock.at);
    return this.mask;
  }

  /** uint8 (O,): what a seat sees. @param {number} seat -1: nobody */
  observe(seat = this.turn) {
    this.check("seat", seat, -1);
    this.calls.observe(this.spec, this.actions, this.at, seat, this.observationBlock.at);
    return this.observation;
  }

  /** uint8 (G,): what a centralised critic may see. */
  globalObservation() {
    this.calls.observe_all(this.spec, this.actions, this.at, this.globalBlock.at);
    return this.globalBlock.array;
  }

  /** How many actions are legal. */
  countLegal() {
    return this.calls.count_legal(this.spec, this.at);
  }

  /** The n-th legal action from 0; -1 if there are fewer. @param {number} n */
  nthLegal(n) {
    return this.calls.nth_legal(this.spec, this.at, n);
  }

  /** A uniform legal action; -1 when the game is over. @param {number} draw in [0, 1) */
  chooseLegal(draw) {
    return this.calls.choose_legal(this.spec, this.at, draw);
  }

  /** The legal actions and the cards that each would play. @returns {{action: number, cards: bigint}[]} */
  listLegal() {
    const count = this.calls.list_legal(this.spec, this.actions, this.at, this.idBlock.at, this.cardBlock.at);
    return this.listed(count);
  }

  /** What a call has listed. @param {number} count @returns {{action: number, cards: bigint}[]} */
  listed(count) {
    const ids = this.idBlock.array,
      cards = this.cardBlock.array;
    return Array.from({ length: count }, (_, i) => ({ action: Number(ids[i]), cards: cards[i] }));
  }

  /** The legal action that exactly these cards are, -1 for none; where the module knows it. @param {bigint} cards */
  findAction(cards) {
    this.numberBlock.array[0] = cards;
    return this.calls.find_action(this.spec, this.actions, this.at, this.numberBlock.at);
  }

  /**
   * Start a round of given hands.
   * @param {bigint[]} masks the hands, then the cards beside them, in the order of the game
   * @param {number} leader the seat that leads; -1: as the rules say
   * @returns {{fault: number, cards: bigint, most: number}} 0, or what is impossible, and what its sentence names
   */
  beginHands(masks, leader = -1) {
    this.check("leader", leader, -1);
    this.row.fill(0n);
    this.rewards.fill(0);
    const numbers = this.numberBlock.array;
    numbers.fill(0n);
    numbers.set(masks);
    const fault = this.calls.begin_hands(this.spec, this.actions, this.at, this.numberBlock.at, leader);
    return { fault, cards: numbers[0], most: Number(numbers[1]) };
  }

  /**
   * Why cards are refused: the number of the reason, and what its sentence names.
   * @param {bigint} cards
   * @param {number} action -1: that of the cards
   */
  findReason(cards, action = -1) {
    const numbers = this.numberBlock.array;
    numbers[0] = cards;
    const reason = this.calls.refusal(this.spec, this.actions, this.at, action, this.numberBlock.at);
    const [found, missing, required, table] = numbers;
    return { reason, action: Number(found), missing, required, table: Number(table) };
  }

  /**
   * The legal actions that contain these cards and more, inner suits being free; where the module knows it.
   * @param {bigint} cards
   * @returns {{action: number, cards: bigint}[]}
   */
  listExtensions(cards) {
    this.numberBlock.array[0] = cards;
    const count = this.calls.extensions(
      this.spec,
      this.actions,
      this.at,
      this.numberBlock.at,
      this.idBlock.at,
      this.cardBlock.at,
    );
    return this.listed(count);
  }

  /** The cards that a legal action would play, as a mask. @param {number} action */
  actionCards(action) {
    this.check("action", action, 0, this.variant.numActions);
    this.calls.action_cards(this.spec, this.actions, this.at, action, this.numberBlock.at);
    return this.numberBlock.array[0];
  }

  /**
   * Replace the cards that a seat cannot see by a uniform sample of what they may be.
   * @param {number} seat
   * @param {bigint} key 64 bits, signed
   */
  resampleHidden(seat, key) {
    if (!this.calls.resample_hidden) throw new Error(`${this.variant.rules}: a game without resample_hidden`);
    this.check("seat", seat, 0);
    this.numberBlock.array[0] = key;
    this.calls.resample_hidden(this.spec, this.at, seat, this.numberBlock.at);
  }
}

/**
 * Play rounds at random inside the module, with mask and observation at every decision, for checks and speed.
 * @param {Game} game
 * @param {bigint[]} keys one a round
 * @param {boolean} digesting whether to digest state, mask, observation and rewards of every decision
 * @returns {{decisions: number, digests: BigInt64Array}}
 */
export function playRounds(game, keys, digesting = true) {
  const { engine } = game.variant;
  const { end } = engine;
  const keyBlock = engine.take(BigInt64Array, keys.length),
    digests = engine.take(BigInt64Array, keys.length);
  keyBlock.array.set(keys);
  const decisions = game.calls.play_rounds(
    game.spec,
    game.actions,
    game.at,
    keyBlock.at,
    keys.length,
    digests.at,
    game.rewardBlock.at,
    game.maskBlock.at,
    game.observationBlock.at,
    game.maskBlock.at,
    digesting ? game.numWords : 0,
  );
  engine.end = end;
  return { decisions, digests: digests.array.slice() };
}

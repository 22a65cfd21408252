/**
 * The agents that were compiled into the modules, for workers and Node: a call blocks until the agent has chosen.
 * They are the functions of `tienlen_agents`; here they get their arrays (`tienlen_table.wasm.tables`).
 */
import { parse } from "./rounds.mjs";

const TYPES = {
  int64: BigInt64Array,
  float64: Float64Array,
  float32: Float32Array,
  uint32: Uint32Array,
  uint16: Uint16Array,
  uint8: Uint8Array,
  bool: Uint8Array,
};

/** Arrays of a compiled function: `tienlen_table.engine.memory`. */
class Arrays {
  constructor(engine, layout, constants) {
    this.table = engine.take(
      BigInt64Array,
      layout.reduce((size, leaf) => size + 1 + leaf.shape.length, 0),
    );
    this.places = new Map();
    this.blocks = new Map();
    const blocks = [];
    let at = 0;
    for (const leaf of layout) {
      this.places.set(leaf.name, { at, type: leaf.type, shape: leaf.shape });
      if (!leaf.shape.length) {
        this.set(leaf.name, leaf.value);
        blocks.push(null);
      } else {
        const type = TYPES[leaf.type];
        const length = leaf.shape.reduce((product, size) => product * size, 1);
        const block =
          leaf.same === undefined ? engine.take(type, length) : blocks[leaf.same].as(type, length);
        if (leaf.constant) {
          const numbers = constants[leaf.constant];
          block.array.set(type === BigInt64Array ? numbers.map(BigInt) : numbers);
        }
        blocks.push(block);
        this.blocks.set(leaf.name, block);
        this.table.array.set([block.at, ...leaf.shape].map(BigInt), at);
      }
      at += 1 + leaf.shape.length;
    }
  }

  /** The address of the table. */
  get at() {
    return this.table.at;
  }

  /** Set a number. */
  set(name, value) {
    const { at, type } = this.places.get(name);
    if (type.startsWith("float"))
      new Float64Array(this.table.array.buffer, this.table.at + 8 * at, 1)[0] = value;
    else this.table.array[at] = BigInt(value);
  }

  /** An array, live until the memory grows. */
  array(name) {
    return this.blocks.get(name).array;
  }
}

/**
 * Read a safetensors file into the fields of `Weights`; float16 becomes float32. The network is fitted to the
 * variant on the way (`tienlen_table.wasm.tables` says how).
 */
function readWeights(engine, bytes, network, constants, arrays) {
  const size = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  const header = parse(bytes.subarray(8, 8 + size));
  const { end } = engine,
    { fit } = network;

  /** The numbers of a field in the file. */
  function read(field) {
    const name = network.sources[field];
    const { dtype, shape, data_offsets } = header[name];
    const raw = new Uint8Array(bytes.subarray(8 + size + data_offsets[0], 8 + size + data_offsets[1])); // a copy
    const count = shape.reduce((product, length) => product * length, 1);
    const numbers = engine.take(Float32Array, count);
    if (dtype === "F16") {
      const halves = engine.take(Uint16Array, count);
      halves.array.set(new Uint16Array(raw.buffer));
      engine.calls.widen(halves.at, numbers.at, count);
    } else if (dtype === "F32") numbers.array.set(new Float32Array(raw.buffer));
    else throw new Error(`${network.file}: ${name} is stored as ${dtype}`);
    return { numbers, shape };
  }

  function place(type, values) {
    const block = engine.take(type, values.length);
    block.array.set(type === BigInt64Array ? values.map(BigInt) : values);
    return block;
  }

  for (const field of Object.keys(network.sources)) {
    let { numbers, shape } = read(field);
    if (fit?.columns[field]) {
      const columns = constants[fit.columns[field]];
      const index = place(BigInt64Array, columns);
      const picked = engine.take(Float32Array, shape[0] * columns.length);
      engine.calls.pick_columns(numbers.at, shape[0], shape[1], index.at, columns.length, picked.at);
      [numbers, shape] = [picked, [shape[0], columns.length]];
    }
    if (fit?.biases[field]) {
      const weights = read(fit.biases[field]),
        inputs = place(Uint8Array, constants[fit.rule_inputs]);
      engine.calls.add_rule_inputs(
        weights.numbers.at,
        ...weights.shape,
        inputs.at,
        inputs.array.length,
        numbers.at,
      );
    }
    if (network.tiled.includes(field)) {
      const [tiles, rows] = arrays.places.get(field).shape;
      engine.calls.write_tiles(numbers.at, shape[0], shape[1], arrays.blocks.get(field).at, tiles, rows);
    } else {
      const target = arrays.array(field); // a belief network has no outputs for seats that the table does not have
      target.set(numbers.array.subarray(0, target.length));
    }
    engine.end = end;
  }
}

/** A draw in [0, 1) for the agent "random". */
function draw(seed, number) {
  if (seed === undefined) return globalThis.crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32;
  let x = (Math.imul(seed, 0x9e3779b1) + Math.imul(number + 1, 0x85ebca6b)) | 0;
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return ((x ^ (x >>> 16)) >>> 0) / 2 ** 32;
}

/** The agents of a library. */
export class Agents {
  constructor(library) {
    this.library = library;
    this.memories = new Map();
    this.networks = new Map();
  }

  /** Load what an agent needs for the rules of a round: afterwards `choose` and `advise` need nothing more. */
  async prepare(round, name) {
    const info = this.info(round, name);
    if (!info.network) return;
    const { tables } = round.variant;
    let found = this.networks.get(tables);
    if (!found) {
      found = this.loadNetwork(round);
      this.networks.set(tables, found);
      found.catch(() => this.networks.delete(tables));
    }
    this.memories.set(tables, { ...this.memories.get(tables), network: await found });
  }

  async loadNetwork(round) {
    const { tables } = round.variant,
      { engine } = round.loaded;
    const network = round.loaded.tables.networks[tables.digest];
    const bytes = await this.library.read(network.file);
    const arrays = new Arrays(engine, tables.memory.network, round.loaded.tables.constants);
    readWeights(engine, bytes, network, round.loaded.tables.constants, arrays);
    return arrays;
  }

  /** What the tables say of an agent. */
  info(round, name) {
    const info = round.loaded.tables.agents.find((agent) => agent.name === name);
    const isKnown = info && (!info.network || round.loaded.tables.networks[round.variant.tables.digest]);
    if (!isKnown) throw new RangeError(`there is no agent ${name} for ${round.variant.rules}`);
    return info;
  }

  search(round, info, { seed = 0, worlds = round.variant.tables.options[info.name].worlds }) {
    if (!Number.isInteger(worlds) || worlds < 1 || worlds > info.most_worlds)
      throw new RangeError(`worlds ${worlds}: expected 1 to ${info.most_worlds}`);
    const { tables } = round.variant;
    const memories = this.memories.get(tables) ?? {};
    memories.search ??= new Arrays(round.loaded.engine, tables.memory.search, round.loaded.tables.constants);
    this.memories.set(tables, memories);
    for (const [name, value] of Object.entries({ ...tables.options[info.name], seed, worlds }))
      memories.search.set(`options.${name}`, value);
    return memories.search;
  }

  /** Call the network; its arrays. */
  network(round) {
    const { network } = this.memories.get(round.variant.tables);
    const { game } = round;
    network.choice = game.calls.network(game.spec, game.actions, game.at, network.at);
    return network;
  }

  /** The arguments that all searches take first. */
  position(round) {
    const { game } = round,
      { tables } = round.variant;
    return [game.spec, game.actions, game.at, game.at + 8 * tables.history, tables.row_size - tables.history];
  }

  chosen(round, info, options) {
    const { game } = round;
    if (info.kind === "random") return game.chooseLegal(draw(options.seed, round.numPlays));
    if (info.kind === "rule") {
      info.agent ??= round.loaded.engine.agent(info.name);
      return info.agent.choose(game);
    }
    if (info.network && options.worlds === 0) return this.network(round).choice;
    const search = this.search(round, info, options);
    search.set("num_opponents", 0);
    if (!info.network) return game.calls.search(...this.position(round), 0, 0, search.at);
    const { blocks } = this.network(round),
      weights = blocks.get("card_weights");
    if (weights.array.length) search.set("num_opponents", round.numPlayers - 1);
    return game.calls.search(...this.position(round), blocks.get("log_prior").at, weights.at, search.at);
  }

  /** Choose a play; `prepare` came before. `worlds: 0` is the network alone. */
  choose(round, name, options = {}) {
    const begin = performance.now();
    const info = this.info(round, name);
    if (round.isOver) throw new RangeError("the round is over");
    const action = this.chosen(round, info, options);
    const play = round.legal().find((legal) => legal.action === action);
    return { agent: name, seat: round.currentSeat, ...play, ms: performance.now() - begin };
  }

  /** Score all legal plays; `prepare` came before. */
  advise(round, name, options = {}) {
    const begin = performance.now();
    const info = this.info(round, name);
    if (round.isOver) throw new RangeError("the round is over");
    const none = { probability: null, points: null, half_width: null, loss: null, loss_half_width: null };
    const plays = round.legal().map((play) => ({ ...play, ...none }));
    let worlds = 0,
      choice = -1;
    if (info.network) {
      const network = this.network(round);
      const logs = network.array("log_prior"),
        ids = network.array("reader.inputs.action");
      plays.forEach((play, i) => {
        if (Number(ids[i]) !== play.action) throw new Error("the network lists other actions");
        play.probability = Math.exp(logs[i]);
      });
    } else if (info.kind === "search") {
      const search = this.search(round, info, options);
      worlds = round.game.calls.evaluate(...this.position(round), search.at);
      const fields = {
        points: "mean",
        half_width: "half_width",
        loss: "loss",
        loss_half_width: "loss_half_width",
      };
      for (const [field, from] of Object.entries(fields)) {
        const values = search.array(`estimates.${from}`);
        plays.forEach((play, i) => (play[field] = values[i]));
      }
      choice = plays.findIndex((play) => play.loss === 0 && play.loss_half_width === 0);
    }
    if (choice < 0) {
      const action = this.chosen(round, info, options);
      choice = plays.findIndex((play) => play.action === action);
    }
    return { agent: name, seat: round.currentSeat, choice, plays, worlds, ms: performance.now() - begin };
  }
}

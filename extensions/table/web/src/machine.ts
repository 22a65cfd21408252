/** The state machine of a table, compiled from Python (`tienlen_table.machine`): who may act, what an event changes. */
import { readFile } from "./engine.ts";

export type Field =
  | "PEOPLE"
  | "NUM_PLAYS"
  | "NUM_ROUNDS"
  | "IS_OVER"
  | "TURN"
  | "ROUNDS_SEEN"
  | "IS_ENDED"
  | "READY"
  | "HERE"
  | "AWAY"
  | "IS_WAITING"
  | "UNDO_TO"
  | "HOST"
  | "PLAYER";
export type Event = "LOOK" | "PLAY" | "UNDO" | "NEXT" | "TIME" | "END";
interface Tables {
  fields: Record<Field, number>;
  events: Record<Event, number>;
  refusals: Record<string, number>;
  players: Record<string, number>;
  seats: number;
}
interface Calls {
  memory: WebAssembly.Memory;
  __heap_base: WebAssembly.Global<"i32">;
  react: (table: number, plays: number, event: number, seat: number, number: number) => number;
  winner: (
    places: number,
    points: number,
    units: number,
    seats: number,
    isGame: number,
    isForUnits: number,
  ) => number;
}
const PAGE = 65536;

export class Machine {
  private readonly numbers: BigInt64Array;
  private list: number[] = [];

  constructor(
    private readonly calls: Calls,
    private readonly tables: Tables,
  ) {
    this.numbers = new BigInt64Array(Object.keys(tables.fields).length);
  }

  static async load(): Promise<Machine> {
    const [module, tables] = await Promise.all([readFile("table.wasm"), readFile("table.json")]);
    const { instance } = await WebAssembly.instantiate(module as BufferSource, {});
    return new Machine(
      instance.exports as unknown as Calls,
      JSON.parse(new TextDecoder().decode(tables)) as Tables,
    );
  }

  get(field: Field): number {
    return Number(this.numbers[this.tables.fields[field]]);
  }

  /** Whether a mask of seats has one. */
  has(field: Field, seat: number): boolean {
    return ((this.get(field) >> seat) & 1) === 1;
  }

  /** Who acts at the seat in turn: "AGENT", "PERSON", "STAND_IN" or "NOBODY". */
  get player(): string {
    return nameOf(this.tables.players, this.get("PLAYER"));
  }

  /** Write what is given, and look at it. @param seats of all plays, by round */
  look(given: Partial<Record<Field, number>>, seats: number[][]): void {
    for (const [field, value] of Object.entries(given))
      this.numbers[this.tables.fields[field as Field]] = BigInt(value);
    this.list = seats.flatMap((ofRound, round) => ofRound.map((seat) => this.tables.seats * round + seat));
    this.react("LOOK");
  }

  /** Let the table react to an event. Returns the reason why it is refused, "NONE" if it is not. */
  react(event: Event, seat = -1, number = 0): string {
    const [at, plays] = this.place([this.numbers, BigInt64Array.from(this.list, BigInt)]);
    const refusal = this.calls.react(at!, plays!, this.tables.events[event], seat, number);
    this.numbers.set(new BigInt64Array(this.calls.memory.buffer, at, this.numbers.length));
    return nameOf(this.tables.refusals, refusal);
  }

  /** The seat that has won alone; see Python's `winner_of`. */
  winner(
    standing: Record<"places" | "points" | "units", number[]>,
    isGame: boolean,
    isForUnits: boolean,
  ): number | null {
    const { places, points, units } = standing;
    const [first, second, third] = this.place(
      [places, points, units].map((one) => BigInt64Array.from(one, BigInt)),
    );
    const found = this.calls.winner(
      first!,
      second!,
      third!,
      points.length,
      Number(isGame),
      Number(isForUnits),
    );
    return found < 0 ? null : found;
  }

  /** Write arrays into the module's memory; their addresses. */
  private place(arrays: BigInt64Array[]): number[] {
    const { memory } = this.calls;
    let end = (this.calls.__heap_base.value + 7) & ~7;
    return arrays.map((array) => {
      const at = end;
      end += array.byteLength;
      if (end > memory.buffer.byteLength) memory.grow(Math.ceil((end - memory.buffer.byteLength) / PAGE));
      new BigInt64Array(memory.buffer, at, array.length).set(array);
      return at;
    });
  }
}

const nameOf = (names: Record<string, number>, number: number): string =>
  Object.keys(names).find((name) => names[name] === number)!;

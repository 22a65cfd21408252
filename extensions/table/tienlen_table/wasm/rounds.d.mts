/** Types of `rounds.mjs`. Cards are ids unless they are text; see `LoadedGame.cards` for the text of an id. */

export interface AgentInfo {
  name: string;
  /** What `advise` says of each play: its probability, its expected points, or nothing but the choice. */
  scores: "probabilities" | "points" | "none";
  /** Presets and numbers of players that it plays. */
  tables: [rules: string, num_players: number][];
}

/** `index.json`. */
export interface Index {
  games: {
    name: string;
    /** First word of its records. */
    record: string;
    presets: { name: string; num_players: number[]; has_target: boolean }[];
    agents: AgentInfo[];
  }[];
  /** Sizes of the files of weights. */
  bytes: Record<string, number>;
}

/** All that a round is, as JSON; to undo, cut `plays`. */
export interface RoundData {
  rules: string;
  num_players: number;
  /** 16 hex digits; "" where hands are given. */
  key: string;
  /** The hands of the deal, one text a seat; left out where a key deals. */
  hands?: string[];
  /** With hands: the other cards of the deal, by the name that Python's `Game.extra_hands` has. */
  extra?: Record<string, string>;
  /** Index of the round in the key's game. */
  round: number;
  /** null: as the rules say. */
  leader: number | null;
  /** Points of each seat before this round; null: zeros. */
  scores: number[] | null;
  plays: { action: number; cards: string }[];
}

export interface RoundStart {
  rules: string;
  num_players: number;
  key?: string;
  round?: number;
  leader?: number | null;
  scores?: number[] | null;
}

/** A legal play; `cards` ascend, `[]` is a pass or a play without cards. */
export interface LegalPlay {
  action: number;
  cards: number[];
  text: string;
}

export interface PlayEvent extends LegalPlay {
  seat: number;
  rewards: number[];
  isOver: boolean;
}

/**
 * What a seat sees: the JSON of Python's `Session.view` and of the line protocol
 * (`tienlen_env/single/messages.py`), with the public facts of the game.
 */
export interface SeatView {
  seat: number | null;
  current_seat: number | null;
  hand: string;
  counts: number[];
  places: (number | null)[];
  scores: number[];
  /** Under rules with payments: the units that each seat got, less those that it paid. */
  balances?: number[];
  legal: string[];
  legal_ids: number[];
  [fact: string]: unknown;
}

/** A payment between seats, in units of the rules. */
export interface Payment {
  payer: number;
  payee: number;
  amount: number;
  cause: string;
}

/** A play that is not legal, in Python's words; `clause` of RULES.md. */
export class IllegalPlay extends Error {
  readonly clause: string;
}

/** Hands that the game cannot deal. */
export class DealError extends Error {}

export class RecordError extends Error {
  /** From 1. */
  readonly column: number;
  /** Of RULES.md, where a play is not legal; else "". */
  readonly clause: string;
}

export class Library {
  readonly index: Index;
  /** Open a folder; `read` reads a file of it (default: `fetch`). */
  static open(base: string | URL, read?: (name: string) => Promise<Uint8Array>): Promise<Library>;
  load(name: string): Promise<LoadedGame>;
  /** Rules of one's own: "#" and their digest; the folder has their tables in a file of this name (`rules_remark`). */
  loadRules(rules: string): Promise<LoadedGame>;
  loadRecord(line: string): Promise<LoadedGame>;
  read(name: string): Promise<Uint8Array>;
}

export class LoadedGame {
  readonly name: string;
  /** Text by card id. */
  readonly cards: string[];
  /** Whether an action stands for several sets of cards. */
  readonly hasCardChoice: boolean;
  newKey(): string;
  /** The text of card ids, or of a mask, in the order of the game. */
  text(cards: number[] | bigint, separator?: string): string;
  /** Names of actions by id, such as "pair 5h": Python's `action_to_text`. */
  actionTexts(rules: string, numPlayers: number): string[];
  /** The fields of Python's `Rules`; none for a game whose words do not list them. */
  about(rules: string, numPlayers: number): Record<string, unknown>;
  /** The file of weights that an agent needs under these rules; null for none. */
  fileOf(agent: string, rules: string, numPlayers: number): string | null;
  readonly words: { readonly reasons: readonly [text: string, clause: string][] };
  round(start: RoundStart): Round;
  /** Throws `IllegalPlay`. */
  fromData(data: RoundData): Round;
  /** Throws `RecordError`. */
  fromRecord(line: string): Round;
}

export class Round {
  /** A copy of its data. */
  readonly data: RoundData;
  readonly numPlayers: number;
  /** -1: the round is over. */
  readonly currentSeat: number;
  readonly isOver: boolean;
  readonly places: (number | null)[];
  /** Points of the game, this round included. */
  readonly scores: number[];
  readonly numPlays: number;
  readonly plays: readonly { action: number; mask: bigint; seat: number }[];
  /** The number of plays before the combination on the table was led; `numPlays` if the table is empty. */
  readonly leadAt: number;
  /** Whether anything is paid under these rules. */
  readonly hasPayments: boolean;
  /** What has been paid in the round; [] under rules without payments. */
  readonly payments: Payment[];
  /** The units that each seat got in the round, less those that it paid; zeros under rules without payments. */
  readonly balances: number[];
  /** The seat that leads the next round of the game; null: its deal decides, or this round is not over. */
  readonly nextLeader: number | null;
  /** Whether the game of rounds to the target is over, too; without a target: whether the round is. */
  gameIsOver(numRounds?: number | null): boolean;
  legal(): LegalPlay[];
  /** The legal play of exactly these cards, null if there is none; `[]` is the pass. */
  find(cards: number[]): LegalPlay | null;
  /** The legal plays that contain these cards and more. */
  extensions(cards: number[]): LegalPlay[];
  /** The number in `LoadedGame.words.reasons` of why these cards are refused; -1: the game gives no reasons. */
  refusal(cards: number[]): number;
  /** Play an action with its lowest suits, or a play; throws `IllegalPlay`, and nothing has changed. */
  play(move: number | { action: number; cards: number[] }): PlayEvent;
  undo(count?: number): void;
  /** A new round, after the first plays of this one. */
  at(numPlays: number): Round;
  history(): (LegalPlay & { seat: number })[];
  /** What a seat sees, null: an observer; nothing that is hidden from it. */
  view(seat: number | null): SeatView;
  /** All hands, as text; hidden from players. */
  hands(): string[];
  /** The results of a record: places, or points. */
  results(): number[];
  /** The line that Python reads. */
  record(): string;
  /** Give the memory back at once; the round must not be used again. */
  free(): void;
}

/** What a table shows, wherever the game is: in the page (`local.ts`) or on a server (`remote.ts`). */
import type { Payment, SeatView } from "./engine.ts";

export interface Play {
  type: "play";
  round: number;
  seat: number;
  id: number;
  text: string;
}
export interface RoundOver {
  type: "round_over";
  round: number;
  places: number[];
  scores: number[];
  totals: number[];
  payments?: Payment[];
  /** What each seat still holds: after a round all hands are open. */
  hands?: string[];
}
export type GameEvent = Play | RoundOver;

/** `for`: the agent that is still being loaded, for which `name` plays. */
export interface SeatInfo {
  name: string;
  is_person: boolean;
  is_here: boolean;
  for?: string;
  stand_in?: string;
}

/** The message `view` of the server, as far as the page reads it: `Session.view` of a seat, and facts about the table. */
export interface TableView extends SeatView {
  turn: number;
  seats: SeatInfo[];
  /** Whether the game goes on until a player ends it. */
  has_no_end: boolean;
  waiting: boolean;
  /** The seats that have seen the result of the round, while a table of a server waits for all who are present. */
  ready?: number[];
  /** Whether this seat may end a game without an end; left out: it may. */
  can_end?: boolean;
  /** Several people play at this device: who has to take it, before a hand is shown. */
  handover?: number | null;
  can_undo: boolean;
  has_hints: boolean;
  notices: string[];
  rules: { name: string };
  round: number;
  events: GameEvent[];
  /** `balances`: units, under rules with payments. */
  result: { scores: number[]; winner: number | null; balances?: number[] } | null;
  /** The number of plays before the trick on the table. */
  lead_at: number;
  /** The part of the agents' weights that is loaded, while they are. */
  loading?: number | null;
  /** All hands, where all may see them: agents that play in the page. */
  hands?: string[];
}

/** A legal play with what an adviser says of it: its probability, or its expected points with half the width of their 95 % interval. */
export interface HintPlay {
  text: string;
  id: number;
  probability: number | null;
  points?: number | null;
  half_width?: number | null;
}
/** `why`: the number of the engine's reason, where the cards are not legal. */
export interface Selection {
  legal: boolean;
  more: boolean;
  why: number;
}

export interface TableConfig {
  rules: string;
  seats: string[];
  whole_game: boolean;
  /** Rounds of a whole game: 0 for no end, null as the rules have it. */
  num_rounds?: number | null;
  pause: number;
  /** Whether all hands are open: puzzles, whose player knows what the other one holds. */
  is_open?: boolean;
}

/** A game that the page shows and plays. */
export interface Host {
  view: TableView | null;
  /** Whether the connection to the server is lost. */
  isLost: boolean;
  error: string;
  /** Begin another game with the same people. */
  again?: () => void;
  /** Try again what has failed. */
  retry?: () => void;
  onChange: () => void;
  select(cards: string[]): Promise<Selection>;
  play(text: string): Promise<void>;
  undo(): Promise<void>;
  hint(): Promise<HintPlay[]>;
  next(): Promise<void>;
  end(): Promise<void>;
  records(): Promise<string[]>;
  close(): void;
}

export const PERSON = "human";

/** What the page shows of an error. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Whether it is the turn of the seat that the view is for. */
export const isOwnTurn = (view: TableView | null): view is TableView =>
  view !== null && view.seat !== null && view.current_seat === view.seat && !view.waiting && !view.result;

/** Whether several people play at this device. */
export const isShared = (view: TableView): boolean =>
  view.handover !== undefined && view.seats.filter(({ is_person }) => is_person).length > 1;

/** All plays of a game. */
export const playsOf = (view: TableView): Play[] => view.events.filter((event) => event.type === "play");

/** "3s 4s" as cards. */
export const cardsOf = (text: string): string[] => (text ? text.split(" ") : []);
/** Whether the text of a play is its cards; else it is a word, such as the declaration of an instant win or a meld. */
export const isCards = (text: string): boolean => /^([2-9TJQKA][scdh]|\*\d)( |$)/.test(text);

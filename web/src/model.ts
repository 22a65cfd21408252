/** What a table shows, wherever the game is: in the page (`local.ts`) or on a server (`remote.ts`). */
import type { SeatView } from "./engine.ts";

export type GameEvent =
  | { type: "play"; round: number; seat: number; id: number; text: string }
  | { type: "round_over"; round: number; places: number[]; scores: number[]; totals: number[] };

export interface SeatInfo { name: string; is_person: boolean; is_here: boolean }

/** The message `view` of the server: `Session.view` of a seat, and facts about the table. */
export interface TableView extends SeatView {
  turn: number;
  seats: SeatInfo[];
  target: number;
  waiting: boolean;
  can_undo: boolean;
  has_hints: boolean;
  notices: string[];
  rules: { game: string; name: string; digest: string };
  round: number;
  events: GameEvent[];
  result: { scores: number[]; winner: number | null } | null;
  /** All hands, where everybody may see them: agents that play in the page. */
  hands?: string[];
}

export interface HintPlay { text: string; id: number; probability: number }
export interface Selection { legal: boolean; more: boolean }
export type Status = "ready" | "connecting" | "lost";

export interface TableConfig {
  rules: string;
  seats: string[];
  whole_game: boolean;
  pause: number;
}

/** A game that the page shows and plays. */
export interface Host {
  view: TableView | null;
  status: Status;
  error: string;
  onChange: () => void;
  select(cards: string[]): Promise<Selection>;
  play(text: string): Promise<void>;
  undo(): Promise<void>;
  hint(): Promise<HintPlay[]>;
  next(): Promise<void>;
  records(): Promise<string[]>;
  close(): void;
}

export const PERSON = "human";

/** "3s 4s" as cards. */
export const cardsOf = (text: string): string[] => (text ? text.split(" ") : []);

/** The games that are stored in the browser. */
import type { RoundData } from "./engine.ts";
import { PERSON, type TableConfig, type TableView } from "./model.ts";
import { readStored, removeStored, store, storedKeys } from "./storage.ts";
import type { Written } from "./writer.ts";

/** All of a game; what is stored. */
export interface LocalGame extends Written {
  config: TableConfig;
  rounds: RoundData[];
  roundsSeen: number;
  /** Whether the players have ended a game without an end. */
  isEnded?: boolean;
  /** Plays of a stand-in, while an agent was being loaded: round, number of the play, name. */
  stoodIn?: [number, number, string][];
  /** The number of plays of the first round that others made, before the person took the seat over. */
  begun?: number;
  /** Once the game is over. */
  result?: TableView["result"];
}
const KEY = "game:"; // before the number of a game: each has a place of its own, also in another tab
const MOST_GAMES = 200;

/** The seat of the person in a game; -1 for none. */
export const seatOf = ({ config }: LocalGame): number => config.seats.indexOf(PERSON);

/** Where a game is stored. */
export const keyOf = (id: string): string => KEY + id;

/** A stored game; null if there is none, or if what is stored is not a game. */
export function storedGame(id: string): LocalGame | null {
  const game = readStored(keyOf(id)) as Partial<LocalGame> | null;
  const isGame =
    typeof game?.config?.rules === "string" && Array.isArray(game.config.seats) && Array.isArray(game.rounds);
  return isGame ? (game as LocalGame) : null;
}

/** The stored games, the newest first. */
export const storedGames = (): { id: string; game: LocalGame }[] =>
  storedKeys(KEY)
    .map((key) => key.slice(KEY.length))
    .filter((id) => /^\d+$/.test(id))
    .sort((a, b) => Number(b) - Number(a))
    .flatMap((id) => {
      const game = storedGame(id);
      return game ? [{ id, game }] : [];
    });

export const removeGame = (id: string): void => removeStored(keyOf(id));

/** Store a new game; the oldest of very many go. Returns its number. */
export function addGame(game: LocalGame): string {
  for (const { id } of storedGames().slice(MOST_GAMES - 1)) removeGame(id);
  const id = String(Date.now());
  store(keyOf(id), game);
  return id;
}

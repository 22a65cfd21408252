/** What a person has done in the puzzles, and what one answer changes. */

export interface Progress {
  rating: number;
  streak: number;
  best: number;
  solved: number;
  tried: number;
  /** The puzzles that were tried last. */
  seen: number[];
  /** All puzzles that have been answered: the first answer alone is rated. */
  rated: number[];
  daily: string;
}
export const FRESH: Progress = {
  rating: 1000,
  streak: 0,
  best: 0,
  solved: 0,
  tried: 0,
  seen: [],
  rated: [],
  daily: "",
};
const STEP = 32; // points of the rating that one puzzle can move
const MOST_SEEN = 500;

/** Stored progress; a spoilt one is a fresh one. */
export function progressOf(stored: unknown): Progress {
  const found = { ...FRESH, ...(stored as Partial<Progress> | null) };
  const numbers = [found.rating, found.streak, found.best, found.solved, found.tried];
  const isRight = numbers.every(Number.isFinite) && [found.seen, found.rated].every(Array.isArray);
  return isRight ? { ...found, rated: [...new Set([...found.rated, ...found.seen])] } : FRESH;
}

/**
 * Progress after an answer. A puzzle that has been answered before, also wrongly, or before a reload, changes nothing.
 *
 * @param number of the puzzle
 * @param rating of the puzzle
 * @param day where it is the puzzle of a day
 */
export function answered(
  progress: Progress,
  number: number,
  rating: number,
  isRight: boolean,
  day = "",
): Progress {
  if (progress.rated.includes(number)) return progress;
  const expected = 1 / (1 + 10 ** ((rating - progress.rating) / 400));
  const streak = isRight ? progress.streak + 1 : 0;
  return {
    rating: Math.round(progress.rating + STEP * (Number(isRight) - expected)),
    streak,
    best: Math.max(streak, progress.best),
    solved: progress.solved + Number(isRight),
    tried: progress.tried + 1,
    seen: [...progress.seen, number].slice(-MOST_SEEN),
    rated: [...progress.rated, number],
    daily: day || progress.daily,
  };
}

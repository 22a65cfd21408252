/** What a table shows of a view: pure functions, without a page. */
import { cardsOf, playsOf, type Play, type RoundOver, type TableView } from "./model.ts";

/** The round that has just ended, while the table waits for the next one; undefined else. */
export const endedRound = (view: TableView): RoundOver | undefined =>
  view.waiting ? view.events.filter((event) => event.type === "round_over").at(-1) : undefined;

/**
 * The view to draw. While a table waits after a round, that round is shown: its last play on the table, and what each
 * seat still holds. The next round is dealt already, and is not shown yet.
 */
export function shownView(view: TableView): TableView {
  const over = endedRound(view);
  if (!over) return view;
  const hands = over.hands ?? view.counts.map(() => "");
  const last = playsOf(view).at(-1);
  const ofRound = last?.round === over.round ? last : undefined;
  return {
    ...view,
    round: over.round,
    current_seat: null,
    legal: [],
    hand: view.seat === null ? "" : (hands[view.seat] ?? ""),
    counts: hands.map((hand) => cardsOf(hand).length),
    places: over.places,
    passed: [],
    must: "",
    hands,
    ...(view.trick === undefined
      ? { table: ofRound?.text ?? "", owner: ofRound?.seat ?? null }
      : { trick: "", pile: "" }),
    lead_at: playsOf(view).length - 1,
  };
}

const SHAPE = /^((double|triple|quad) sequence|single|pair|triple|quad|run)/;

/** Plays of the trick on the table which put cards on it, oldest first. */
const trickOf = (view: TableView): Play[] =>
  playsOf(view)
    .slice(view.lead_at)
    .filter(({ text, round }) => text !== "" && round === view.round);

/** The number of the play that lies on the table, among all plays; -1 for none: a pass draws nothing anew. */
export function numberOnTable(view: TableView): number {
  const plays = playsOf(view);
  let at = plays.length - 1;
  while (at >= 0 && (plays[at]!.text === "" || plays[at]!.round !== view.round)) at--;
  return at;
}

/**
 * Whether the last play chops: within a trick only a bomb has another kind, or another number of cards, than what it
 * beats. A pass after it chops nothing.
 *
 * @param names the engine's names of the actions
 */
export function isChop(view: TableView, names: string[]): boolean {
  if (playsOf(view).at(-1)?.text === "") return false;
  const kinds = trickOf(view).map(
    ({ id, text }) => `${SHAPE.exec(names[id] ?? "")?.[0] ?? ""} ${cardsOf(text).length}`,
  );
  return kinds.length > 1 && kinds.at(-1) !== kinds.at(-2);
}

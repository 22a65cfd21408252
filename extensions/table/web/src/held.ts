/** How a hand is held; only how it looks, not what beats what. */
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { cardsOf, type TableView } from "./model.ts";

const RANKS = "3456789TJQKA2*";
const SUITS = "scdh12";
export type Sorting = "rank" | "suit" | "own";

const rankOf = (card: string): number => RANKS.indexOf(card[0]!);
const suitOf = (card: string): number => SUITS.indexOf(card[1]!);

/** Cards in an order; `own`: the order of a person's own hands. */
export function arranged(cards: string[], sorting: Sorting = "rank", own: string[] = []): string[] {
  if (sorting === "own")
    return [...own.filter((card) => cards.includes(card)), ...cards.filter((card) => !own.includes(card))];
  const by = sorting === "rank" ? [rankOf, suitOf] : [suitOf, rankOf];
  return [...cards].sort((a, b) => by[0]!(a) - by[0]!(b) || by[1]!(a) - by[1]!(b));
}

export interface Held {
  cards: string[];
  sorting: Sorting;
  /** By ranks or by suits in turn. */
  sort: () => void;
  /** In an order of one's own. */
  order: (cards: string[]) => void;
}

/** The own hand as it is held. */
export function useHeld(view: TableView | null): Held {
  const [sorting, setSorting] = useState<Sorting>("rank");
  const [own, setOwn] = useState<string[]>([]);
  const last = useRef<"rank" | "suit">("rank");
  const cards = useMemo(() => arranged(cardsOf(view?.hand ?? ""), sorting, own), [view?.hand, sorting, own]);
  // A new deal is held as the buttons say: the order of a drag was that of another hand.
  useLayoutEffect(() => {
    setOwn([]);
    setSorting((old) => (old === "own" ? last.current : old));
  }, [view?.round]);
  const sort = (): void => setSorting((last.current = sorting === "rank" ? "suit" : "rank"));
  const order = (next: string[]): void => {
    setOwn(next);
    setSorting("own");
  };
  return { cards, sorting, sort, order };
}

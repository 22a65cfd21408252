/** The own hand: select by click, tap or keyboard; drag to rearrange. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { CardFace } from "./cards.tsx";
import { cardWords, t } from "./i18n.ts";
import { Presses } from "./press.ts";

const DRAG = 10; // pixels that make a drag of a tap

interface HandProps {
  cards: string[];
  selected: ReadonlySet<string>;
  /** Whether the cards have just been dealt. */
  isDealt: boolean;
  rows: number;
  /** The cards that can be played, where the others are dimmed; null: none is. */
  playable: ReadonlySet<string> | null;
  /** The number of the turn, -1 where it is not one's own. */
  turn: number;
  /** `mayPlay`: the press began in this turn. */
  onToggle: (card: string, mayPlay: boolean) => void;
  onOrder: (cards: string[]) => void;
}

/** Move the focus in the hand by `by` cards. */
export function moveFocus(by: number): void {
  const cards = [...document.querySelectorAll<HTMLElement>(".hand .hold")];
  const at = cards.indexOf(document.activeElement as HTMLElement);
  cards[at < 0 ? (by > 0 ? 0 : cards.length - 1) : (at + by + cards.length) % cards.length]?.focus();
}

/** Give the focus that a played card, or a button that is now off, has lost to the hand, near card `at`; -1: to nothing. */
function keepFocus(at: number): void {
  const active = document.activeElement;
  const isLost = active === document.body || (active instanceof HTMLButtonElement && active.disabled);
  if (at < 0 || !isLost || document.querySelector("dialog[open]")) return;
  const held = document.querySelectorAll<HTMLElement>(".hand .hold");
  (held[Math.min(at, held.length - 1)] ?? document.querySelector<HTMLElement>(".my-score"))?.focus({
    preventScroll: true,
  });
}

/** A card that is played, or a button that has done its work, takes the focus along: it goes to the hand. Returns what notes it. */
export function useKeptFocus(): (event: FocusEvent) => void {
  const focused = useRef(-1);
  useLayoutEffect(() => {
    // After the drawing, which it would lay out at once in the same task.
    const timer = setTimeout(() => keepFocus(focused.current));
    return () => clearTimeout(timer);
  });
  return (event) => {
    const held = [...document.querySelectorAll(".hand .hold")];
    focused.current = Math.max(0, held.indexOf(event.target as Element));
  };
}

/** The card of the hand at a point, other than one. */
const cardAt = (x: number, y: number, but: string): string | undefined =>
  document
    .elementsFromPoint(x, y)
    .map((element) => element.closest<HTMLElement>(".hand .hold")?.dataset["card"])
    .find((card) => card && card !== but);

interface Drag {
  /** The card that is being dragged. */
  dragged: string | null;
  begin: (card: string, event: PointerEvent) => void;
  move: (event: PointerEvent) => void;
  end: () => void;
  /** Whether a press on a card was the end of a drag. */
  take: (card: string) => boolean;
}

/** Cards that are dragged among the others. */
function useDrag(cards: string[], onOrder: (cards: string[]) => void): Drag {
  const drag = useRef<{ card: string; x: number; y: number; isMoved: boolean } | null>(null);
  const [dragged, setDragged] = useState<string | null>(null);
  const end = (): void => setDragged(null);
  const move = (event: PointerEvent): void => {
    const held = drag.current;
    if (!held) return;
    if (event.buttons === 0) {
      end(); // let go outside of the hand
      return;
    }
    if (!held.isMoved && Math.hypot(event.clientX - held.x, event.clientY - held.y) < DRAG) return;
    held.isMoved = true;
    setDragged(held.card);
    const target = cardAt(event.clientX, event.clientY, held.card);
    if (!target) return;
    const others = cards.filter((card) => card !== held.card);
    others.splice(cards.indexOf(target), 0, held.card);
    if (others.join() !== cards.join()) onOrder(others);
  };
  const begin = (card: string, event: PointerEvent): void => {
    drag.current = { card, x: event.clientX, y: event.clientY, isMoved: false };
    if (event.pointerType === "touch") (event.target as Element).releasePointerCapture(event.pointerId);
  };
  const take = (card: string): boolean => {
    const wasDragged = drag.current?.isMoved === true && drag.current.card === card;
    drag.current = null;
    return wasDragged;
  };
  return { dragged, begin, move, end, take };
}

interface HoldProps {
  card: string;
  /** The number of the card in the hand. */
  at: number;
  look: string;
  isUp: boolean;
  turn: number;
  presses: Presses;
  drag: Drag;
  onToggle: HandProps["onToggle"];
}

/** A card of the hand. */
function Hold({ card, at, look, isUp, turn, presses, drag, onToggle }: HoldProps) {
  return (
    <button
      type="button"
      data-card={card}
      class={`hold ${look}`}
      style={`--at:${at}`}
      aria-pressed={isUp}
      aria-label={cardWords(card)}
      onKeyDown={(event) => {
        if (!event.repeat && (event.key === " " || event.key === "Enter")) presses.begin(card, turn);
      }}
      onPointerDown={(event) => {
        presses.begin(card, turn);
        drag.begin(card, event);
      }}
      onClick={(event) => {
        const wasDragged = drag.take(card);
        const { counts, mayPlay } = presses.end(card, turn, event.detail);
        if (counts && !wasDragged) onToggle(card, mayPlay);
      }}
    >
      <CardFace card={card} />
    </button>
  );
}

export function Hand({ cards, selected, isDealt, turn, rows, playable, onToggle, onOrder }: HandProps) {
  const presses = useRef(new Presses());
  const drag = useDrag(cards, onOrder);
  const perRow = Math.ceil(cards.length / rows);
  const lines = Array.from({ length: Math.ceil(cards.length / Math.max(1, perRow)) }, (_, i) =>
    cards.slice(i * perRow, (i + 1) * perRow),
  );
  const lookOf = (card: string): string =>
    [selected.has(card) && "up", drag.dragged === card && "dragged", playable && !playable.has(card) && "dim"]
      .filter(Boolean)
      .join(" ");
  return (
    <div
      class={`hand ${turn >= 0 ? "turn" : ""} ${isDealt ? "dealt" : ""}`}
      role="group"
      aria-label={t("yourHand")}
      onPointerMove={drag.move}
      onPointerUp={drag.end}
      onPointerLeave={drag.end}
      onPointerCancel={drag.end}
    >
      {lines.map((line, number) => (
        <div class="hand-row" key={number} style={`--n:${perRow}`}>
          {line.map((card, i) => (
            <Hold
              {...{ card, turn, drag, onToggle, look: lookOf(card), isUp: selected.has(card) }}
              key={card}
              at={number * perRow + i}
              presses={presses.current}
            />
          ))}
        </div>
      ))}
    </div>
  );
}

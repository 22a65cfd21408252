/** The own hand: select by click, tap or keyboard; drag to rearrange. */
import { useRef, useState } from "preact/hooks";
import { CardFace } from "./cards.tsx";
import { cardWords, t } from "./i18n.ts";

interface Props {
  cards: string[];
  selected: ReadonlySet<string>;
  isTurn: boolean;
  rows: number;
  /** The cards that can be played, where the others are dimmed; null: none is. */
  playable: ReadonlySet<string> | null;
  onToggle: (card: string) => void;
  onOrder: (cards: string[]) => void;
}
const DRAG = 10; // pixels that make a drag of a tap

/** Move the focus in the hand by `by` cards. */
export function moveFocus(by: number): void {
  const cards = [...document.querySelectorAll<HTMLElement>(".hand .hold")];
  const at = cards.indexOf(document.activeElement as HTMLElement);
  cards[at < 0 ? (by > 0 ? 0 : cards.length - 1) : (at + by + cards.length) % cards.length]?.focus();
}

export function Hand({ cards, selected, isTurn, rows, playable, onToggle, onOrder }: Props) {
  const drag = useRef<{ card: string; x: number; y: number; isMoved: boolean } | null>(null);
  const [dragged, setDragged] = useState<string | null>(null);
  const perRow = Math.ceil(cards.length / rows);
  const lines = Array.from({ length: Math.ceil(cards.length / Math.max(1, perRow)) }, (_, i) =>
    cards.slice(i * perRow, (i + 1) * perRow));

  const over = (x: number, y: number): string | undefined =>
    document.elementsFromPoint(x, y).map((element) => element.closest<HTMLElement>(".hand .hold")?.dataset["card"])
      .find((card) => card && card !== drag.current?.card);

  const move = (event: PointerEvent): void => {
    const held = drag.current;
    if (!held) return;
    if (!held.isMoved && Math.hypot(event.clientX - held.x, event.clientY - held.y) < DRAG) return;
    held.isMoved = true;
    setDragged(held.card);
    const target = over(event.clientX, event.clientY);
    if (!target) return;
    const others = cards.filter((card) => card !== held.card);
    const at = cards.indexOf(target);
    others.splice(at, 0, held.card);
    if (others.join() !== cards.join()) onOrder(others);
  };
  const end = (): void => setDragged(null);

  return (
    <div class={`hand ${isTurn ? "turn" : ""}`} role="group" aria-label={t("yourHand")} onPointerMove={move} onPointerUp={end} onPointerCancel={end}>
      {lines.map((line, number) => (
        <div class="hand-row" key={number} style={`--n:${perRow}`}>
          {line.map((card) => (
            <button
              type="button" key={card} data-card={card} class={`hold ${selected.has(card) ? "up" : ""} ${dragged === card ? "dragged" : ""} ${playable && !playable.has(card) ? "dim" : ""}`}
              aria-pressed={selected.has(card)} aria-label={cardWords(card)}
              onPointerDown={(event) => {
                drag.current = { card, x: event.clientX, y: event.clientY, isMoved: false };
                if (event.pointerType === "touch") (event.target as Element).releasePointerCapture?.(event.pointerId);
              }}
              onClick={() => {
                const wasDragged = drag.current?.isMoved && drag.current.card === card;
                drag.current = null;
                if (!wasDragged) onToggle(card);
              }}
            >
              <CardFace card={card} />
            </button>
          ))}
        </div>
      ))}
    </div>
  );
}

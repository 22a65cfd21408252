/** Cards as SVG. */
import { cardWords, namedPlay, t } from "./i18n.ts";
import { cardsOf, isCards } from "./model.ts";

// The outlines of `tienlen_env.rendering.scene`, in units of the pip's height.
const SUIT_PATHS: Record<string, string> = {
  s: "M0,-0.5C0.1,-0.28 0.45,-0.06 0.45,0.17 0.45,0.31 0.36,0.39 0.25,0.39 0.15,0.39 0.08,0.34 0.04,0.26 0.05,0.37 0.09,0.45 0.17,0.5 0.17,0.5 0,0.5 0,0.5 0,0.5 -0.17,0.5 -0.17,0.5 -0.09,0.45 -0.05,0.37 -0.04,0.26 -0.08,0.34 -0.15,0.39 -0.25,0.39 -0.36,0.39 -0.45,0.31 -0.45,0.17 -0.45,-0.06 -0.1,-0.28 0,-0.5Z",
  c: "M0,-0.5C0.13,-0.5 0.23,-0.4 0.23,-0.27 0.23,-0.14 0.13,-0.04 0,-0.04 -0.13,-0.04 -0.23,-0.14 -0.23,-0.27 -0.23,-0.4 -0.13,-0.5 0,-0.5ZM-0.25,-0.12C-0.12,-0.12 -0.02,-0.02 -0.02,0.11 -0.02,0.24 -0.12,0.34 -0.25,0.34 -0.38,0.34 -0.48,0.24 -0.48,0.11 -0.48,-0.02 -0.38,-0.12 -0.25,-0.12ZM0.25,-0.12C0.38,-0.12 0.48,-0.02 0.48,0.11 0.48,0.24 0.38,0.34 0.25,0.34 0.12,0.34 0.02,0.24 0.02,0.11 0.02,-0.02 0.12,-0.12 0.25,-0.12ZM0,-0.2C0.05,-0.2 0.05,-0.1 0.15,-0.02 0.15,0.1 0.1,0.18 0.04,0.18 0.05,0.34 0.09,0.45 0.17,0.5 0.17,0.5 0,0.5 0,0.5 0,0.5 -0.17,0.5 -0.17,0.5 -0.09,0.45 -0.05,0.34 -0.04,0.18 -0.1,0.18 -0.15,0.1 -0.15,-0.02 -0.05,-0.1 -0.05,-0.2 0,-0.2Z",
  d: "M0,-0.5C0.09,-0.31 0.22,-0.13 0.37,0 0.22,0.13 0.09,0.31 0,0.5 -0.09,0.31 -0.22,0.13 -0.37,0 -0.22,-0.13 -0.09,-0.31 0,-0.5Z",
  h: "M0,-0.27C0.03,-0.4 0.13,-0.46 0.24,-0.46 0.38,-0.46 0.48,-0.36 0.48,-0.2 0.48,0.06 0.12,0.28 0,0.5 -0.12,0.28 -0.48,0.06 -0.48,-0.2 -0.48,-0.36 -0.38,-0.46 -0.24,-0.46 -0.13,-0.46 -0.03,-0.4 0,-0.27Z",
};
const SHOWN: Record<string, string> = { T: "10", "*": "★" };
const isRed = (card: string): boolean => card[1] === "d" || card[1] === "h";

/** One card, face up; who shows it says in words which one it is. */
export function CardFace({ card }: { card: string }) {
  const rank = SHOWN[card[0]!] ?? card[0]!;
  const path = SUIT_PATHS[card[1]!];
  return (
    <svg
      class={`card ${isRed(card) ? "red" : "black"} suit-${card[1]!}`}
      viewBox="0 0 64 92"
      data-card={card}
      aria-hidden={true}
    >
      <rect class="paper" x="1" y="1" width="62" height="90" rx="7" />
      <text
        class="rank"
        x="14.5"
        y="28"
        text-anchor="middle"
        textLength={rank === "10" ? 23 : undefined}
        lengthAdjust="spacingAndGlyphs"
      >
        {rank}
      </text>
      {path && <path class="pip" transform="translate(14.5 42) scale(16)" d={path} />}
      {path && <path class="pip" transform="translate(41 63) scale(34)" d={path} />}
    </svg>
  );
}

export function CardBack() {
  return (
    <svg class="card back" viewBox="0 0 64 92" role="img" aria-label={t("cardBack")}>
      <rect class="paper" x="1" y="1" width="62" height="90" rx="7" />
      <rect class="weave" x="6" y="6" width="52" height="80" rx="4" />
      <path
        class="weave-lines"
        d="M6 26 26 6M6 46 46 6M6 66 58 14M6 84 58 32M12 86 58 40M32 86 58 60M52 86 58 80M58 26 38 6M58 46 18 6M58 66 6 14M58 84 6 32M52 86 6 40M32 86 6 60M12 86 6 80"
      />
    </svg>
  );
}

/** Cards in a row that overlap as far as they must; an empty label: only an ornament. */
export function CardRow({ cards, label }: { cards: string[]; label?: string }) {
  return (
    <span
      class="card-row"
      {...(label === ""
        ? ({ "aria-hidden": true } as const)
        : ({ role: "img", "aria-label": label ?? cards.map(cardWords).join(", ") } as const))}
    >
      {cards.map((card) => (
        <span class="slot" key={card}>
          <CardFace card={card} />
        </span>
      ))}
    </span>
  );
}

/** The text of a play: its cards, a pass, or a word of the rules. */
export function PlayText({ text }: { text: string }) {
  if (isCards(text)) return <CardRow cards={cardsOf(text)} />;
  return <span class="named">{text ? namedPlay(text) : t("pass")}</span>;
}

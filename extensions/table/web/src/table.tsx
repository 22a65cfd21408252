/** The table: other players, what lies on it, the own hand and what can be done. */
import type { ComponentChildren } from "preact";
import qrcode from "qrcode-generator";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { CardBack, CardFace, CardRow, PlayText } from "./cards.tsx";
import { engineWords, type EngineWords } from "./engine.ts";
import {
  agentWords,
  cardsSigns,
  cardsWords,
  cardWords,
  causeWords,
  comboWords,
  countText,
  decimal,
  estimateText,
  namedPlay,
  placeText,
  pointsText,
  refusalWords,
  rulesWords,
  signed,
  suitWords,
  t,
  unitsText,
  type Key,
} from "./i18n.ts";
import { LocalHost } from "./local.ts";
import {
  cardsOf,
  isCards,
  PERSON,
  playsOf,
  type HintPlay,
  type Host,
  type RoundOver,
  type SeatInfo,
  type TableView,
} from "./model.ts";
import {
  clipboard,
  Dialog,
  IconButton,
  Pace,
  playSound,
  useKeys,
  useNarrow,
  Waiting,
  type ScreenProps,
  type Settings,
} from "./parts.tsx";
import { Presses } from "./press.ts";
import { RulesDialog } from "./rules.tsx";
import { endedRound, isChop, numberOnTable, shownView } from "./shown.ts";

const RANKS = "3456789TJQKA2*";
const SUITS = "scdh12";
const DOUBLE_TAP = 400; // milliseconds
const LINGER = 1500; // milliseconds in which the last play of a round is seen before its result
const DRAG = 10; // pixels that make a drag of a tap
type Sorting = "rank" | "suit" | "own";

const rankOf = (card: string): number => RANKS.indexOf(card[0]!);
const suitOf = (card: string): number => SUITS.indexOf(card[1]!);
/** The hand in the chosen order; only how it is held, not what beats what. */
function arranged(cards: string[], sorting: Sorting, own: string[]): string[] {
  if (sorting === "own")
    return [...own.filter((card) => cards.includes(card)), ...cards.filter((card) => !own.includes(card))];
  const by = sorting === "rank" ? [rankOf, suitOf] : [suitOf, rankOf];
  return [...cards].sort((a, b) => by[0]!(a) - by[0]!(b) || by[1]!(a) - by[1]!(b));
}

const nameOf = (seat: number, seats: SeatInfo[], you: number | null): string => {
  if (seat === you) return t("you");
  const info = seats[seat]!;
  if (info.is_person) return info.name === PERSON ? t("player", seat + 1) : info.name;
  const name = agentWords(info.name);
  const same = seats.filter((other, i) => i !== you && other.name === info.name).length > 1;
  return same ? `${name} ${seat + 1}` : name;
};

/** The last plays of the trick, by seat. Where the view has the trick's cards in order, they say it. */
function playsOfTrick(view: TableView | null): (string | null)[] {
  if (!view) return [];
  if (view.trick !== undefined) {
    const trick = cardsOf(view.trick),
      count = view.seats.length;
    return view.seats.map((_, seat) => trick[(seat - (view.leader ?? 0) + count) % count] ?? null);
  }
  const shown: (string | null)[] = view.seats.map((_, seat) => (view.passed?.includes(seat) ? "" : null));
  for (const play of playsOf(view).slice(view.lead_at))
    if (play.round === view.round) shown[play.seat] = play.text;
  if (view.owner != null) shown[view.owner] = view.table ?? "";
  return shown;
}

/** The engine's names of the actions, once they are loaded; a table on a server has no engine in the page yet. */
function useEngineWords(view: TableView | null): EngineWords {
  const [texts, setTexts] = useState<EngineWords>({ actions: [], reasons: [] });
  const rules = view?.rules.name,
    players = view?.seats.length;
  useEffect(() => {
    let isOld = false;
    if (rules && players)
      engineWords(rules, players).then(
        (found) => isOld || setTexts(found),
        () => {},
      );
    return () => {
      isOld = true;
    };
  }, [rules, players]);
  return texts;
}

/** Whether several people play at this device. */
const isShared = (view: TableView): boolean =>
  view.handover !== undefined && view.seats.filter(({ is_person }) => is_person).length > 1;

/** What a seat has in the game: units where something is paid, and otherwise points. */
const standing = (view: TableView, seat: number): string =>
  view.balances ? unitsText(view.balances[seat]!) : pointsText(view.scores[seat]!);

/** Who has a seat, and how the seat stands. */
function Plate({ view, seat, name }: { view: TableView; seat: number; name: string }) {
  const info = view.seats[seat]!;
  return (
    <p class="who">
      <span class={`face seat-${seat}`} aria-hidden="true">
        {Array.from(name)[0]!.toUpperCase()}
      </span>
      <b>{name}</b> <span class="score">{standing(view, seat)}</span>
      {view.tricks && (
        <span class="score">{view.tricks[seat] === 1 ? t("trick") : t("tricks", view.tricks[seat]!)}</span>
      )}
      {info.for && <span class="score">{t("standsIn", agentWords(info.for))}</span>}
      {!info.is_here && (
        <span class="badge">{info.stand_in ? `${t("away")}: ${agentWords(info.stand_in)}` : t("away")}</span>
      )}
    </p>
  );
}

function Opponent({
  view,
  seat,
  you,
  shown,
  place,
}: {
  view: TableView;
  seat: number;
  you: number | null;
  shown: string | null | undefined;
  place: string;
}) {
  const info = view.seats[seat]!;
  const isTurn = view.current_seat === seat && !view.waiting && !view.result;
  const out = view.places[seat];
  const name = nameOf(seat, view.seats, you);
  return (
    <section
      class={`opponent ${place} ${isTurn ? "turn" : ""} ${out != null ? "out" : ""}`}
      aria-label={name}
    >
      <Plate view={view} seat={seat} name={name} />
      {view.hands ? (
        <CardRow cards={arranged(cardsOf(view.hands[seat]!), "rank", [])} />
      ) : out != null ? null : (
        <p class="held" role="img" aria-label={countText(view.counts[seat]!)}>
          <span class="backs" aria-hidden="true">
            {Array.from({ length: Math.min(view.counts[seat]!, 5) }, (_, i) => (
              <CardBack key={i} />
            ))}
          </span>
          <span class="count">{view.counts[seat]}</span>
        </p>
      )}
      <p class="did">
        {out != null ? (
          <span class="badge place">{placeText(out)}</span>
        ) : shown === "" ? (
          <span class="badge">{t("passed")}</span>
        ) : shown && seat !== view.owner ? (
          <PlayText text={shown} />
        ) : isTurn && !info.is_person ? (
          <span class="thinking">{t("thinking")}…</span>
        ) : null}
      </p>
    </section>
  );
}

/** The middle of a game of tricks: the cards in order, who is ahead, what is taken and what must be followed. */
function Trick({ view, you }: { view: TableView; you: number | null }) {
  const name = (seat: number): string => nameOf(seat, view.seats, you);
  const { trick = "", pile = "", last_pile = "", winner, last_winner, current_seat: seat } = view;
  const cards = cardsOf(pile || trick);
  return (
    <section class="centre" aria-label={t("table")}>
      {cards.length > 0 && (
        <div class="on-table" key={numberOnTable(view)} data-cards={cards.join(" ")}>
          <CardRow cards={cards} />
        </div>
      )}
      <p class="owner">
        {pile
          ? t("toMeld", name(seat ?? 0))
          : trick
            ? winner != null && t("ahead", name(winner))
            : seat === null
              ? t("emptyTable")
              : seat === you
                ? t("leadCard")
                : t("leads", name(seat))}
      </p>
      {view.starter && <p class="must">{t("starter", suitWords(view.starter))}</p>}
      {view.aside && !pile && (
        <p class="must side">
          <CardRow cards={cardsOf(view.aside)} /> {t("aside")}
        </p>
      )}
      {!cards.length && last_winner != null && (
        <p class="must side">
          <CardRow cards={cardsOf(last_pile)} /> {t("took", name(last_winner))}
        </p>
      )}
    </section>
  );
}

/** What stands on an empty table: who leads. */
const leadWords = ({ current_seat: leader, seats, legal }: TableView, you: number | null): string =>
  leader === null
    ? t("emptyTable")
    : leader !== you
      ? t("leads", nameOf(leader, seats, you))
      : t(legal.join() === "declare" ? "mustDeclare" : "youLead");

function Centre({
  view,
  you,
  chops,
  from,
}: {
  view: TableView;
  you: number | null;
  chops: boolean;
  /** Where the seat of the last play is. */
  from: string;
}) {
  if (view.trick !== undefined) return <Trick view={view} you={you} />;
  const cards = cardsOf(view.table ?? "");
  const owner = view.owner ?? null;
  return (
    <section class="centre" aria-label={t("table")}>
      {cards.length ? (
        <>
          <div
            class={`on-table ${chops ? "chop" : `from-${from}`}`}
            key={`${numberOnTable(view)}${view.table}`}
            data-cards={cards.join(" ")}
          >
            {chops && <p class="badge">{t("chopNow")}</p>}
            <CardRow cards={cards} />
          </div>
          {owner !== null && <p class="owner">{nameOf(owner, view.seats, you)}</p>}
        </>
      ) : (
        <p class="owner">{leadWords(view, you)}</p>
      )}
      {view.must && <p class="must">{t("must", cardWords(view.must))}</p>}
    </section>
  );
}

function HintPanel({
  plays,
  onPick,
  onClose,
}: {
  plays: HintPlay[];
  onPick: (text: string) => void;
  onClose: () => void;
}) {
  const valueOf = (play: HintPlay): number => play.probability ?? play.points ?? 0;
  const best = [...plays].sort((a, b) => valueOf(b) - valueOf(a)).slice(0, 6);
  const title = plays[0]?.probability == null ? t("hintSearch") : t("hintTitle");
  return (
    <aside class="hints" aria-label={title}>
      <h2>{title}</h2>
      <ol>
        {best.map((play) => (
          <li key={play.id}>
            <button type="button" onClick={() => onPick(play.text)}>
              {play.probability !== null && (
                <span class="bar-back">
                  <span
                    class="bar"
                    ref={(bar) => {
                      if (bar) bar.style.width = `${100 * play.probability!}%`;
                    }}
                  />
                </span>
              )}
              <span class="what">
                <PlayText text={play.text} />
              </span>
              {play.probability !== null ? (
                <span class="percent">
                  {decimal(100 * play.probability, play.probability < 0.1 ? 1 : 0)} %
                </span>
              ) : (
                <span class="points">{estimateText(play.points ?? 0, play.half_width)}</span>
              )}
            </button>
          </li>
        ))}
      </ol>
      <button type="button" class="quiet" onClick={onClose}>
        {t("close")}
      </button>
    </aside>
  );
}

interface ResultProps {
  view: TableView;
  you: number | null;
  onAgain?: (() => void) | undefined;
  onLearn?: (() => void) | undefined;
  onNext: () => void;
  onEnd: () => void;
  onLook: () => void;
  onNew: () => void;
}

/** What can be done after a round, or after the game. */
function ResultActions({ view, you, onNext, onEnd, onLook, onNew, onAgain, onLearn }: ResultProps) {
  const isReady = you !== null && (view.ready ?? []).includes(you);
  return (
    <p class="actions">
      <button type="button" onClick={onLook}>
        {t("openExplorer")}
      </button>
      {view.result && onLearn && (
        <button type="button" class="learn" onClick={onLearn}>
          {t("learn")}
        </button>
      )}
      {view.result && onAgain && (
        <button type="button" class="rematch" onClick={onAgain}>
          {t("rematch")}
        </button>
      )}
      {!view.result && view.has_no_end && view.can_end !== false && (
        <button type="button" class="end" onClick={onEnd}>
          {t("endGame")}
        </button>
      )}
      {view.result ? (
        <button type="button" class="main" onClick={onNew} autofocus>
          {t("newGame")}
        </button>
      ) : (
        <button type="button" class="main next" onClick={onNext} disabled={isReady} autofocus>
          {t(isReady ? "waitsForOthers" : "nextRound")}
        </button>
      )}
    </p>
  );
}

/** The result of the last round; with `onClose` it is looked at again. */
function RoundResult({ view, you: seat, onClose, ...rest }: ResultProps & { onClose?: () => void }) {
  const you = isShared(view) ? null : seat; // "You" would be whoever has the device

  const rounds = view.events.filter((event) => event.type === "round_over"),
    over = rounds.at(-1);
  if (!over) return null;
  const byPlace = (a: number, b: number): number =>
    over.places[a]! - over.places[b]! || over.totals[b]! - over.totals[a]!;
  // The result of a round is its places, that of a game of several rounds its totals.
  const isGame = Boolean(view.result) && over.round > 0;
  const totals = view.balances ?? over.totals;
  const order = view.seats
    .map((_, seat) => seat)
    .sort((a, b) => (isGame ? totals[b]! - totals[a]! : 0) || byPlace(a, b));
  const winner = view.result?.winner;
  const name = (seat: number): string => nameOf(seat, view.seats, you);
  const { payments } = over;
  const gain = (round: RoundOver, seat: number): number =>
    round.payments
      ? round.payments.reduce(
          (sum, { payer, payee, amount }) =>
            sum + (payee === seat ? amount : 0) - (payer === seat ? amount : 0),
          0,
        )
      : round.scores[seat]!;
  const title = view.result
    ? winner == null
      ? t("gameOver")
      : winner === you
        ? t("youWin")
        : t("winner", nameOf(winner, view.seats, you))
    : t("roundOver", over.round + 1);
  return (
    <Dialog title={title} {...(onClose ? { onClose } : {})}>
      <table class="scores">
        <thead>
          <tr>
            <th scope="col">{isGame ? t("lastRound") : t("place")}</th>
            <th scope="col">{t("players")}</th>
            <th scope="col">{payments ? t("paid") : t("score")}</th>
            {(!payments || rounds.length > 1) && <th scope="col">{t("total")}</th>}
          </tr>
        </thead>
        <tbody>
          {order.map((seat) => (
            <tr key={seat} class={seat === you ? "me" : ""}>
              <td>{placeText(over.places[seat]!)}</td>
              <th scope="row">
                {nameOf(seat, view.seats, you)}
                {over.hands?.[seat] && <CardRow cards={arranged(cardsOf(over.hands[seat]), "rank", [])} />}
              </th>
              <td class={payments ? "paid" : ""}>{signed(gain(over, seat))}</td>
              {(!payments || rounds.length > 1) && <td>{payments ? signed(totals[seat]!) : totals[seat]}</td>}
            </tr>
          ))}
        </tbody>
      </table>
      {payments && payments.length > 0 && (
        <ul class="payments">
          {payments.map((one, i) => (
            <li key={i}>{t("pays", name(one.payer), name(one.payee), one.amount, causeWords(one.cause))}</li>
          ))}
        </ul>
      )}
      {rounds.length > 1 && (
        <details class="sheet">
          <summary>{t("allRounds")}</summary>
          <table>
            <thead>
              <tr>
                <th scope="col">{t("roundNumber")}</th>
                {view.seats.map((_, seat) => (
                  <th scope="col" key={seat}>
                    {name(seat)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rounds.map((round) => (
                <tr key={round.round}>
                  <th scope="row">{round.round + 1}</th>
                  {view.seats.map((_, seat) => (
                    <td key={seat}>{signed(gain(round, seat))}</td>
                  ))}
                </tr>
              ))}
            </tbody>
            <tfoot>
              <tr>
                <th scope="row">{t("total")}</th>
                {totals.map((total, seat) => (
                  <td key={seat}>{payments ? signed(total) : total}</td>
                ))}
              </tr>
            </tfoot>
          </table>
        </details>
      )}
      {view.waiting && view.current_seat !== null && (
        <p class="next-leader">{t("leadsNext", nameOf(view.current_seat, view.seats, you))}</p>
      )}
      {onClose ? null : <ResultActions view={view} you={seat} {...rest} />}
    </Dialog>
  );
}

/** A play in words: with signs of the cards for the eye, in words for the ear. */
const playWords = (
  name: string,
  text: string,
  action: string,
  write: (cards: string[]) => string,
): string => {
  if (!text) return t("passes", name);
  if (isCards(text)) {
    const cards = cardsOf(text);
    const combo = comboWords(action, cards);
    return t("played", name, combo ? `${combo}: ${write(cards)}` : write(cards));
  }
  return text === "declare"
    ? t("declares", name)
    : text === "end"
      ? t("meldsNothing", name)
      : t("melds", name, namedPlay(text));
};

/** What happened last, for the line above the hand and for screen readers. */
function lastWords(
  view: TableView,
  you: number | null,
  texts: string[],
  write: (cards: string[]) => string,
): string {
  const last = playsOf(view).at(-1);
  const words: string[] = [];
  if (last?.round === view.round) {
    const name = nameOf(last.seat, view.seats, you);
    words.push(
      (isChop(view, texts) ? `${t("chopNow")} ` : "") +
        playWords(name, last.text, texts[last.id] ?? "", write),
    );
  }
  const over = endedRound(view);
  if (over) words.push(t("roundOver", over.round + 1));
  if (view.current_seat !== null && !view.waiting)
    words.push(
      view.current_seat === you
        ? view.legal.join() === ""
          ? t("nothingBeats")
          : t("yourTurn")
        : t("turnOf", nameOf(view.current_seat, view.seats, you)),
    );
  return words.join(". ");
}

/** Whether something has been so for a time. */
function useLater(isSo: boolean, delay: number): boolean {
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    setOver(false);
    if (!isSo || !delay) return;
    const timer = setTimeout(() => setOver(true), delay);
    return () => clearTimeout(timer);
  }, [isSo, delay]);
  return isSo && (isOver || !delay);
}

interface HandProps {
  cards: string[];
  selected: ReadonlySet<string>;
  isTurn: boolean;
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
function moveFocus(by: number): void {
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

/** The own hand: select by click, tap or keyboard; drag to rearrange. */
function Hand({ cards, selected, isTurn, isDealt, turn, rows, playable, onToggle, onOrder }: HandProps) {
  const presses = useRef(new Presses());
  const drag = useRef<{ card: string; x: number; y: number; isMoved: boolean } | null>(null);
  const [dragged, setDragged] = useState<string | null>(null);
  const perRow = Math.ceil(cards.length / rows);
  const lines = Array.from({ length: Math.ceil(cards.length / Math.max(1, perRow)) }, (_, i) =>
    cards.slice(i * perRow, (i + 1) * perRow),
  );

  const over = (x: number, y: number): string | undefined =>
    document
      .elementsFromPoint(x, y)
      .map((element) => element.closest<HTMLElement>(".hand .hold")?.dataset["card"])
      .find((card) => card && card !== drag.current?.card);

  const end = (): void => setDragged(null);
  const move = (event: PointerEvent): void => {
    const held = drag.current;
    if (!held) return;
    if (event.buttons === 0) {
      end();
      return;
    } // let go outside of the hand
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
  return (
    <div
      class={`hand ${isTurn ? "turn" : ""} ${isDealt ? "dealt" : ""}`}
      role="group"
      aria-label={t("yourHand")}
      onPointerMove={move}
      onPointerUp={end}
      onPointerLeave={end}
      onPointerCancel={end}
    >
      {lines.map((line, number) => (
        <div class="hand-row" key={number} style={`--n:${perRow}`}>
          {line.map((card, at) => (
            <button
              type="button"
              key={card}
              data-card={card}
              class={`hold ${selected.has(card) ? "up" : ""} ${dragged === card ? "dragged" : ""} ${playable && !playable.has(card) ? "dim" : ""}`}
              style={`--at:${number * perRow + at}`}
              aria-pressed={selected.has(card)}
              aria-label={cardWords(card)}
              onKeyDown={(event) => {
                if (event.repeat || (event.key !== " " && event.key !== "Enter")) return;
                presses.current.begin(card, turn);
              }}
              onPointerDown={(event) => {
                drag.current = { card, x: event.clientX, y: event.clientY, isMoved: false };
                presses.current.begin(card, turn);
                if (event.pointerType === "touch")
                  (event.target as Element).releasePointerCapture(event.pointerId);
              }}
              onClick={(event) => {
                const wasDragged = drag.current?.isMoved && drag.current.card === card;
                drag.current = null;
                const { counts, mayPlay } = presses.current.end(card, turn, event.detail);
                if (counts && !wasDragged) onToggle(card, mayPlay);
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

/** A link that opens a seat; a browser copies only where the address is safe, so the link itself is there, too. */
function Invitation({ seat, link }: { seat: number | null; link: string }) {
  const [isCopied, setCopied] = useState(false);
  const path = useMemo(() => {
    const code = qrcode(0, "M");
    code.addData(link);
    code.make();
    const n = code.getModuleCount(),
      all = Array.from({ length: n }, (_, i) => i);
    return {
      n,
      d: all.flatMap((y) => all.filter((x) => code.isDark(y, x)).map((x) => `M${x} ${y}h1v1h-1z`)).join(""),
    };
  }, [link]);
  return (
    <li>
      <b>{seat === null ? t("spectators") : t("seat", seat + 1)}</b>{" "}
      <a href={link} target="_blank" rel="noopener">
        {link}
      </a>
      <svg class="qr" viewBox={`-4 -4 ${path.n + 8} ${path.n + 8}`} role="img" aria-label={t("qrCode")}>
        <rect x="-4" y="-4" width={path.n + 8} height={path.n + 8} fill="#fff" />
        <path d={path.d} fill="#000" />
      </svg>
      {clipboard && (
        <button type="button" onClick={() => void clipboard?.writeText(link).then(() => setCopied(true))}>
          {isCopied ? t("copied") : t("copy")}
        </button>
      )}
    </li>
  );
}

/** What a lesson or a puzzle shows above the table; its round has no dialog at the end, no hints and no undo. */
export type Coach = (view: TableView, actions: string[]) => ComponentChildren;

interface Props {
  coach?: Coach;
  host: Host;
  settings: Settings;
  /** Links to the seats of other people, and of spectators (null). */
  invitations: { seat: number | null; link: string }[];
  /** Whether other machines reach the server. */
  isOpen: boolean;
  onLeave: () => void;
  /** Show the mistakes of the game, when it is over. */
  onLearn?: () => void;
  onSettings: () => void;
  onExplore: (records: string[]) => void;
}

export function Table({
  coach,
  host,
  settings,
  invitations,
  isOpen,
  onLeave,
  onLearn,
  onSettings,
  onExplore,
}: Props) {
  const [, redraw] = useState(0);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [sorting, setSorting] = useState<Sorting>("rank");
  const [own, setOwn] = useState<string[]>([]);
  const [hints, setHints] = useState<HintPlay[] | null>(null);
  const [notice, setNotice] = useState("");
  const [canPlay, setCanPlay] = useState(false);
  // Links for people are shown at once, those for spectators when they are asked for.
  const [isInviting, setInviting] = useState(() => invitations.some(({ seat }) => seat !== null));
  const [isReading, setReading] = useState(false);
  const [isLooking, setLooking] = useState(false);
  const [isListing, setListing] = useState(false);
  const [pace, setPace] = useState(settings.pause);
  const [isStopped, setStopped] = useState(false);
  const isNarrow = useNarrow();
  const lastTap = useRef(0);
  const lastSorting = useRef<"rank" | "suit">("rank");
  const asked = useRef(0);
  const refused = useRef(-1); // the reason why what is selected is not legal

  useEffect(() => {
    host.onChange = () => setTimeout(() => redraw((n) => n + 1));
    redraw((n) => n + 1);
    return () => {
      host.onChange = () => {};
    };
  }, [host]);

  const view = useMemo(() => host.view && shownView(host.view), [host.view]);
  const isEnded = view !== null && (view.waiting || (view.result !== null && view.events.length > 0));
  const isResultShown = useLater(isEnded, settings.pause && LINGER);
  const trick = playsOfTrick(view);
  const { actions: texts, reasons } = useEngineWords(view);
  const chops = view !== null && isChop(view, texts);
  const you = view?.seat ?? null;
  const isTurn = view !== null && you !== null && view.current_seat === you && !view.waiting && !view.result;
  const cards = useMemo(() => arranged(cardsOf(view?.hand ?? ""), sorting, own), [view?.hand, sorting, own]);
  const chosen = cards.filter((card) => selected.has(card));
  const canPass = isTurn && view.legal.includes("");
  const named = isTurn ? view.legal.filter((text) => text && !isCards(text)) : [];
  // Who is out need not wait for agents among themselves.
  const canHurry =
    host instanceof LocalHost && you !== null && view?.places[you] != null && !isEnded && !isShared(view);
  // Where a play is one card, a card that cannot be played is dimmed.
  const isByCard = view?.trick !== undefined && isTurn && !named.length;

  // The selection belongs to the cards that are held; a question about it to the position.
  useEffect(
    () => setSelected((old) => new Set([...old].filter((card) => cards.includes(card)))),
    [view?.hand],
  );
  // A new deal is held as the buttons say, with no card raised: the order of a drag was that of another hand.
  useLayoutEffect(() => {
    setSelected(new Set());
    setOwn([]);
    setSorting((old) => (old === "own" ? lastSorting.current : old));
  }, [view?.round]);
  useEffect(() => {
    if (host instanceof LocalHost && you !== null && !coach) host.setPace(settings.pause);
  }, [host, settings.pause]);
  useEffect(() => setHints(null), [view?.turn]);

  const whyNot = (): string => {
    const onTable = cardsOf(view?.table ?? "");
    const action = (view ? playsOf(view) : []).filter(({ text }) => text !== "").at(-1)?.id ?? 0;
    return refusalWords(
      refused.current,
      reasons,
      onTable.length ? (texts[action] ?? "") : "",
      onTable,
      view?.must ?? "",
    );
  };
  const play = useCallback(
    (text: string) => {
      setNotice("");
      const turn = host.view?.turn;
      // The press, the play and the drawing are three tasks, so that on a slow processor none of them is long.
      setTimeout(() => {
        if (host.view?.turn !== turn) return;
        host.play(text).then(
          () => setSelected(new Set()),
          () => setNotice(t("notLegal")),
        );
      });
    },
    [host],
  );

  // Cards that were selected before the turn wait for another tap: the table has changed since.
  const check = useCallback(
    (next: ReadonlySet<string>, mayPlay = true) => {
      const number = ++asked.current;
      setCanPlay(false);
      if (!isTurn || !next.size) return;
      // Cards of the text in the order of the deck, as the record writes them.
      const text = [...next].sort((a, b) => rankOf(a) - rankOf(b) || suitOf(a) - suitOf(b));
      host.select(text).then(
        ({ legal, more, why }) => {
          if (number !== asked.current) return;
          refused.current = why;
          if (!legal && !more) setNotice(whyNot());
          if (legal && !more && mayPlay) play(text.join(" "));
          else setCanPlay(legal);
        },
        () => {},
      );
    },
    [host, isTurn, play, reasons],
  );
  // A layout effect runs before any tap of the turn. A later one would drop the answer about a card tapped before it.
  useLayoutEffect(() => check(selected, false), [isTurn, view?.turn]);

  const toggle = (card: string, mayPlay = true): void => {
    setNotice("");
    const next = new Set(selected);
    if (!next.delete(card)) next.add(card);
    setSelected(next);
    check(next, mayPlay);
  };
  const playSelected = (): void => {
    if (isTurn && chosen.length && canPlay) play(arranged(chosen, "rank", []).join(" "));
    else if (isTurn && chosen.length) setNotice(whyNot());
  };
  const pass = (): void => {
    if (canPass) play("");
  };
  const hint = (): void => {
    if (!isTurn || coach) return;
    if (hints) setHints(null);
    else host.hint().then(setHints, () => setNotice(t("hintNone")));
  };
  const undo = (): void => {
    if (view?.can_undo && !coach) void host.undo();
  };
  const sort = (): void => setSorting((lastSorting.current = sorting === "rank" ? "suit" : "rank"));

  useEffect(() => {
    if (!settings.autoPass || !isTurn || view.legal.length !== 1 || view.legal[0] !== "") return;
    // Not always the same time: that would tell the others that nothing could be played.
    const timer = setTimeout(() => play(""), settings.pause * (0.7 + 1.3 * Math.random()));
    return () => clearTimeout(timer);
  }, [isTurn, view?.turn, settings.autoPass]);

  useKeys((key, focused) => {
    const card =
      focused instanceof HTMLElement && focused.closest(".hand") ? focused.dataset["card"] : undefined;
    const actions: Record<string, () => void> = {
      ArrowLeft: () => moveFocus(-1),
      ArrowRight: () => moveFocus(1),
      ArrowUp: () => {
        if (card && !selected.has(card)) toggle(card);
        else if (!card) moveFocus(1);
      },
      ArrowDown: () => {
        if (card && selected.has(card)) toggle(card);
      },
      p: pass,
      h: hint,
      z: undo,
    };
    if (card || focused === document.body || focused === null) actions["Enter"] = playSelected;
    return actions[key.length === 1 ? key.toLowerCase() : key];
  });

  const heard = useRef(Infinity); // plays that were made before the table was opened have no sound
  useEffect(() => {
    if (!view) return;
    const last = playsOf(view).at(-1);
    if (settings.sound && view.turn > heard.current && last?.text) playSound(chops ? "chop" : "card");
    if (settings.sound && isTurn && view.turn !== heard.current) playSound("turn");
    heard.current = view.turn;
  }, [view?.turn, isTurn]);

  // A card that is played, or a button that has done its work, takes the focus along: it goes to the hand.
  const focused = useRef(-1);
  useLayoutEffect(() => {
    // After the drawing, which it would lay out at once in the same task.
    const timer = setTimeout(() => keepFocus(focused.current));
    return () => clearTimeout(timer);
  });
  const noteFocus = (event: FocusEvent): void => {
    const held = [...document.querySelectorAll(".hand .hold")];
    focused.current = Math.max(0, held.indexOf(event.target as Element));
  };

  if (!view) return <Waiting text={`${t("loading")}…`} error={host.error} onLeave={onLeave} />;

  const num = view.seats.length;
  const first = you ?? num - 1;
  const others = Array.from({ length: num - 1 }, (_, i) => (first + 1 + i) % num);
  const spots: Record<number, string[]> = { 1: ["top"], 2: ["left", "right"], 3: ["left", "top", "right"] };
  const places = spots[others.length] ?? others.map(() => "row");
  if (you === null) {
    others.push(first);
    places.push(others.length > 4 ? "row" : "bottom");
  }
  const explore = (): void => {
    host.records().then(onExplore, () => {});
  };

  return (
    <main
      class={`game players-${num} ${isTurn ? "my-turn" : ""}`}
      data-turn={view.turn}
      data-seat={you ?? ""}
      data-current={view.current_seat ?? ""}
      onFocusIn={noteFocus}
    >
      <header class="bar-top">
        <IconButton sign="‹" name="back" onClick={onLeave} />
        <h1>
          <span class="wide">{rulesWords(view.rules.name)}</span> <small>{t("round", view.round + 1)}</small>
        </h1>
        <span class="tools">
          {you !== null && !coach && (
            <button type="button" class="tool undo" onClick={undo} disabled={!view.can_undo}>
              {t("undo")}
            </button>
          )}
          {you !== null && !coach && (
            <button
              type="button"
              class="tool hint"
              onClick={hint}
              disabled={!isTurn || !view.has_hints}
              aria-expanded={hints !== null}
            >
              {t("hint")}
            </button>
          )}
          {!coach && view.round > 0 && !isEnded && (
            <IconButton sign="Σ" name="lastResult" kind="last-result" onClick={() => setLooking(true)} />
          )}
          {invitations.length > 0 && (
            <IconButton sign="⚭" name="invite" kind="to-invite" onClick={() => setInviting(true)} />
          )}
          {!coach && view.turn > 0 && (
            <IconButton sign="≡" name="plays" kind="plays" onClick={() => setListing(true)} />
          )}
          <IconButton sign="?" name="rules" kind="rules" onClick={() => setReading(true)} />
          <IconButton sign="⚙" name="settings" onClick={onSettings} />
        </span>
      </header>
      {host.isLost && (
        <p class="banner" role="alert">
          {t("lost")}…
        </p>
      )}
      {host.error && (
        <p class="banner" role="alert">
          {t("error", host.error)}{" "}
          {host.retry && (
            <button type="button" onClick={host.retry}>
              {t("tryAgain")}
            </button>
          )}
        </p>
      )}
      {view.loading != null && !host.error && (
        <p
          class="loading"
          role="progressbar"
          aria-label={t("loadingAgents", "")}
          aria-valuenow={Math.floor(100 * view.loading)}
        >
          {t("loadingAgents", Math.floor(100 * view.loading))}
        </p>
      )}
      {view.notices.length > 0 && <p class="banner">{view.notices[view.notices.length - 1]}</p>}

      {coach?.(view, texts)}
      <div class="middle">
        <div class={`felt ${others.length > 4 ? "many" : ""}`}>
          {others.map((seat, i) => (
            <Opponent
              key={seat}
              view={view}
              seat={seat}
              you={you}
              shown={trick[seat]}
              place={places[i] ?? "row"}
            />
          ))}
          <Centre
            view={view}
            you={you}
            chops={chops}
            from={
              view.owner == null || view.owner === you ? "me" : (places[others.indexOf(view.owner)] ?? "row")
            }
          />
        </div>
        {hints && (
          <HintPanel
            plays={hints}
            onClose={() => setHints(null)}
            onPick={(text) => {
              const next = new Set(cardsOf(text));
              setHints(null);
              if (!isCards(text)) play(text);
              else {
                setSelected(next);
                check(next);
              }
            }}
          />
        )}
      </div>
      <p class="status" aria-hidden="true">
        {notice || lastWords(view, you, texts, cardsSigns)}
      </p>
      <p class="hidden" role="status" aria-live="polite">
        {notice || lastWords(view, you, texts, cardsWords)}
      </p>

      {you !== null ? (
        <section class={`me ${isTurn ? "turn" : ""}`} aria-label={t("you")}>
          <div class="controls">
            <button
              type="button"
              class="my-score"
              title={t("scoreHelp")}
              aria-label={`${t("you")}: ${standing(view, you)}. ${t("scoreHelp")}`}
              onClick={() => {
                const now = performance.now();
                const isDouble = now - lastTap.current < DOUBLE_TAP;
                lastTap.current = isDouble ? 0 : now;
                if (isDouble && chosen.length) playSelected();
                else if (isDouble) pass();
              }}
            >
              <b>{t("you")}</b> {standing(view, you)}
              {view.places[you] != null ? (
                <span class="badge place">{placeText(view.places[you])}</span>
              ) : trick[you] === "" ? (
                <span class="badge">{t("passed")}</span>
              ) : null}
            </button>
            {view.trick === undefined && (
              <button type="button" class="pass" onClick={pass} disabled={!canPass}>
                {t("pass")}
              </button>
            )}
            {canHurry && (
              <button type="button" class="main hurry" onClick={() => host.hurry()}>
                {t("toTheEnd")}
              </button>
            )}
            {named.map((text) => (
              <button type="button" key={text} class="main named" onClick={() => play(text)}>
                {namedPlay(text)}
              </button>
            ))}
            <button type="button" class="main play" onClick={playSelected} disabled={!isTurn || !canPlay}>
              {t("play")}
            </button>
            <button
              type="button"
              class="tool sort"
              onClick={sort}
              aria-label={sorting === "rank" ? t("sortSuit") : t("sortRank")}
              title={sorting === "rank" ? t("sortSuit") : t("sortRank")}
            >
              <span aria-hidden="true">⇅</span>
              <span class="wide">{sorting === "rank" ? t("sortSuit") : t("sortRank")}</span>
            </button>
          </div>
          <Hand
            key={view.round}
            isDealt={view.events.length === 0 || view.events.at(-1)?.type === "round_over"}
            cards={cards}
            selected={selected}
            isTurn={isTurn}
            turn={isTurn ? view.turn : -1}
            rows={isNarrow && cards.length > 7 ? 2 : 1}
            onToggle={toggle}
            playable={isByCard ? new Set(view.legal) : null}
            onOrder={(order) => {
              setOwn(order);
              setSorting("own");
            }}
          />
        </section>
      ) : (
        host instanceof LocalHost && (
          <div class="watching controls">
            <button
              type="button"
              class="main"
              onClick={() => {
                const stop = !isStopped;
                setStopped(stop);
                host.setPace(stop ? null : pace);
              }}
            >
              {isStopped ? t("resume") : t("pause")}
            </button>
            <button type="button" class="step" disabled={!isStopped} onClick={() => void host.step()}>
              {t("step")}
            </button>
            <Pace
              label="speed"
              value={pace}
              onChange={(value) => {
                setPace(value);
                if (!isStopped) host.setPace(value);
              }}
            />
          </div>
        )
      )}
      {isReading && <RulesDialog rules={view.rules.name} players={num} onClose={() => setReading(false)} />}
      {isInviting && (
        <Dialog title={t("invite")} kind="invite" onClose={() => setInviting(false)}>
          <p>
            {t("inviteHelp")} {t(isOpen ? "plainHttp" : "onlyHere")}
          </p>
          <ul>
            {invitations.map(({ seat, link }) => (
              <Invitation key={seat} seat={seat} link={link} />
            ))}
          </ul>
        </Dialog>
      )}
      {isListing && <PlaysDialog view={view} you={you} onClose={() => setListing(false)} />}
      {view.handover != null && host instanceof LocalHost && (
        <Cover key={view.handover} name={t("player", view.handover + 1)} onTake={() => host.takeDevice()} />
      )}
      {!coach && host.view && (isResultShown || (isLooking && !isEnded)) && (
        <RoundResult
          view={host.view}
          {...(isResultShown ? {} : { onClose: () => setLooking(false) })}
          you={you}
          onNext={() => void host.next()}
          onEnd={() => void host.end()}
          onLook={explore}
          onNew={onLeave}
          onAgain={host.again}
          onLearn={you === null ? undefined : onLearn}
        />
      )}
    </main>
  );
}

/** The plays of the round: those of the trick on the table first, then all before them, the last one first. */
function PlaysDialog({ view, you, onClose }: { view: TableView; you: number | null; onClose: () => void }) {
  const plays = playsOf(view).map((play, number) => ({ ...play, number }));
  const ofRound = plays.filter(({ round }) => round === view.round);
  const parts: [Key, typeof plays][] = [
    ["thisTrick", ofRound.filter(({ number }) => number >= view.lead_at)],
    ["before", ofRound.filter(({ number }) => number < view.lead_at).reverse()],
  ];
  return (
    <Dialog title={t("plays")} kind="plays-of-round" onClose={onClose}>
      {parts.map(([title, some]) =>
        some.length ? (
          <section key={title}>
            <h3>{t(title)}</h3>
            <ol>
              {some.map(({ number, seat, text }) => (
                <li key={number}>
                  <span>{nameOf(seat, view.seats, you)}</span> <PlayText text={text} />
                </li>
              ))}
            </ol>
          </section>
        ) : null,
      )}
    </Dialog>
  );
}

/** Covers the table until the person in turn has the device. */
const Cover = ({ name, onTake }: { name: string; onTake: () => void }) => (
  <Dialog title={t("handTo", name)} kind="cover">
    <p class="actions">
      <button type="button" class="main take" onClick={onTake} autofocus>
        {t("showHand")}
      </button>
    </p>
  </Dialog>
);

/** A table with a coach, for screens that play alone: nobody is invited, and records are not shown. */
export function CoachedTable(props: ScreenProps & { host: LocalHost; coach: Coach }) {
  return <Table {...props} invitations={[]} isOpen={false} onExplore={() => {}} />;
}

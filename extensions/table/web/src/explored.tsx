/** One round in the explorer: the board at a move, and what can be asked about it. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Advised, Judgements, PlayFrom } from "./advice.tsx";
import { CardRow } from "./cards.tsx";
import { openAgents, type Round, type SeatView } from "./engine.ts";
import type { Opened } from "./explorer.tsx";
import { agentWords, placeText, t } from "./i18n.ts";
import { judge, type Judged } from "./judge.ts";
import { cardsOf, PERSON } from "./model.ts";
import { Choice, useKeys } from "./parts.tsx";
import { shortText } from "./said.ts";
import type { LocalGame } from "./stored.ts";

const LEAST_LOSS = 0.01; // points that are shown as a loss

export interface RoundProps {
  opened: Opened;
  /** Who sat where; empty if nobody knows. */
  players: string[];
  round: Round;
  number: number;
  turn: number;
  /** The seat whose hand is shown, or "all". */
  seenFrom: string;
  pause: number;
  onBranch: (from: number, action: number) => void;
  onTurn: (turn: number) => void;
  onSeenFrom: (seat: string) => void;
  onPlay: (game: LocalGame) => void;
  onShow: (record: string) => void;
}

const namesOf = (num: number, players: string[]): string[] =>
  Array.from({ length: num }, (_, seat) => {
    const player = players[seat],
      name = t("seat", seat + 1);
    return player ? `${name}: ${player === PERSON ? t("you") : agentWords(player)}` : name;
  });

/** What the search says of all moves of the round. */
function useAnalysis(round: Round) {
  const [judged, setJudged] = useState<Judged[]>([]);
  const [done, setDone] = useState<number | null>(null);
  const control = useRef(new AbortController());
  useEffect(() => () => control.current.abort(), []);
  const stop = (): void => {
    control.current.abort();
    setDone(null);
  };
  const analyse = (worlds: number): void => {
    control.current.abort();
    control.current = new AbortController();
    const { signal } = control.current;
    setDone(0);
    void judge(openAgents(), round, { worlds }, signal, (found, count) => {
      if (signal.aborted) return;
      setJudged(found);
      setDone(count);
    })
      .catch(() => {})
      .finally(() => !signal.aborted && setDone(null));
  };
  const worst = judged
    .filter(({ loss, isChecked }) => isChecked && loss > LEAST_LOSS)
    .sort((a, b) => b.loss - a.loss);
  return { judged, worst, done, stop, analyse };
}

/** The round at a move, and what is known of it. */
function useLooked(props: RoundProps) {
  const { round, turn, players, seenFrom } = props;
  const decisions = useMemo(() => round.history(), [round]);
  const position = useMemo(() => round.at(turn), [round, turn]);
  const view = useMemo(() => position.view(null) as SeatView, [position]);
  const hands = useMemo(() => position.hands(), [position]);
  const analysis = useAnalysis(round);
  const current = position.currentSeat;
  const seat = seenFrom === "all" ? Math.max(0, current) : Number(seenFrom);
  const names = namesOf(view.counts.length, players);
  return { ...props, decisions, position, view, hands, analysis, current, seat, names };
}
export type Looked = ReturnType<typeof useLooked>;

export function OneRound(props: RoundProps) {
  const looked = useLooked(props);
  const { round, turn, onTurn } = looked;
  useKeys((key) => {
    const to: Record<string, number> = {
      ArrowLeft: turn - 1,
      ArrowRight: turn + 1,
      Home: 0,
      End: round.numPlays,
    };
    const next = to[key];
    return next === undefined ? undefined : () => onTurn(Math.max(0, Math.min(round.numPlays, next)));
  });
  return (
    <div class="explored">
      <section class="board" aria-label={t("table")}>
        <div class="field-row">
          <Choice
            label={t("seeFrom")}
            value={looked.seenFrom}
            options={["all", ...looked.names.map((_, i) => String(i))]}
            words={(o) => (o === "all" ? t("everything") : looked.names[Number(o)]!)}
            onChange={looked.onSeenFrom}
          />
        </div>
        <Board {...looked} />
        <Steps {...looked} />
        <Moves {...looked} />
      </section>
      <section class="advice" aria-label={t("legalMoves")}>
        <Advised {...looked} />
        <Judgements {...looked} />
        <PlayFrom {...looked} />
      </section>
    </div>
  );
}

/** All seats in rows, and what lies on the table. */
function Board(looked: Looked) {
  const { view, names } = looked;
  const onTable = view.table || view.pile || view.trick || "";
  return (
    <div class="felt flat">
      {names.map((name, seat) => (
        <SeatRow key={seat} {...{ looked, name, at: seat }} />
      ))}
      <div class="centre">
        {onTable ? (
          <div class="on-table" data-cards={onTable}>
            <CardRow cards={cardsOf(onTable)} />
          </div>
        ) : null}
        <p class="owner">{ownerWords(looked)}</p>
      </div>
    </div>
  );
}

/** Whose cards lie on the table, who leads, or that the round is over. */
function ownerWords({ view, names, current, number }: Looked): string {
  if (view.owner != null) return names[view.owner]!;
  if (view.trick && view.winner != null) return t("ahead", names[view.winner]!);
  return current >= 0 ? t("leads", names[current]!) : t("roundOver", number + 1);
}

function SeatRow({ looked, name, at }: { looked: Looked; name: string; at: number }) {
  const { view, hands, current, seenFrom } = looked;
  const place = view.places[at];
  return (
    <div class={`seat-row ${at === current ? "turn" : ""}`}>
      <p class="who">
        <b>{name}</b>{" "}
        {place != null ? (
          <span class="badge place">{placeText(place)}</span>
        ) : view.passed?.includes(at) ? (
          <span class="badge">{t("passed")}</span>
        ) : null}
      </p>
      {seenFrom === "all" || seenFrom === String(at) ? (
        <CardRow cards={cardsOf(hands[at]!)} label={`${name}: ${hands[at]}`} />
      ) : (
        <p class="held">
          <span class="count">{view.counts[at]}</span>
        </p>
      )}
    </div>
  );
}

interface StepProps {
  looked: Looked;
  to: number;
  sign: string;
  name: string;
  kind?: string;
}
function Step({ looked: { round, turn, onTurn }, to, sign, name, kind = "" }: StepProps) {
  const isOff = to < 0 || to > round.numPlays || to === turn;
  return (
    <button type="button" class={kind} onClick={() => onTurn(to)} disabled={isOff} aria-label={name}>
      {sign}
    </button>
  );
}

/** Buttons to go through the moves. */
function Steps(looked: Looked) {
  const { round, turn } = looked;
  return (
    <p class="steps">
      <Step looked={looked} to={0} sign="|◀" name={t("firstStep")} />
      <Step looked={looked} to={turn - 1} sign="◀" name={t("prev")} kind="prev" />
      <span class="at" role="status">
        {turn} / {round.numPlays}
      </span>
      <Step looked={looked} to={turn + 1} sign="▶" name={t("nextStep")} kind="forward" />
      <Step looked={looked} to={round.numPlays} sign="▶|" name={t("last")} />
    </p>
  );
}

/** The list of moves. */
function Moves({ decisions, turn, names, analysis, onTurn }: Looked) {
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => {
    // only the list is scrolled, not the page
    const now = list.current?.querySelector<HTMLElement>("[aria-current=true]");
    if (now)
      list.current!.scrollTop = now.offsetTop - list.current!.offsetTop - list.current!.clientHeight / 2;
  }, [turn]);
  return (
    <ol class="moves" ref={list} aria-label={t("moves")}>
      {decisions.map((one, i) => (
        <li key={i} aria-current={i === turn}>
          <button
            type="button"
            class={analysis.worst.some((w) => w.turn === i) ? "loss" : ""}
            onClick={() => onTurn(i)}
          >
            <small>
              {i + 1}. {names[one.seat]}
            </small>{" "}
            {shortText(one.text)}
          </button>
        </li>
      ))}
    </ol>
  );
}

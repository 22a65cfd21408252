/** The explorer: any record, move by move, with what the champion and the search say of it. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { CardRow, PlayText } from "./cards.tsx";
import type { Advice, AgentInfo, Round, SeatView } from "./engine.ts";
import { adviserOf, agentsOf, openAgents, openLibrary, readRemark } from "./engine.ts";
import { adviceOf, judge, playOut, type Judged } from "./judge.ts";
import {
  agentWords,
  cardsSigns,
  decimal,
  estimateText,
  namedPlay,
  placeText,
  pointsText,
  rulesWords,
  t,
  unitsText,
} from "./i18n.ts";
import type { LocalGame } from "./local.ts";
import { cardsOf, isCards, messageOf, PERSON } from "./model.ts";
import { Choice, clipboard, IconButton, useKeys, useNarrow } from "./parts.tsx";

const PAD = 34;

/** The graph of expected points, or payments, over a round. */
function Graph({
  judged,
  paid,
  numTurns,
  turn,
  names,
  worst,
  onStep,
}: {
  judged: Judged[];
  paid: boolean;
  numTurns: number;
  turn: number;
  names: string[];
  worst: Judged[];
  onStep: (turn: number) => void;
}) {
  // In a narrow window the same lines have fewer units, so that texts and points stay large enough.
  const [W, H] = useNarrow() ? [340, 210] : [640, 220];
  if (!judged.length) return null;
  const all = judged.flatMap(({ points, bestPoints }) => [points, bestPoints]);
  const low = Math.floor(Math.min(0, ...all)),
    high = Math.ceil(Math.max(1, ...all));
  const x = (n: number): number => PAD + ((W - PAD - 8) * n) / Math.max(1, numTurns - 1);
  const y = (points: number): number => H - PAD + 8 - ((H - PAD - 4) * (points - low)) / (high - low);
  const seats = [...new Set(judged.map(({ seat }) => seat))].sort();
  const step = Math.ceil((high - low) / 8);
  const lines = Array.from({ length: high - low + 1 }, (_, i) => low + i).filter(
    (points) => points % step === 0,
  );
  const title = t(paid ? "graphPaid" : "graph");
  return (
    <figure class="graph">
      <h3>{title}</h3>
      <svg viewBox={`0 0 ${W} ${H}`} role="img" aria-label={title}>
        {lines.map((points) => (
          <g key={points}>
            <line class="grid" x1={PAD} x2={W - 8} y1={y(points)} y2={y(points)} />
            <text class="tick" x={PAD - 8} y={y(points) + 4} text-anchor="end">
              {points}
            </text>
          </g>
        ))}
        <line class="now" x1={x(turn)} x2={x(turn)} y1={4} y2={H - PAD + 8} />
        {seats.map((seat) => {
          const own = judged.filter((one) => one.seat === seat);
          return (
            <g key={seat} class={`line seat-${seat % 7}`}>
              <polyline points={own.map((one) => `${x(one.turn)},${y(one.points)}`).join(" ")} />
              {own.map((one) => (
                <circle
                  key={one.turn}
                  cx={x(one.turn)}
                  cy={y(one.points)}
                  r={worst.includes(one) ? 6 : 2.5}
                  class={worst.includes(one) ? "loss" : ""}
                  onClick={() => onStep(one.turn)}
                />
              ))}
            </g>
          );
        })}
        <text class="tick" x={W / 2} y={H - 4} text-anchor="middle">
          {t("move")}
        </text>
      </svg>
      <figcaption>
        {seats.map((seat) => (
          <span key={seat} class={`key seat-${seat % 7}`}>
            <i aria-hidden="true" />
            {names[seat]}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

/** `numRecords`: of the rounds that were read; the others are branches, which the reader has played. */
interface Opened {
  numRecords: number;
  rounds: Round[];
  text: string;
  agents: AgentInfo[];
}
const WORLDS = ["16", "32", "64", "128"] as const;
const EXAMPLE = "tienlen/1 cardgames p4 key=000000000000012b.0 : 3s4h5h6s7c - - - 9dTsJh - - - Td Ks";

async function open(text: string): Promise<Opened> {
  const library = await openLibrary();
  const numbered = text
    .split("\n")
    .map((line, i) => ({ line: line.trim(), number: i + 1 }))
    .filter(({ line }) => line && !line.startsWith("#"));
  for (const line of text.split("\n")) await readRemark(line.trim());
  const rounds: Round[] = [];
  for (const { line, number } of numbered.length ? numbered : [{ line: "", number: 1 }]) {
    try {
      rounds.push((await library.loadRecord(line)).fromRecord(line));
    } catch (error) {
      throw numbered.length > 1 ? new Error(t("line", number, messageOf(error))) : error;
    }
  }
  const { rules, num_players } = rounds[0]!.data;
  return { numRecords: rounds.length, rounds, text, agents: agentsOf(library, rules, num_players) };
}

/** A play in the list of moves. */
const shortText = (text: string): string =>
  !text ? t("pass") : isCards(text) ? cardsSigns(cardsOf(text)) : namedPlay(text);
const resultText = (round: Round, seat: number): string =>
  `${placeText(round.places[seat] ?? 0)}, ${round.hasPayments ? unitsText(round.balances[seat]!) : pointsText(round.scores[seat]!)}`;

/** The text of a link: the record in the address, so that no server needs to know it. */
const linkTo = (text: string, number: number, turn: number, names: string[]): string =>
  `${location.origin}${location.pathname}#record=${encodeURIComponent(text)}&round=${number}&move=${turn}${names.length ? `&names=${encodeURIComponent(names.join(","))}` : ""}`;

interface Props {
  initial: string;
  start: { round: number; move: number };
  /** Who sat where, if the link says it: a record does not. */
  names: string[];
  onLeave: () => void;
  onSettings: () => void;
  onPlay: (game: LocalGame) => void;
  pause: number;
}

export function Explorer({ initial, start, names, onLeave, onSettings, onPlay, pause }: Props) {
  const [text, setText] = useState(initial);
  const [opened, setOpened] = useState<Opened | null>(null);
  const [error, setError] = useState("");
  const [number, setNumber] = useState(start.round);
  const [turn, setTurn] = useState(start.move);
  const [seenFrom, setSeenFrom] = useState<string>("all");

  const show = (record: string, at = { round: 0, move: 0 }): void => {
    setError("");
    open(record).then(
      (found) => {
        setOpened(found);
        setNumber(Math.min(at.round, found.rounds.length - 1));
        setTurn(at.move);
      },
      (problem: unknown) => {
        setOpened(null);
        setError(messageOf(problem));
      },
    );
  };
  useEffect(() => {
    if (initial) {
      setText(initial);
      show(initial, start);
    }
  }, [initial]);

  const round = opened?.rounds[number];
  /** Play something else: a branch goes on at its end; elsewhere a new one begins, and the old one is kept. */
  const branch = (from: number, action: number): void => {
    if (!opened || !round) return;
    const next = round.at(from);
    next.play(next.legal().find((play) => play.action === action)!);
    const isSame = number >= opened.numRecords && from === round.numPlays;
    const rounds = isSame
      ? opened.rounds.map((one) => (one === round ? next : one))
      : [...opened.rounds, next];
    setOpened({ ...opened, rounds });
    setNumber(isSame ? number : rounds.length - 1);
    setTurn(next.numPlays);
  };
  return (
    <main class="explorer">
      <header class="bar-top">
        <IconButton sign="‹" name="back" onClick={onLeave} />
        <h1>
          {t("explorer")} {round && <small>{rulesWords(round.data.rules)}</small>}
        </h1>
        <span class="tools">
          <IconButton sign="⚙" name="settings" onClick={onSettings} />
        </span>
      </header>
      <details class="open-record" open={!opened}>
        <summary>{t("recordPaste")}</summary>
        <label class="field">
          <span>{t("record")}</span>
          <textarea
            rows={3}
            spellcheck={false}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
            placeholder="tienlen/1 cardgames p4 key=… : 3s …"
          />
        </label>
        <p class="actions">
          <button
            type="button"
            class="example"
            onClick={() => {
              setText(EXAMPLE);
              show(EXAMPLE);
            }}
          >
            {t("example")}
          </button>
          <label class="file button">
            {t("recordLoad")}
            <input
              type="file"
              accept=".txt,text/plain"
              onChange={(event) => {
                void event.currentTarget.files?.[0]?.text().then((found) => {
                  setText(found);
                  show(found);
                });
              }}
            />
          </label>
          <button type="button" class="main" onClick={() => show(text)} disabled={!text.trim()}>
            {t("recordShow")}
          </button>
        </p>
      </details>
      {error && (
        <p class="banner" role="alert">
          {t("badRecord", error)}
        </p>
      )}
      {opened && opened.rounds.length > 1 && (
        <nav class="rounds" aria-label={t("rounds")}>
          {opened.rounds.map((_, i) => (
            <button
              type="button"
              key={i}
              aria-current={i === number}
              class={i === number ? "main" : ""}
              onClick={() => {
                setNumber(i);
                setTurn(0);
              }}
            >
              {i < opened.numRecords ? i + 1 : `${t("branch")} ${i + 1 - opened.numRecords}`}
            </button>
          ))}
        </nav>
      )}
      {opened && round && (
        <OneRound
          key={`${opened.text}/${number}/${number < opened.numRecords ? "" : round.numPlays}`}
          opened={opened}
          players={opened.text === initial ? names : []}
          round={round}
          number={number}
          turn={Math.min(turn, round.numPlays)}
          isBranch={number >= opened.numRecords}
          onBranch={branch}
          onTurn={setTurn}
          seenFrom={seenFrom}
          onSeenFrom={setSeenFrom}
          onPlay={onPlay}
          pause={pause}
          onShow={(record) => {
            setText(record);
            show(record);
            scrollTo(0, 0);
          }}
        />
      )}
    </main>
  );
}

function OneRound({
  opened,
  players,
  isBranch,
  onBranch,
  round,
  number,
  turn,
  onTurn,
  seenFrom,
  onSeenFrom,
  onPlay,
  onShow,
  pause,
}: {
  opened: Opened;
  players: string[];
  isBranch: boolean;
  onBranch: (from: number, action: number) => void;
  round: Round;
  number: number;
  turn: number;
  onTurn: (turn: number) => void;
  seenFrom: string;
  onSeenFrom: (seat: string) => void;
  onPlay: (game: LocalGame) => void;
  onShow: (record: string) => void;
  pause: number;
}) {
  const adviser = adviserOf(opened.agents);
  const opponents = opened.agents.map(({ name }) => name);
  const decisions = useMemo(() => round.history(), [round]);
  const position = useMemo(() => round.at(turn), [round, turn]);
  const view = useMemo(() => position.view(null) as SeatView, [position]);
  const hands = useMemo(() => position.hands(), [position]);
  const [champion, setChampion] = useState<Advice | null>(null);
  const [search, setSearch] = useState<Advice | null>(null);
  const [worlds, setWorlds] = useState<(typeof WORLDS)[number]>("32");
  const [judged, setJudged] = useState<Judged[]>([]);
  const [done, setDone] = useState<number | null>(null);
  const [opponent, setOpponent] = useState(
    opened.agents.filter(({ scores }) => scores === "none").at(-1)?.name ?? "random",
  );
  const [duplicate, setDuplicate] = useState<{ seat: number; round: Round } | null>(null);
  const [copied, setCopied] = useState(false);
  const stop = useRef(new AbortController());
  const list = useRef<HTMLOListElement>(null);
  const num = view.counts.length;
  const names = Array.from({ length: num }, (_, seat) =>
    players[seat]
      ? `${t("seat", seat + 1)}: ${players[seat] === PERSON ? t("you") : agentWords(players[seat])}`
      : t("seat", seat + 1),
  );
  const current = position.currentSeat;
  const agents = useMemo(() => openAgents(), []);

  useEffect(() => () => stop.current.abort(), []);
  useEffect(() => {
    // only the list is scrolled, not the page
    const now = list.current?.querySelector<HTMLElement>("[aria-current=true]");
    if (now)
      list.current!.scrollTop = now.offsetTop - list.current!.offsetTop - list.current!.clientHeight / 2;
  }, [turn]);
  useEffect(() => {
    const control = new AbortController();
    setChampion(null);
    setSearch(null);
    setCopied(false);
    if (position.isOver) return;
    const { data } = position;
    void (async () => {
      if (adviser?.scores === "probabilities")
        await agents.advise(data, adviser.name, { signal: control.signal }).then(
          (a) => !control.signal.aborted && setChampion(a),
          () => {},
        );
      if (control.signal.aborted) return;
      await agents.advise(data, "search", { worlds: Number(worlds), seed: 1, signal: control.signal }).then(
        (a) => !control.signal.aborted && setSearch(a),
        () => {},
      );
    })();
    return () => control.abort();
  }, [position, worlds]);

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

  const worst = [...judged]
    .filter(({ loss, isChecked }) => isChecked && loss > 0.01)
    .sort((a, b) => b.loss - a.loss);
  const analyse = (): void => {
    stop.current.abort();
    stop.current = new AbortController();
    const { signal } = stop.current;
    setDone(0);
    void judge(agents, round, "search", Number(worlds), signal, (found, count) => {
      if (signal.aborted) return;
      setJudged(found);
      setDone(count);
    })
      .catch(() => {})
      .finally(() => !signal.aborted && setDone(null));
  };
  const replay = (seat: number): void => {
    const again = round.at(0);
    const seats = names.map((_, i) => (i === seat ? adviser!.name : opponent));
    void playOut(agents, again, seats, stop.current.signal).then(
      () => setDuplicate({ seat, round: again }),
      () => {},
    );
  };
  const playOn = (seat: number): void => {
    onPlay({
      config: {
        rules: position.data.rules,
        seats: names.map((_, i) => (i === seat ? PERSON : opponent)),
        whole_game: false,
        pause,
      },
      rounds: [position.data],
      roundsSeen: 0,
      begun: position.numPlays,
    });
  };

  const rows = position.legal().map((play) => ({
    play,
    probability: champion ? (adviceOf(champion, play.action, play.cards)?.probability ?? null) : null,
    found: search ? adviceOf(search, play.action, play.cards) : undefined,
    isPlayed: decisions[turn]?.action === play.action,
  }));
  const scoreOf = (row: (typeof rows)[number]): number => row.probability ?? row.found?.points ?? 0;
  rows.sort((a, b) => scoreOf(b) - scoreOf(a));
  const most = Math.max(...rows.map((row) => row.found?.points ?? -Infinity));
  const onTable = view.table || view.pile || view.trick || "";
  // A record of rules of one's own needs the remark that says what they are.
  const withRules = (record: string): string =>
    [...opened.text.split("\n").filter((line) => line.startsWith("# rules ")), record].join("\n");
  const link = linkTo(
    isBranch ? withRules(round.record()) : opened.text,
    isBranch ? 0 : number,
    turn,
    players,
  );
  const isOwn = round.data.rules.startsWith("#"); // a stored game would lack its rules
  const mySeat = seenFrom === "all" ? Math.max(0, current) : Number(seenFrom);

  return (
    <div class="explored">
      <section class="board" aria-label={t("table")}>
        <div class="field-row">
          <Choice
            label={t("seeFrom")}
            value={seenFrom}
            options={["all", ...names.map((_, i) => String(i))]}
            words={(o) => (o === "all" ? t("everything") : names[Number(o)]!)}
            onChange={onSeenFrom}
          />
        </div>
        <div class="felt flat">
          {names.map((name, seat) => {
            const isShown = seenFrom === "all" || seenFrom === String(seat);
            const place = view.places[seat];
            return (
              <div class={`seat-row ${seat === current ? "turn" : ""}`} key={seat}>
                <p class="who">
                  <b>{name}</b>{" "}
                  {place != null ? (
                    <span class="badge place">{placeText(place)}</span>
                  ) : view.passed?.includes(seat) ? (
                    <span class="badge">{t("passed")}</span>
                  ) : null}
                </p>
                {isShown ? (
                  <CardRow cards={cardsOf(hands[seat]!)} label={`${name}: ${hands[seat]}`} />
                ) : (
                  <p class="held">
                    <span class="count">{view.counts[seat]}</span>
                  </p>
                )}
              </div>
            );
          })}
          <div class="centre">
            {onTable ? (
              <div class="on-table" data-cards={onTable}>
                <CardRow cards={cardsOf(onTable)} />
              </div>
            ) : null}
            <p class="owner">
              {view.owner != null
                ? names[view.owner]
                : view.trick && view.winner != null
                  ? t("ahead", names[view.winner]!)
                  : current >= 0
                    ? t("leads", names[current]!)
                    : t("roundOver", number + 1)}
            </p>
          </div>
        </div>
        <p class="steps">
          <button type="button" onClick={() => onTurn(0)} disabled={turn === 0} aria-label={t("firstStep")}>
            |◀
          </button>
          <button
            type="button"
            class="prev"
            onClick={() => onTurn(turn - 1)}
            disabled={turn === 0}
            aria-label={t("prev")}
          >
            ◀
          </button>
          <span class="at" role="status">
            {turn} / {round.numPlays}
          </span>
          <button
            type="button"
            class="forward"
            onClick={() => onTurn(turn + 1)}
            disabled={turn >= round.numPlays}
            aria-label={t("nextStep")}
          >
            ▶
          </button>
          <button
            type="button"
            onClick={() => onTurn(round.numPlays)}
            disabled={turn >= round.numPlays}
            aria-label={t("last")}
          >
            ▶|
          </button>
        </p>
        <ol class="moves" ref={list} aria-label={t("moves")}>
          {decisions.map((one, i) => (
            <li key={i} aria-current={i === turn}>
              <button
                type="button"
                class={worst.some((w) => w.turn === i) ? "loss" : ""}
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
      </section>

      <section class="advice" aria-label={t("legalMoves")}>
        {current >= 0 && seenFrom !== "all" && current !== mySeat && <p>{t("turnOf", names[current]!)}</p>}
        {current >= 0 && (seenFrom === "all" || current === mySeat) && (
          <>
            <h2>{t("turnOf", names[current]!)}</h2>
            <div class="scroll" role="group" aria-label={t("legalMoves")} tabIndex={0}>
              <table>
                <thead>
                  <tr>
                    <th scope="col">{t("move")}</th>
                    {adviser?.scores === "probabilities" && <th scope="col">{t("probability")}</th>}
                    <th scope="col">{t(position.hasPayments ? "expectedPaid" : "expected")}</th>
                  </tr>
                </thead>
                <tbody>
                  {rows.map(({ play, probability, found, isPlayed }) => (
                    <tr key={play.action} class={isPlayed ? "played" : ""} data-play={play.text}>
                      <th scope="row">
                        <button
                          type="button"
                          class="instead"
                          title={t("playThis")}
                          aria-label={`${t("playThis")}: ${shortText(play.text)}`}
                          onClick={() => onBranch(turn, play.action)}
                        >
                          <PlayText text={play.text} />
                        </button>
                        {isPlayed && <span class="badge">{t("playedHere")}</span>}
                      </th>
                      {adviser?.scores === "probabilities" && (
                        <td class="probability">
                          {probability === null ? "" : `${decimal(100 * probability, 1)} %`}
                        </td>
                      )}
                      <td class={found?.points === most ? "expected best" : "expected"}>
                        {found?.points == null ? "" : estimateText(found.points, found.half_width)}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          </>
        )}
        {round.isOver && current < 0 && (
          <ul class="result">
            {names.map((name, seat) => (
              <li key={seat}>
                <b>{name}</b> {resultText(round, seat)}
              </li>
            ))}
          </ul>
        )}
        <Choice label={t("worlds")} value={worlds} options={WORLDS} words={(o) => o} onChange={setWorlds} />
        <p class="actions">
          {done === null ? (
            <button type="button" class="main analyse" onClick={analyse}>
              {t("analyse")}
            </button>
          ) : (
            <>
              <span role="status">{t("analysing", done, round.numPlays)}</span>{" "}
              <button
                type="button"
                onClick={() => {
                  stop.current.abort();
                  setDone(null);
                }}
              >
                {t("stop")}
              </button>
            </>
          )}
        </p>
        <Graph
          judged={judged}
          paid={round.hasPayments}
          numTurns={round.numPlays}
          turn={turn}
          names={names}
          worst={worst}
          onStep={onTurn}
        />
        {worst.length > 0 && (
          <>
            <h3>{t("losses")}</h3>
            <ol class="losses">
              {worst.map((one) => (
                <li key={one.turn}>
                  <button type="button" onClick={() => onTurn(one.turn)}>
                    {one.turn + 1}. {names[one.seat]}: {shortText(one.played)} −
                    {estimateText(one.loss, one.lossHalfWidth)} → {shortText(one.best)}
                  </button>
                </li>
              ))}
            </ol>
          </>
        )}
        <Choice
          label={t("otherPlayers")}
          value={opponent}
          options={opponents}
          words={agentWords}
          onChange={setOpponent}
        />
        <p class="actions">
          <button
            type="button"
            class="play-on"
            onClick={() => playOn(mySeat)}
            disabled={position.isOver || isOwn}
          >
            {t("playFrom")}
          </button>
          <button type="button" class="duplicate" onClick={() => replay(mySeat)} disabled={!adviser}>
            {t("duplicate", mySeat + 1, agentWords(adviser?.name ?? ""))}
          </button>
          <button
            type="button"
            onClick={() => {
              void clipboard?.writeText(link).then(() => setCopied(true));
              history.replaceState(null, "", link);
            }}
          >
            {copied ? t("copied") : t("link")}
          </button>
        </p>
        {duplicate && (
          <div class="duplicate-result">
            <p role="status">
              {t(
                "duplicateTitle",
                round.isOver ? resultText(round, duplicate.seat) : "–",
                resultText(duplicate.round, duplicate.seat),
                agentWords(adviser!.name),
              )}
            </p>
            <textarea
              readOnly
              rows={2}
              aria-label={t("record")}
              value={withRules(duplicate.round.record())}
            />
            <p class="actions">
              <button
                type="button"
                class="show-duplicate"
                onClick={() => onShow(withRules(duplicate.round.record()))}
              >
                {t("openExplorer")}
              </button>
            </p>
          </div>
        )}
      </section>
    </div>
  );
}

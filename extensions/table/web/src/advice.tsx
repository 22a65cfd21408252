/** What the champion and the search say of a move, of a whole round, and how it would go on. */
import { useEffect, useState } from "preact/hooks";
import { PlayText } from "./cards.tsx";
import { adviserOf, openAgents, type Advice, type AgentInfo, type Round } from "./engine.ts";
import type { Looked } from "./explored.tsx";
import { Graph } from "./graph.tsx";
import { agentWords, decimal, estimateText, t } from "./i18n.ts";
import { adviceOf, playOut } from "./judge.ts";
import { PERSON } from "./model.ts";
import { Choice, clipboard } from "./parts.tsx";
import { resultText, shortText } from "./said.ts";

const WORLDS = ["16", "32", "64", "128"] as const;
type Worlds = (typeof WORLDS)[number];

/** Advice of an agent; undefined where it has none or is stopped. */
const adviceFor = (round: Round, agent: string, options: object): Promise<Advice | undefined> =>
  openAgents()
    .advise(round.data, agent, options)
    .catch(() => undefined);

/** What both say of a position, one after the other. */
function useAdvice(position: Round, adviser: AgentInfo | undefined, worlds: Worlds) {
  const [champion, setChampion] = useState<Advice | undefined>();
  const [search, setSearch] = useState<Advice | undefined>();
  useEffect(() => {
    const control = new AbortController(),
      { signal } = control;
    setChampion(undefined);
    setSearch(undefined);
    if (position.isOver) return;
    void (async () => {
      if (adviser?.scores === "probabilities") {
        const found = await adviceFor(position, adviser.name, { signal });
        if (signal.aborted) return;
        setChampion(found);
      }
      const found = await adviceFor(position, "search", { worlds: Number(worlds), seed: 1, signal });
      if (!signal.aborted) setSearch(found);
    })();
    return () => control.abort();
  }, [position, worlds]);
  return { champion, search };
}

interface Row {
  play: ReturnType<Round["legal"]>[number];
  probability: number | null;
  found: Advice["plays"][number] | undefined;
  isPlayed: boolean;
}

/** The legal plays, the best ones first. */
function rowsOf({ position, decisions, turn }: Looked, champion?: Advice, search?: Advice): Row[] {
  const rows = position.legal().map((play) => ({
    play,
    probability: champion ? (adviceOf(champion, play.action, play.cards)?.probability ?? null) : null,
    found: search && adviceOf(search, play.action, play.cards),
    isPlayed: decisions[turn]?.action === play.action,
  }));
  const scoreOf = (row: Row): number => row.probability ?? row.found?.points ?? 0;
  return rows.sort((a, b) => scoreOf(b) - scoreOf(a));
}

/** The legal plays with what is said of each, or the result. */
export function Advised(looked: Looked) {
  const { opened, position, round, names, current, seat, seenFrom } = looked;
  const adviser = adviserOf(opened.agents);
  const [worlds, setWorlds] = useState<Worlds>("32");
  const { champion, search } = useAdvice(position, adviser, worlds);
  const isSeen = current >= 0 && (seenFrom === "all" || current === seat);
  return (
    <>
      {current >= 0 && !isSeen && <p>{t("turnOf", names[current]!)}</p>}
      {isSeen && <h2>{t("turnOf", names[current]!)}</h2>}
      {isSeen && (
        <Plays
          looked={looked}
          rows={rowsOf(looked, champion, search)}
          hasChampion={adviser?.scores === "probabilities"}
        />
      )}
      {round.isOver && current < 0 && (
        <ul class="result">
          {names.map((name, i) => (
            <li key={i}>
              <b>{name}</b> {resultText(round, i)}
            </li>
          ))}
        </ul>
      )}
      <Choice label={t("worlds")} value={worlds} options={WORLDS} words={(o) => o} onChange={setWorlds} />
      <Analyse {...looked} worlds={worlds} />
    </>
  );
}

function Plays({ looked, rows, hasChampion }: { looked: Looked; rows: Row[]; hasChampion: boolean }) {
  const { position, turn, onBranch } = looked;
  const most = Math.max(...rows.map((row) => row.found?.points ?? -Infinity));
  return (
    <div class="scroll" role="group" aria-label={t("legalMoves")} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">{t("move")}</th>
            {hasChampion && <th scope="col">{t("probability")}</th>}
            <th scope="col">{t(position.hasPayments ? "expectedPaid" : "expected")}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <PlayRow
              {...{ row, hasChampion, isBest: row.found?.points === most }}
              key={row.play.action}
              onBranch={() => onBranch(turn, row.play.action)}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface PlayRowProps {
  row: Row;
  hasChampion: boolean;
  isBest: boolean;
  onBranch: () => void;
}
function PlayRow({
  row: { play, probability, found, isPlayed },
  hasChampion,
  isBest,
  onBranch,
}: PlayRowProps) {
  return (
    <tr class={isPlayed ? "played" : ""} data-play={play.text}>
      <th scope="row">
        <button type="button" class="instead" title={t("playThis")} onClick={onBranch}>
          <PlayText text={play.text} />
        </button>
        {isPlayed && <span class="badge">{t("playedHere")}</span>}
      </th>
      {hasChampion && (
        <td class="probability">{probability === null ? "" : `${decimal(100 * probability, 1)} %`}</td>
      )}
      <td class={isBest ? "expected best" : "expected"}>
        {found?.points == null ? "" : estimateText(found.points, found.half_width)}
      </td>
    </tr>
  );
}

function Analyse({ analysis, round, worlds }: Looked & { worlds: Worlds }) {
  const { done, stop, analyse } = analysis;
  return (
    <p class="actions">
      {done === null ? (
        <button type="button" class="main analyse" onClick={() => analyse(Number(worlds))}>
          {t("analyse")}
        </button>
      ) : (
        <>
          <span role="status">{t("analysing", done, round.numPlays)}</span>{" "}
          <button type="button" onClick={stop}>
            {t("stop")}
          </button>
        </>
      )}
    </p>
  );
}

/** The graph of the round, and its largest losses. */
export function Judgements({ analysis: { judged, worst }, round, turn, names, onTurn }: Looked) {
  return (
    <>
      <Graph
        {...{ judged, turn, names, worst }}
        paid={round.hasPayments}
        numTurns={round.numPlays}
        onStep={onTurn}
      />
      {worst.length > 0 && <h3>{t("losses")}</h3>}
      {worst.length > 0 && (
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
      )}
    </>
  );
}

/** A record as a text of its own: of rules of one's own with the remark that says what they are. */
const withRules = (text: string, record: string): string =>
  [...text.split("\n").filter((line) => line.startsWith("# rules ")), record].join("\n");

/** The text of a link: the record in the address, so that no server needs to know it. */
function linkTo({ opened, round, number, turn, players }: Looked): string {
  const isBranch = number >= opened.numRecords;
  const text = isBranch ? withRules(opened.text, round.record()) : opened.text;
  const names = players.length ? `&names=${encodeURIComponent(players.join(","))}` : "";
  const at = `round=${isBranch ? 0 : number}&move=${turn}`;
  return `${location.origin}${location.pathname}#record=${encodeURIComponent(text)}&${at}${names}`;
}

/** Copies the link to a position, and puts it into the address. */
function LinkButton({ link }: { link: string }) {
  const [copied, setCopied] = useState("");
  const copy = (): void => {
    void clipboard?.writeText(link).then(() => setCopied(link));
    history.replaceState(null, "", link);
  };
  return (
    <button type="button" onClick={copy}>
      {t(copied === link ? "copied" : "link")}
    </button>
  );
}

/** Play on from the position, or let the adviser play the deal in a seat. */
export function PlayFrom(looked: Looked) {
  const { opened, round, position, names, seat, pause, onPlay } = looked;
  const adviser = adviserOf(opened.agents);
  const [opponent, setOpponent] = useState(
    opened.agents.filter(({ scores }) => scores === "none").at(-1)?.name ?? "random",
  );
  const [duplicate, replay] = useDuplicate(round);
  const seatsWith = (player: string): string[] => names.map((_, i) => (i === seat ? player : opponent));
  const playOn = (): void =>
    onPlay({
      config: { rules: position.data.rules, seats: seatsWith(PERSON), whole_game: false, pause },
      rounds: [position.data],
      roundsSeen: 0,
      begun: position.numPlays,
    });
  const isOwn = round.data.rules.startsWith("#"); // a stored game would lack its rules
  return (
    <>
      <Choice
        label={t("otherPlayers")}
        value={opponent}
        options={opened.agents.map(({ name }) => name)}
        words={agentWords}
        onChange={setOpponent}
      />
      <p class="actions">
        <button type="button" class="play-on" onClick={playOn} disabled={position.isOver || isOwn}>
          {t("playFrom")}
        </button>
        {adviser && (
          <button type="button" class="duplicate" onClick={() => replay(seat, seatsWith(adviser.name))}>
            {t("duplicate", seat + 1, agentWords(adviser.name))}
          </button>
        )}
        <LinkButton link={linkTo(looked)} />
      </p>
      {duplicate && <DuplicateResult {...duplicate} looked={looked} />}
    </>
  );
}

/** The deal, played again by agents. */
interface Duplicate {
  seat: number;
  player: string;
  again: Round;
}

function useDuplicate(round: Round): [Duplicate | null, (seat: number, seats: string[]) => void] {
  const [duplicate, setDuplicate] = useState<Duplicate | null>(null);
  const [control] = useState(() => new AbortController());
  useEffect(() => () => control.abort(), []);
  const replay = (seat: number, seats: string[]): void => {
    const again = round.at(0);
    playOut(openAgents(), again, seats, control.signal).then(
      () => setDuplicate({ seat, player: seats[seat]!, again }),
      () => {},
    );
  };
  return [duplicate, replay];
}

function DuplicateResult({ seat, player, again, looked }: Duplicate & { looked: Looked }) {
  const { opened, round, onShow } = looked;
  const record = withRules(opened.text, again.record());
  const played = round.isOver ? resultText(round, seat) : "–";
  return (
    <div class="duplicate-result">
      <p role="status">{t("duplicateTitle", played, resultText(again, seat), agentWords(player))}</p>
      <textarea readOnly rows={2} aria-label={t("record")} value={record} />
      <p class="actions">
        <button type="button" class="show-duplicate" onClick={() => onShow(record)}>
          {t("openExplorer")}
        </button>
      </p>
    </div>
  );
}

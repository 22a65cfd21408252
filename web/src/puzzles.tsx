/** Endgames with exactly one winning play, which `tienlen puzzles` has mined; a daily one, a streak and a rating. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { CardRow, PlayText } from "./cards.tsx";
import { openLibrary, type RoundData } from "./engine.ts";
import { t } from "./i18n.ts";
import { LocalHost } from "./local.ts";
import { messageOf, PERSON } from "./model.ts";
import type { Settings } from "./parts.tsx";
import { readStored, store } from "./storage.ts";
import { Table, type Coach } from "./table.tsx";

interface Puzzle { data: RoundData; other: string; answer: string; action: number; rating: number }
interface Progress { rating: number; streak: number; best: number; solved: number; tried: number; seen: number[]; daily: string }
const FRESH: Progress = { rating: 1000, streak: 0, best: 0, solved: 0, tried: 0, seen: [], daily: "" };
const STEP = 32; // points of the rating that one puzzle can move
const SPREAD = 200; // how far from the own rating a puzzle may be

const loadProgress = (): Progress => {
  const found = { ...FRESH, ...(readStored("puzzles") as Partial<Progress> | null) };
  const isRight = [found.rating, found.streak, found.best, found.solved, found.tried].every(Number.isFinite) && Array.isArray(found.seen);
  return isRight ? found : FRESH;
};
const today = (): string => new Date().toISOString().slice(0, 10);
const spaced = (cards: string): string => (cards === "-" ? "" : cards.match(/../g)!.join(" "));

let lines: Promise<string[]> | null = null;
function readLines(): Promise<string[]> {
  lines ??= fetch(new URL("puzzles.txt", document.baseURI)).then(async (answer) => {
    if (!answer.ok) throw new Error(`puzzles.txt: ${answer.status}`);
    return (await answer.text()).trim().split("\n");
  });
  lines.catch(() => { lines = null; });
  return lines;
}

/** A line of the file as a position: the engine reads the table and the answer. */
async function read(line: string): Promise<Puzzle> {
  const game = await (await openLibrary()).loadRules("cardgames");
  const [mine, other, table, answer, rating] = line.split(" ").map((word, i) => (i < 4 ? spaced(word) : word)) as [string, string, string, string, string];
  const start = { rules: "cardgames", num_players: 2, key: "", round: 0, leader: table ? 1 : 0, scores: null, hands: [mine, [other, table].filter(Boolean).join(" ")], plays: [] };
  const round = game.fromData(start);
  const ids = (text: string): number[] => text.split(" ").filter(Boolean).map((card) => game.cards.indexOf(card));
  if (table) round.play(round.find(ids(table))!);
  return { data: round.data, other, answer, action: answer ? round.find(ids(answer))!.action : 0, rating: Number(rating) };
}

/** The number of the next puzzle: near the own rating, and not one of the last. */
function choose(all: string[], progress: Progress): number {
  const fits = (spread: number): number[] => all.flatMap((line, i) => {
    const rating = Number(line.slice(line.lastIndexOf(" ")));
    return Math.abs(rating - progress.rating) <= spread && !progress.seen.includes(i) ? [i] : [];
  });
  const near = fits(SPREAD), from = near.length ? near : fits(Infinity);
  return from[Math.floor(Math.random() * from.length)] ?? 0;
}
const daily = (all: string[]): number => (Math.floor(Date.now() / 86_400_000) * 7919) % all.length;

export function Puzzles({ settings, wanted, onLeave, onSettings }: { settings: Settings; wanted: string; onLeave: () => void; onSettings: () => void }) {
  const [number, setNumber] = useState<number | null>(null);
  const [puzzle, setPuzzle] = useState<Puzzle | null>(null);
  const [progress, setProgress] = useState(loadProgress);
  const [isJudged, setJudged] = useState(false); // the first answer counts
  const [attempt, setAttempt] = useState(0);
  const [error, setError] = useState("");

  useEffect(() => {
    let isOld = false;
    readLines().then(async (all) => {
      const chosen = number ?? (wanted === "daily" ? daily(all) : /^\d+$/.test(wanted) ? Number(wanted) % all.length : choose(all, progress));
      const found = await read(all[chosen]!);
      if (isOld) return;
      setNumber(chosen);
      setPuzzle(found);
    }).catch((problem: unknown) => setError(messageOf(problem)));
    return () => { isOld = true; };
  }, [number]);

  const host = useMemo(() => puzzle && new LocalHost({
    config: { rules: "cardgames", seats: [PERSON, "heuristic"], whole_game: false, pause: 900 }, rounds: [puzzle.data], roundsSeen: 0,
  }, null), [puzzle, attempt]);
  if (!host || !puzzle || number === null) return <main class="waiting-page">{error ? <p class="banner" role="alert">{t("error", error)}</p> : <p role="status">{t("loading")}…</p>}<button type="button" onClick={onLeave}>{t("back")}</button></main>;

  const judge = (isRight: boolean): void => {
    if (isJudged) return;
    setJudged(true);
    const expected = 1 / (1 + 10 ** ((puzzle.rating - progress.rating) / 400));
    const streak = isRight ? progress.streak + 1 : 0;
    const next: Progress = {
      rating: Math.round(progress.rating + STEP * (Number(isRight) - expected)), streak, best: Math.max(streak, progress.best),
      solved: progress.solved + Number(isRight), tried: progress.tried + 1, seen: [...progress.seen, number].slice(-500),
      daily: wanted === "daily" ? today() : progress.daily,
    };
    store("puzzles", next);
    setProgress(next);
  };
  const next = (): void => {
    void readLines().then((all) => {
      setPuzzle(null);
      setJudged(false);
      setNumber(choose(all, { ...progress, seen: [...progress.seen, number] }));
    });
  };
  const coach: Coach = (view) => {
    const own = view.events.find((event) => event.type === "play" && event.seat === 0);
    const isRight = own?.type === "play" && own.id === puzzle.action;
    if (own && !isJudged) setTimeout(() => judge(isRight));
    return (
      <aside class="coach" aria-label={t("puzzle", number + 1)}>
        <h2>{wanted === "daily" ? `${t("dailyPuzzle")} · ` : ""}{t("puzzle", number + 1)} <small>{t("rated", puzzle.rating)}</small></h2>
        <p role="status">{own ? t(isRight ? "puzzleRight" : "puzzleWrong") : t("puzzleTask")}</p>
        <p class="known"><span>{t("otherHolds")}</span> <CardRow cards={puzzle.other.split(" ")} /></p>
        {own && <p class="known"><span>{t("answer")}</span> <PlayText text={puzzle.answer} /></p>}
        <p class="quiet">{t("yourRating", progress.rating)} · {t("streak", progress.streak, progress.best)} · {t("solvedOf", progress.solved, progress.tried)}</p>
        {own && <p class="actions">
          {!isRight && <button type="button" class="again" onClick={() => setAttempt(attempt + 1)}>{t("tryAgain")}</button>}
          <button type="button" class="main next" onClick={next}>{t("nextPuzzle")}</button>
        </p>}
      </aside>
    );
  };
  return <Table key={`${number}/${attempt}`} host={host} settings={settings} invitations={[]} isOpen={false} coach={coach} onLeave={onLeave} onSettings={onSettings} onExplore={() => {}} />;
}

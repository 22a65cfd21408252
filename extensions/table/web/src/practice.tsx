/** Prepared positions with a coach: the lesson, and puzzles with a daily one, a streak and a rating. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { PlayText } from "./cards.tsx";
import { openLibrary, type RoundData } from "./engine.ts";
import { say, t, words, type Words } from "./i18n.ts";
import { LocalHost } from "./local.ts";
import { messageOf, PERSON, playsOf, type TableView } from "./model.ts";
import { go, Waiting, type ScreenProps } from "./parts.tsx";
import { answered, progressOf, type Progress } from "./progress.ts";
import { readStored, store } from "./storage.ts";
import { CoachedTable, type Coach } from "./table.tsx";

/** A person against the rule-based player, from a position on. */
const hostOf = (data: RoundData, is_open = false): LocalHost =>
  new LocalHost(
    {
      config: { rules: data.rules, seats: [PERSON, "heuristic"], whole_game: false, pause: 900, is_open },
      rounds: [data],
      roundsSeen: 0,
    },
    null,
  );

// ---------------------------------------------------------------- the lesson: small hands with one idea each

/** The engine decides what is legal and what a play is. */
interface Step {
  text: Words;
  hands: string[];
  /** What the other player has led, as cards and the engine's number of the action. */
  led?: [string, number];
  /** The engine's name of the right play; null: the round must be won. */
  goal: RegExp | null;
  rules?: string;
}

const STEPS: Step[] = [
  {
    text: words(
      "A 7 lies on the table. Beat it with a higher card: 3 is the lowest rank, 2 the highest. Tap the card.",
      "Trên bàn có lá 7. Hãy đánh một lá lớn hơn: 3 nhỏ nhất, 2 (heo) lớn nhất. Chạm vào lá bài.",
    ),
    hands: ["5d 9c", "7s 8d Jc"],
    led: ["7s", 17],
    goal: /^single 9/,
  },
  {
    text: words(
      "Between cards of one rank the suit decides: ♠ is the lowest, then ♣, ♦ and ♥. Beat the 9♠.",
      "Cùng số thì so chất: ♠ nhỏ nhất, rồi ♣, ♦, ♥. Hãy chặn 9♠.",
    ),
    hands: ["4c 6d 9h", "9s Jc Qd"],
    led: ["9s", 25],
    goal: /^single 9/,
  },
  {
    text: words(
      "Only a higher pair follows a pair; a single 2 does not help here.",
      "Đôi phải chặn bằng đôi lớn hơn; một lá heo không chặn được.",
    ),
    hands: ["4c 8c 8d 2s", "5s 5h Jc Qd"],
    led: ["5s 5h", 61],
    goal: /^pair/,
  },
  {
    text: words(
      "Three or more ranks in a row are a run; suits do not matter. Play a higher run of three.",
      "Ba số liền nhau trở lên là sảnh, không cần cùng chất. Hãy đánh sảnh ba lá lớn hơn.",
    ),
    hands: ["4c 6d 7s 8h Kd", "3s 4d 5c Jc Qd"],
    led: ["3s 4d 5c", 132],
    goal: /^run/,
  },
  {
    text: words(
      "You hold nothing that beats the A♥. Pass: you stay out until this trick is over.",
      "Bạn không có lá nào chặn được A♥. Hãy bỏ lượt: bạn nghỉ đến hết vòng này.",
    ),
    hands: ["4s 6d 9c", "Jc Qd Ah"],
    led: ["Ah", 48],
    goal: /^pass/,
  },
  {
    text: words(
      "A 2 (heo) beats every single card. Take the trick with it.",
      "Heo chặn được mọi lá lẻ. Hãy dùng heo.",
    ),
    hands: ["4s 6d 2c", "Kd Jc Qd"],
    led: ["Kd", 43],
    goal: /^single 2/,
  },
  {
    text: words(
      "Only bombs chop a 2: four of a kind, or three pairs in a row. Chop the 2♥!",
      "Chỉ có hàng chặt được heo: tứ quý hoặc ba đôi thông. Hãy chặt 2♥!",
    ),
    hands: ["4s 4c 5d 5h 6s 6d Kc", "Jc Qd 2h"],
    led: ["2h", 52],
    goal: /^double sequence/,
  },
  {
    text: words(
      "You lead, and the other player holds one card. Win: get rid of the pair first, then of the K.",
      "Bạn ra bài, người kia còn một lá. Hãy thắng: đánh đôi trước, rồi đến K.",
    ),
    hands: ["6s 6d Kc", "Ah"],
    goal: null,
  },
  {
    text: words(
      "In the South a chop is paid: the player who chops a red 2 gets 2 units at once. Chop it with four of a kind, and look at the units.",
      "Ở miền Nam có ăn tiền: chặt một heo đỏ được 2 đơn vị. Hãy chặt bằng tứ quý và xem số đơn vị.",
    ),
    hands: ["7s 7c 7d 7h Kc", "Jc Qd 2h"],
    led: ["2h", 52],
    goal: /^quad/,
    rules: "south",
  },
];

/** The position of a step, against the rule-based player. */
const stepHost = (step: Step): LocalHost =>
  hostOf({
    rules: step.rules ?? "cardgames",
    num_players: 2,
    key: "",
    round: 0,
    leader: step.led ? 1 : 0,
    scores: null,
    hands: step.hands,
    plays: step.led ? [{ action: step.led[1], cards: step.led[0] }] : [],
  });

type Answer = "right" | "wrong" | null;

/** What the person's first play is; null: there is none yet, or the round goes on. */
function answerOf({ goal }: Step, view: TableView, actions: string[]): Answer {
  if (!goal) return view.places[0] === 0 ? "right" : view.places[1] === 0 ? "wrong" : null;
  const own = playsOf(view).find(({ seat }) => seat === 0);
  if (!own) return null;
  if (!goal.test(actions[own.id] ?? "")) return "wrong";
  return !view.balances || view.balances[0]! > 0 ? "right" : null; // where money is played for, it is to be seen
}

export function Lesson(screen: ScreenProps) {
  const [number, setNumber] = useState(0);
  const [attempt, setAttempt] = useState(0);
  const step = STEPS[number]!;
  const host = useMemo(() => stepHost(step), [number, attempt]);
  const isLast = number === STEPS.length - 1;
  const onNext = (): void => (isLast ? screen.onLeave() : setNumber(number + 1));
  const coach: Coach = (view, actions) => (
    <StepCoach
      {...{ number, isLast, onNext }}
      answer={answerOf(step, view, actions)}
      onAgain={() => setAttempt(attempt + 1)}
    />
  );
  return <CoachedTable key={`${number}/${attempt}`} host={host} coach={coach} {...screen} />;
}

interface StepProps {
  number: number;
  isLast: boolean;
  answer: Answer;
  onAgain: () => void;
  onNext: () => void;
}
function StepCoach({ number, isLast, answer, onAgain, onNext }: StepProps) {
  const task = say(STEPS[number]!.text);
  return (
    <aside class="coach" aria-label={t("lesson")}>
      <h2>
        {t("lesson")} {number + 1} / {STEPS.length}
      </h2>
      <p role="status">
        {answer === "right"
          ? t(isLast ? "lessonOver" : "well")
          : answer === "wrong"
            ? `${t("notYet")} ${task}`
            : task}
      </p>
      <p class="actions">
        {answer === "wrong" && (
          <button type="button" class="main again" onClick={onAgain}>
            {t("tryAgain")}
          </button>
        )}
        {answer === "right" && (
          <button type="button" class="main next" onClick={onNext}>
            {t(isLast ? "newGame" : "nextStep")}
          </button>
        )}
      </p>
    </aside>
  );
}

// ---------------------------------------------------------------- puzzles: endgames with exactly one winning play

/** A line of the file that `tienlen puzzles` has mined. */
interface Puzzle {
  data: RoundData;
  answer: string;
  action: number;
  rating: number;
}
const SPREAD = 200; // how far from the own rating a puzzle may be

const loadProgress = (): Progress => progressOf(readStored("puzzles"));
const today = (): string => new Date().toISOString().slice(0, 10);
const spaced = (cards: string): string => (cards === "-" ? "" : cards.match(/../g)!.join(" "));

let lines: Promise<string[]> | null = null;
function readLines(): Promise<string[]> {
  lines ??= fetch(new URL("puzzles.txt", document.baseURI)).then(async (answer) => {
    if (!answer.ok) throw new Error(`puzzles.txt: ${answer.status}`);
    return (await answer.text()).trim().split("\n");
  });
  lines.catch(() => {
    lines = null;
  });
  return lines;
}

/** A line of the file as a position: the engine reads the table and the answer. */
async function read(line: string): Promise<Puzzle> {
  const game = await (await openLibrary()).loadRules("cardgames");
  const [mine = "", other = "", table = "", answer = ""] = line.split(" ").slice(0, 4).map(spaced);
  const round = game.fromData({
    rules: "cardgames",
    num_players: 2,
    key: "",
    round: 0,
    leader: table ? 1 : 0,
    scores: null,
    hands: [mine, [other, table].filter(Boolean).join(" ")],
    plays: [],
  });
  const find = (text: string) => round.find(text.split(" ").map((card) => game.cards.indexOf(card)))!;
  if (table) round.play(find(table));
  return { data: round.data, answer, action: answer ? find(answer).action : 0, rating: ratingOf(line) };
}

/** The rating of a puzzle stands last in its line. */
const ratingOf = (line: string): number => Number(line.slice(line.lastIndexOf(" ")));

/** The number of the next puzzle: near the own rating, and not one of the last. */
function choose(all: string[], progress: Progress): number {
  const fits = (spread: number): number[] =>
    all.flatMap((line, i) => {
      return Math.abs(ratingOf(line) - progress.rating) <= spread && !progress.seen.includes(i) ? [i] : [];
    });
  const near = fits(SPREAD),
    from = near.length ? near : fits(Infinity);
  return from[Math.floor(Math.random() * from.length)] ?? 0;
}
const daily = (all: string[]): number => (Math.floor(Date.now() / 86_400_000) * 7919) % all.length;

/** The number of the wanted puzzle: "daily", a number from 1, or any other word for the next one. */
function numberOf(wanted: string, all: string[], progress: Progress): number {
  if (wanted === "daily") return daily(all);
  return /^\d+$/.test(wanted) ? (Number(wanted) + all.length - 1) % all.length : choose(all, progress);
}

/** The wanted puzzle, once it is read; and why it cannot be. */
function usePuzzle(wanted: string, progress: Progress) {
  const [found, setFound] = useState<{ number: number; puzzle: Puzzle } | null>(null);
  const [error, setError] = useState("");
  useEffect(() => {
    let isOld = false;
    readLines()
      .then(async (all) => {
        const number = numberOf(wanted, all, progress);
        const puzzle = await read(all[number]!);
        if (!isOld) setFound({ number, puzzle });
      })
      .catch((problem: unknown) => setError(messageOf(problem)));
    return () => {
      isOld = true;
    };
  }, []);
  return { found, error };
}

/** The person's progress, and what rates an answer: the first one counts. */
function useRating(wanted: string): [Progress, (number: number, rating: number, isRight: boolean) => void] {
  const [progress, setProgress] = useState(loadProgress);
  const isJudged = useRef(false);
  const rate = (number: number, rating: number, isRight: boolean): void => {
    if (isJudged.current) return;
    isJudged.current = true;
    // Another tab may have rated it, too.
    const next = answered(loadProgress(), number, rating, isRight, wanted === "daily" ? today() : "");
    store("puzzles", next);
    setProgress(next);
  };
  return [progress, rate];
}

/** Go to another puzzle; the address is a link to it. */
const goToNext = (progress: Progress, number: number): void => {
  void readLines().then((all) =>
    go(`puzzle=${choose(all, { ...progress, seen: [...progress.seen, number] }) + 1}`),
  );
};

export function Puzzles({ wanted, ...screen }: ScreenProps & { wanted: string }) {
  const [progress, rate] = useRating(wanted);
  const { found, error } = usePuzzle(wanted, progress);
  const [attempt, setAttempt] = useState(0);
  const host = useMemo(() => found && hostOf(found.puzzle.data, true), [found, attempt]);
  if (!host || !found) return <Waiting text={`${t("loading")}…`} error={error} onLeave={screen.onLeave} />;
  const { number, puzzle } = found;
  const coach: Coach = (view) => {
    const own = playsOf(view).find(({ seat }) => seat === 0);
    const isRight = own?.id === puzzle.action;
    if (own) setTimeout(() => rate(number, puzzle.rating, isRight));
    return (
      <PuzzleCoach
        {...{ number, puzzle, progress }}
        isDaily={wanted === "daily"}
        answer={own ? (isRight ? "right" : "wrong") : null}
        onAgain={() => setAttempt(attempt + 1)}
        onNext={() => goToNext(progress, number)}
      />
    );
  };
  return <CoachedTable key={`${number}/${attempt}`} host={host} coach={coach} {...screen} />;
}

interface PuzzleProps {
  number: number;
  puzzle: Puzzle;
  progress: Progress;
  isDaily: boolean;
  answer: Answer;
  onAgain: () => void;
  onNext: () => void;
}
function PuzzleCoach({ number, puzzle, progress, isDaily, answer, onAgain, onNext }: PuzzleProps) {
  const said = answer === null ? "puzzleTask" : answer === "right" ? "puzzleRight" : "puzzleWrong";
  return (
    <aside class="coach" aria-label={t("puzzle", number + 1)}>
      <h2>
        {isDaily ? `${t("dailyPuzzle")} · ` : ""}
        <a href={`#puzzle=${number + 1}`}>{t("puzzle", number + 1)}</a>{" "}
        <small>{t("rated", puzzle.rating)}</small>
      </h2>
      <p role="status">{t(said)}</p>
      <p class="known">{t("otherHolds")}</p>
      {answer && (
        <p class="known">
          <span>{t("answer")}</span> <PlayText text={puzzle.answer} />
        </p>
      )}
      <p class="quiet">
        {t("yourRating", progress.rating)} · {t("streak", progress.streak, progress.best)} ·{" "}
        {t("solvedOf", progress.solved, progress.tried)}
      </p>
      {answer && (
        <p class="actions">
          {answer === "wrong" && (
            <button type="button" class="again" onClick={onAgain}>
              {t("tryAgain")}
            </button>
          )}
          <button type="button" class="main next" onClick={onNext}>
            {t("nextPuzzle")}
          </button>
        </p>
      )}
    </aside>
  );
}

/** The plays of a game that cost clearly, each as a question before its answer. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { PlayText } from "./cards.tsx";
import { openAgents, openLibrary, type RoundData } from "./engine.ts";
import { t } from "./i18n.ts";
import { judge, type Judged } from "./judge.ts";
import { LocalHost } from "./local.ts";
import { messageOf, playsOf, type TableView } from "./model.ts";
import { Header, Waiting, type ScreenProps } from "./parts.tsx";
import { verdictText, type Verdict } from "./said.ts";
import { seatOf, storedGame, type LocalGame } from "./stored.ts";
import { CoachedTable, type Coach } from "./table.tsx";

const WORLDS = 32;
const SEED = 3; // of the deals that judge another answer; judging has used 1 and 2
const NEVER = 1e6; // milliseconds before an agent would play

/** A decision of the person, and the round that it was made in. */
interface Decision {
  data: RoundData;
  one: Judged;
}

/** Judge all plays of the person in a game; `report` is called after each. */
async function judgeGame(
  game: LocalGame,
  signal: AbortSignal,
  report: (found: Decision[], done: string) => void,
): Promise<void> {
  const loaded = await (await openLibrary()).loadRules(game.config.rules);
  const found: Decision[] = []; // of the rounds that are judged
  for (const [number, data] of game.rounds.entries()) {
    const round = loaded.fromData(data);
    let own: Decision[] = [];
    const asked = { worlds: WORLDS, only: seatOf(game), numLosses: Infinity };
    await judge(openAgents(), round, asked, signal, (all, count) => {
      own = all
        .filter(({ turn }) => number > 0 || turn >= (game.begun ?? 0)) // others played before
        .map((one) => ({ data, one }));
      report([...found, ...own], `${number + 1}: ${count} / ${round.numPlays}`);
    });
    found.push(...own);
  }
}

/** The person's decisions, and how far they are judged; `done` is null when all are. */
function useDecisions(game: LocalGame | null): { decisions: Decision[]; done: string | null } {
  const [decisions, setDecisions] = useState<Decision[]>([]);
  const [done, setDone] = useState<string | null>("");
  useEffect(() => {
    if (!game || seatOf(game) < 0) return;
    const control = new AbortController(),
      { signal } = control;
    judgeGame(game, signal, (found, part) => {
      setDecisions(found);
      setDone(part);
    }).then(
      () => signal.aborted || setDone(null),
      (error: unknown) => signal.aborted || setDone(messageOf(error)),
    );
    return () => control.abort();
  }, [game]);
  return { decisions, done };
}

export function Learn({ id, ...screen }: ScreenProps & { id: string }) {
  const game = useMemo(() => storedGame(id), [id]);
  const { decisions, done } = useDecisions(game);
  const [at, setAt] = useState(0);
  if (!game || seatOf(game) < 0) return <Waiting text={t("noGames")} onLeave={screen.onLeave} />;
  if (done !== null) return <Waiting text={`${t("judging")} ${done}`} onLeave={screen.onLeave} />;
  const mistakes = decisions.filter(({ one }) => one.isChecked && one.loss - one.lossHalfWidth > 0);
  const share = decisions.length ? Math.round(100 * (1 - mistakes.length / decisions.length)) : null;
  const accuracy = t("accuracy", share === null ? "–" : `${share} %`, decisions.length);
  const now = mistakes[at];
  if (now) {
    const title = `${t("learn")} ${at + 1} / ${mistakes.length}`;
    const about = { game, now, title, accuracy, onNext: () => setAt(at + 1) };
    return <Question key={at} {...screen} {...about} />;
  }
  return (
    <main class="setup">
      <Header title={t("learn")} {...screen} />
      <p class="accuracy" role="status">
        {accuracy}
      </p>
      <p>{t(mistakes.length ? "allSeen" : "noMistakes")}</p>
    </main>
  );
}

/** The position before a decision. */
const before = ({ data, one }: Decision): RoundData => ({ ...data, plays: data.plays.slice(0, one.turn) });

/** What the search says of a play there. */
async function judgePlay(now: Decision, action: number, text: string): Promise<Verdict> {
  const { plays, choice } = await openAgents().advise(before(now), "search", { worlds: WORLDS, seed: SEED });
  const isNamed = plays.some((play) => play.text === text);
  const mine = plays.find((play) => play.action === action && (play.text === text || !isNamed));
  return { loss: mine?.loss ?? 0, halfWidth: mine?.loss_half_width ?? 0, best: plays[choice]!.text };
}

interface QuestionProps extends ScreenProps {
  game: LocalGame;
  now: Decision;
  title: string;
  accuracy: string;
  onNext: () => void;
}

/** A position with a mistake: what would you play now? */
function Question({ game, now, title, accuracy, onNext, ...screen }: QuestionProps) {
  const [attempt, setAttempt] = useState(0);
  const [verdict, setVerdict] = useState<Verdict | null>(null);
  const host = useMemo(() => {
    const config = { ...game.config, whole_game: false, pause: NEVER };
    return new LocalHost({ config, rounds: [before(now)], roundsSeen: 0 }, null);
  }, [attempt]);
  const again = (): void => {
    setVerdict(null);
    setAttempt(attempt + 1);
  };
  const coach: Coach = (view) => {
    const own = playsOf(view)[now.one.turn];
    if (own && !verdict && !asked.has(host)) {
      asked.add(host);
      void judgePlay(now, own.id, own.text).then(setVerdict, () => {});
    }
    return (
      <aside class="coach" aria-label={t("learn")}>
        <h2>
          {title} <small>{accuracy}</small>
        </h2>
        <Answer view={view} verdict={verdict} played={now.one.played} />
        {verdict && (
          <p class="actions">
            <button type="button" class="again" onClick={again}>
              {t("tryAgain")}
            </button>
            <button type="button" class="main next" onClick={onNext}>
              {t("nextStep")}
            </button>
          </p>
        )}
      </aside>
    );
  };
  return <CoachedTable key={attempt} host={host} coach={coach} {...screen} />;
}
const asked = new WeakSet<LocalHost>(); // tables whose play is being judged

/** The question, or what the play costs. */
function Answer({ view, verdict, played }: { view: TableView; verdict: Verdict | null; played: string }) {
  return (
    <p class="known" role="status">
      {verdict ? (
        <>
          {verdictText(verdict, view.balances !== undefined)} {t("bestPlay")} <PlayText text={verdict.best} />
        </>
      ) : (
        <>
          {t("youPlayed")} <PlayText text={played} /> {t("whatNow")}
        </>
      )}
    </p>
  );
}

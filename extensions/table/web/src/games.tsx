/** One's own games: the list, statistics, mistakes to learn from, and the duplicate challenge. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { PlayText } from "./cards.tsx";
import { adviserOf, agentsOf, openAgents, openLibrary, type RoundData } from "./engine.ts";
import { agentWords, decimal, estimateText, pointsText, rulesWords, t, unitsText } from "./i18n.ts";
import { judge, playOut, type Judged } from "./judge.ts";
import { LocalHost, removeGame, storedGame, storedGames, type LocalGame } from "./local.ts";
import { messageOf, PERSON, playsOf } from "./model.ts";
import { clipboard, go, IconButton, Waiting, type ScreenProps } from "./parts.tsx";
import { readStored, store } from "./storage.ts";
import { CoachedTable, type Coach } from "./table.tsx";

const seatOf = (game: LocalGame): number => game.config.seats.indexOf(PERSON);
/** What a game that is over came to for the person, in words: units where money is played for. */
const outcomeOf = ({ result }: LocalGame, seat: number): string =>
  result?.balances ? unitsText(result.balances[seat]!) : pointsText(result?.scores[seat] ?? 0);

function Header({
  title,
  onLeave,
  onSettings,
}: {
  title: string;
  onLeave: () => void;
  onSettings: () => void;
}) {
  return (
    <header class="bar-top">
      <IconButton sign="‹" name="back" onClick={onLeave} />
      <h1>{title}</h1>
      <IconButton sign="⚙" name="settings" onClick={onSettings} />
    </header>
  );
}

/** The list of games with what they came to. */
export function Games({ onLeave, onSettings }: ScreenProps) {
  const [games, setGames] = useState(storedGames);
  const [asked, setAsked] = useState(""); // the game that is deleted by a second press
  const remove = (id: string): void => {
    if (asked === id) {
      removeGame(id);
      setGames(storedGames());
    } else setAsked(id);
  };
  const own = games.filter(({ game }) => game.result && seatOf(game) >= 0);
  const byRules = [...new Set(own.map(({ game }) => game.config.rules))].map((rules) => {
    const of = own.filter(({ game }) => game.config.rules === rules);
    const mine = of.map(({ game }) => (game.result!.balances ?? game.result!.scores)[seatOf(game)]!);
    return {
      rules,
      number: of.length,
      won: of.filter(({ game }) => game.result!.winner === seatOf(game)).length,
      mean: mine.reduce((a, b) => a + b, 0) / of.length,
    };
  });
  return (
    <main class="setup games">
      <Header title={t("yourGames")} onLeave={onLeave} onSettings={onSettings} />
      {byRules.length > 0 && (
        <table>
          <thead>
            <tr>
              <th scope="col">{t("rules")}</th>
              <th scope="col">{t("games")}</th>
              <th scope="col">{t("won")}</th>
              <th scope="col">{t("meanPoints")}</th>
            </tr>
          </thead>
          <tbody>
            {byRules.map(({ rules, number, won, mean }) => (
              <tr key={rules}>
                <th scope="row">{rulesWords(rules)}</th>
                <td>{number}</td>
                <td>{won}</td>
                <td>{decimal(mean, 2)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {!games.length && <p>{t("noGames")}</p>}
      <ol class="game-list">
        {games.map(({ id, game }) => (
          <li key={id}>
            <span>
              {new Date(Number(id)).toLocaleString(document.documentElement.lang)} ·{" "}
              {rulesWords(game.config.rules)} ·{" "}
              {game.result && seatOf(game) >= 0
                ? outcomeOf(game, seatOf(game))
                : t(game.result ? "gameOver" : "unfinished")}
            </span>
            <span class="actions">
              <button type="button" onClick={() => go(`table=${id}`)}>
                {t(game.result ? "look" : "continue")}
              </button>
              {game.result && seatOf(game) >= 0 && (
                <button type="button" class="learn" onClick={() => go(`learn=${id}`)}>
                  {t("learn")}
                </button>
              )}
              <button type="button" class="remove" onClick={() => remove(id)}>
                {t(asked === id ? "removeReally" : "remove")}
              </button>
            </span>
          </li>
        ))}
      </ol>
    </main>
  );
}

const WORLDS = 32;

/** The plays of a game that cost clearly, each as a question before its answer. */
export function Learn({ id, settings, onLeave, onSettings }: ScreenProps & { id: string }) {
  const game = useMemo(() => storedGame(id), [id]);
  const [judged, setJudged] = useState<{ data: RoundData; one: Judged }[]>([]);
  const [done, setDone] = useState<string | null>("");
  const [at, setAt] = useState(0);
  const [attempt, setAttempt] = useState(0);
  const [verdict, setVerdict] = useState<{ loss: number; halfWidth: number; best: string } | null>(null);
  const seat = game ? seatOf(game) : -1;

  useEffect(() => {
    if (!game || seat < 0) return;
    const control = new AbortController();
    (async () => {
      const loaded = await (await openLibrary()).loadRules(game.config.rules);
      const found: typeof judged = []; // of the rounds that are judged
      for (const [number, data] of game.rounds.entries()) {
        const round = loaded.fromData(data);
        let own: typeof judged = [];
        await judge(
          openAgents(),
          round,
          "search",
          WORLDS,
          control.signal,
          (all, count) => {
            setDone(`${number + 1}: ${count} / ${round.numPlays}`);
            own = all
              .filter(({ turn }) => number > 0 || turn >= (game.begun ?? 0)) // others played before
              .map((one) => ({ data, one }));
            setJudged([...found, ...own]);
          },
          seat,
          Infinity,
        );
        found.push(...own);
      }
      if (!control.signal.aborted) setDone(null);
    })().catch((error: unknown) => control.signal.aborted || setDone(messageOf(error)));
    return () => control.abort();
  }, [game]);

  const isClear = ({ one }: { one: Judged }): boolean => one.isChecked && one.loss - one.lossHalfWidth > 0;
  const mistakes = judged.filter(isClear);
  const now = mistakes[at];
  const host = useMemo(
    () =>
      now && done === null
        ? new LocalHost(
            {
              config: { ...game!.config, whole_game: false, pause: 1e6 },
              rounds: [{ ...now.data, plays: now.data.plays.slice(0, now.one.turn) }],
              roundsSeen: 0,
            },
            null,
          )
        : null,
    [now?.one.turn, now?.data, done, attempt],
  );
  if (!game || seat < 0) return <Waiting text={t("noGames")} onLeave={onLeave} />;
  if (done !== null) return <Waiting text={`${t("judging")} ${done}`} onLeave={onLeave} />;
  const accuracy = judged.length ? `${Math.round(100 * (1 - mistakes.length / judged.length))} %` : "–";
  if (!host || !now)
    return (
      <main class="setup">
        <Header title={t("learn")} onLeave={onLeave} onSettings={onSettings} />
        <p class="accuracy" role="status">
          {t("accuracy", accuracy, judged.length)}
        </p>
        <p>{t(mistakes.length ? "allSeen" : "noMistakes")}</p>
      </main>
    );
  const ask = (action: number, text: string): void => {
    void (async () => {
      const loaded = await (await openLibrary()).loadRules(game.config.rules);
      const data = { ...now.data, plays: now.data.plays.slice(0, now.one.turn) };
      const { plays, choice } = await openAgents().advise(loaded.fromData(data).data, "search", {
        worlds: WORLDS,
        seed: 3,
      });
      const mine = plays.find(
        (play) =>
          play.action === action && (play.text === text || !plays.some((other) => other.text === text)),
      );
      setVerdict({ loss: mine?.loss ?? 0, halfWidth: mine?.loss_half_width ?? 0, best: plays[choice]!.text });
    })().catch(() => {});
  };
  const coach: Coach = (view) => {
    const own = playsOf(view)[now.one.turn];
    if (own && !verdict && !asked.has(host)) {
      asked.add(host);
      ask(own.id, own.text);
    }
    const isFine = verdict !== null && verdict.loss - verdict.halfWidth <= 0;
    return (
      <aside class="coach" aria-label={t("learn")}>
        <h2>
          {t("learn")} {at + 1} / {mistakes.length} <small>{t("accuracy", accuracy, judged.length)}</small>
        </h2>
        <p class="known" role="status">
          {verdict ? (
            <>
              {isFine
                ? t("fine")
                : t(
                    view.balances ? "costsUnits" : "costs",
                    estimateText(verdict.loss, verdict.halfWidth),
                  )}{" "}
              {t("bestPlay")} <PlayText text={verdict.best} />
            </>
          ) : (
            <>
              {t("youPlayed")} <PlayText text={now.one.played} /> {t("whatNow")}
            </>
          )}
        </p>
        {verdict && (
          <p class="actions">
            <button
              type="button"
              class="again"
              onClick={() => {
                setVerdict(null);
                setAttempt(attempt + 1);
              }}
            >
              {t("tryAgain")}
            </button>
            <button
              type="button"
              class="main next"
              onClick={() => {
                setVerdict(null);
                setAt(at + 1);
              }}
            >
              {t("nextStep")}
            </button>
          </p>
        )}
      </aside>
    );
  };
  return (
    <CoachedTable
      key={`${at}/${attempt}`}
      host={host}
      coach={coach}
      settings={settings}
      onLeave={onLeave}
      onSettings={onSettings}
    />
  );
}
const asked = new WeakSet<LocalHost>(); // tables whose play is being judged

// ---------------------------------------------------------------- the duplicate challenge

const DEALS = 10;
const T_QUANTILE = 2.262; // Student's, 95 %, nine degrees of freedom
interface Challenge {
  mine: number[];
  theirs: number[];
}

/** The key of a deal of a challenge: the challenge's number, and the deal's. */
const keyOf = (challenge: number, deal: number): string =>
  (challenge >>> 0).toString(16).padStart(8, "0") + deal.toString(16).padStart(8, "0");
/** The seed of a choice depends on the position alone, so that the same plays meet the same answers. */
export const seedOf = (challenge: number, deal: number, plays: number): number =>
  (challenge * 1009 + deal * 101 + plays) & 0x7fffffff;

/** Ten deals, which the champion plays in the same seat against the same opponents. */
export function ChallengeScreen({ number, settings, onLeave, onSettings }: ScreenProps & { number: number }) {
  const [state, setState] = useState<Challenge>(() => {
    const found = readStored(`challenge:${number}`) as Partial<Challenge> | null;
    return Array.isArray(found?.mine) && Array.isArray(found.theirs)
      ? (found as Challenge)
      : { mine: [], theirs: [] };
  });
  const [champion, setChampion] = useState("");
  const [error, setError] = useState("");
  const [isCopied, setCopied] = useState(false);
  const deal = state.mine.length,
    rules = "cardgames";
  const save = (next: Challenge): void => {
    store(`challenge:${number}`, next);
    setState(next);
  };
  const start = (i: number): RoundData => ({
    rules,
    num_players: 4,
    key: keyOf(number, i),
    round: 0,
    leader: null,
    scores: null,
    plays: [],
  });
  useEffect(() => {
    void openLibrary().then(
      (library) => setChampion(adviserOf(agentsOf(library, rules, 4))?.name ?? ""),
      (problem: unknown) => setError(messageOf(problem)),
    );
  }, []);
  const host = useMemo(() => {
    if (!champion || deal >= DEALS) return null;
    const begun = storedGame(`challenge:${number}`)?.rounds[0];
    return new LocalHost(
      {
        config: {
          rules,
          seats: [PERSON, champion, champion, champion],
          whole_game: false,
          pause: settings.pause,
        },
        rounds: [begun?.key === keyOf(number, deal) ? begun : start(deal)],
        roundsSeen: 0,
      },
      `challenge:${number}`,
      (plays) => seedOf(number, deal, plays),
    );
  }, [champion, deal, number]);

  // The champion plays the deals that are over for you.
  useEffect(() => {
    if (!champion || state.theirs.length >= state.mine.length) return;
    const control = new AbortController(),
      i = state.theirs.length;
    (async () => {
      const round = (await (await openLibrary()).loadRules(rules)).fromData(start(i));
      await playOut(openAgents(), round, [champion, champion, champion, champion], control.signal, (plays) =>
        seedOf(number, i, plays),
      );
      if (!control.signal.aborted) save({ ...state, theirs: [...state.theirs, round.scores[0]!] });
    })().catch((problem: unknown) => control.signal.aborted || setError(messageOf(problem)));
    return () => control.abort();
  }, [champion, state]);

  const differences = state.theirs.map((points, i) => state.mine[i]! - points);
  const mean = differences.reduce((a, b) => a + b, 0) / Math.max(1, differences.length);
  const variance = differences.reduce((a, b) => a + (b - mean) ** 2, 0) / Math.max(1, differences.length - 1);
  const halfWidth = T_QUANTILE * Math.sqrt(variance / Math.max(1, differences.length));
  const link = `${location.origin}${location.pathname}#challenge=${number}`;
  const table = state.mine.length > 0 && (
    <table class="duplicate">
      <thead>
        <tr>
          <th scope="col">{t("deal")}</th>
          <th scope="col">{t("you")}</th>
          <th scope="col">{agentWords(champion)}</th>
        </tr>
      </thead>
      <tbody>
        {state.mine.map((points, i) => (
          <tr key={i}>
            <th scope="row">{i + 1}</th>
            <td>{points}</td>
            <td>{state.theirs[i] ?? "…"}</td>
          </tr>
        ))}
        <tr class="sum">
          <th scope="row">{t("total")}</th>
          <td>{state.mine.reduce((a, b) => a + b, 0)}</td>
          <td>{state.theirs.reduce((a, b) => a + b, 0)}</td>
        </tr>
      </tbody>
    </table>
  );
  if (!host)
    return (
      <main class="setup">
        <Header title={t("challenge")} onLeave={onLeave} onSettings={onSettings} />
        {error && (
          <p class="banner" role="alert">
            {t("error", error)}
          </p>
        )}
        {table}
        {state.theirs.length === DEALS && (
          <p class="difference" role="status">
            {t(
              "difference",
              (mean > 0 ? "+" : mean < 0 ? "−" : "") + decimal(Math.abs(mean), 2),
              decimal(halfWidth, 2),
            )}
          </p>
        )}
        {deal >= DEALS && (
          <p class="actions">
            <a href={link}>{link}</a>{" "}
            {clipboard && (
              <button
                type="button"
                onClick={() => void clipboard?.writeText(link).then(() => setCopied(true))}
              >
                {t(isCopied ? "copied" : "copy")}
              </button>
            )}
          </p>
        )}
      </main>
    );
  const coach: Coach = (view) => (
    <aside class="coach" aria-label={t("challenge")}>
      <h2>
        {t("challenge")}: {t("deal")} {deal + 1} / {DEALS}
      </h2>
      <p role="status">
        {view.result ? `${pointsText(view.result.scores[0]!)}.` : t("challengeTask")}{" "}
        {state.mine.length > 0 &&
          t(
            "soFar",
            state.mine.reduce((a, b) => a + b, 0),
            state.theirs.reduce((a, b) => a + b, 0),
          )}
      </p>
      {view.result && (
        <p class="actions">
          <button
            type="button"
            class="main next"
            onClick={() => save({ ...state, mine: [...state.mine, view.result!.scores[0]!] })}
          >
            {t("nextStep")}
          </button>
        </p>
      )}
    </aside>
  );
  return (
    <CoachedTable
      key={deal}
      host={host}
      coach={coach}
      settings={settings}
      onLeave={onLeave}
      onSettings={onSettings}
    />
  );
}

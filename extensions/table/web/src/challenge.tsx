/** The duplicate challenge: ten deals, which the champion plays in the same seat against the same opponents. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { adviserOf, agentsOf, openAgents, openLibrary, type RoundData } from "./engine.ts";
import { agentWords, decimal, pointsText, t } from "./i18n.ts";
import { playOut } from "./judge.ts";
import { LocalHost } from "./local.ts";
import { messageOf, PERSON, type TableView } from "./model.ts";
import { Copy, Header, type ScreenProps } from "./parts.tsx";
import { readStored, store } from "./storage.ts";
import { storedGame } from "./stored.ts";
import { CoachedTable, type Coach } from "./table.tsx";

const RULES = "cardgames";
const DEALS = 10;
const T_QUANTILE = 2.262; // Student's, 95 %, nine degrees of freedom

/** Points of the deals that are over, of the person and of the champion. */
interface Challenge {
  mine: number[];
  theirs: number[];
}

/** The key of a deal of a challenge: the challenge's number, and the deal's. */
const keyOf = (challenge: number, deal: number): string =>
  (challenge >>> 0).toString(16).padStart(8, "0") + deal.toString(16).padStart(8, "0");
/** The seed of a choice depends on the position alone, so that the same plays meet the same answers. */
const seedOf = (challenge: number, deal: number, plays: number): number =>
  (challenge * 1009 + deal * 101 + plays) & 0x7fffffff;
const start = (challenge: number, deal: number): RoundData => ({
  rules: RULES,
  num_players: 4,
  key: keyOf(challenge, deal),
  round: 0,
  leader: null,
  scores: null,
  plays: [],
});

const sum = (points: number[]): number => points.reduce((a, b) => a + b, 0);

/** The person's points less the champion's, a deal, with half the width of their 95 % interval. */
function differenceOf({ mine, theirs }: Challenge): { mean: number; halfWidth: number } {
  const all = theirs.map((points, i) => mine[i]! - points);
  const mean = sum(all) / Math.max(1, all.length);
  const variance = sum(all.map((one) => (one - mean) ** 2)) / Math.max(1, all.length - 1);
  return { mean, halfWidth: T_QUANTILE * Math.sqrt(variance / Math.max(1, all.length)) };
}

/** A challenge as far as it is played, stored in the browser. */
function useChallenge(number: number): [Challenge, (next: Challenge) => void] {
  const [state, setState] = useState<Challenge>(() => {
    const found = readStored(`challenge:${number}`) as Partial<Challenge> | null;
    return Array.isArray(found?.mine) && Array.isArray(found.theirs)
      ? (found as Challenge)
      : { mine: [], theirs: [] };
  });
  const save = (next: Challenge): void => {
    store(`challenge:${number}`, next);
    setState(next);
  };
  return [state, save];
}

/** The points of a deal that the champion plays in all seats. */
async function playDeal(
  number: number,
  deal: number,
  champion: string,
  signal: AbortSignal,
): Promise<number> {
  const round = (await (await openLibrary()).loadRules(RULES)).fromData(start(number, deal));
  const seats = Array.from({ length: 4 }, () => champion);
  await playOut(openAgents(), round, seats, signal, (plays) => seedOf(number, deal, plays));
  return round.scores[0]!;
}

/** The name of the champion, once it is known, and what has failed. */
function useChampion(
  number: number,
  state: Challenge,
  save: (next: Challenge) => void,
): { champion: string; error: string } {
  const [champion, setChampion] = useState("");
  const [error, setError] = useState("");
  const fail = (problem: unknown): void => setError(messageOf(problem));
  useEffect(() => {
    void openLibrary().then(
      (library) => setChampion(adviserOf(agentsOf(library, RULES, 4))?.name ?? ""),
      fail,
    );
  }, []);
  // The champion plays the deals that are over for the person.
  useEffect(() => {
    if (!champion || state.theirs.length >= state.mine.length) return;
    const control = new AbortController(),
      { signal } = control;
    playDeal(number, state.theirs.length, champion, signal).then(
      (points) => signal.aborted || save({ ...state, theirs: [...state.theirs, points] }),
      (problem: unknown) => signal.aborted || fail(problem),
    );
    return () => control.abort();
  }, [champion, state]);
  return { champion, error };
}

/** The table of the deal that is to be played; null before the champion is known, and after the last deal. */
function useHost(number: number, deal: number, champion: string, pause: number): LocalHost | null {
  return useMemo(() => {
    if (!champion || deal >= DEALS) return null;
    const id = `challenge:${number}`;
    const begun = storedGame(id)?.rounds[0];
    const seats = [PERSON, champion, champion, champion];
    const rounds = [begun?.key === keyOf(number, deal) ? begun : start(number, deal)];
    const config = { rules: RULES, seats, whole_game: false, pause };
    return new LocalHost({ config, rounds, roundsSeen: 0 }, id, (plays) => seedOf(number, deal, plays));
  }, [champion, deal, number]);
}

export function ChallengeScreen({ number, ...screen }: ScreenProps & { number: number }) {
  const [state, save] = useChallenge(number);
  const { champion, error } = useChampion(number, state, save);
  const deal = state.mine.length;
  const host = useHost(number, deal, champion, screen.settings.pause);
  if (!host)
    return (
      <main class="setup">
        <Header title={t("challenge")} {...screen} />
        {error && (
          <p class="banner" role="alert">
            {t("error", error)}
          </p>
        )}
        {deal > 0 && <Deals state={state} champion={champion} />}
        {deal >= DEALS && <Outcome state={state} number={number} />}
      </main>
    );
  const onNext = (points: number): void => save({ ...state, mine: [...state.mine, points] });
  const coach: Coach = (view) => <DealCoach {...{ view, state, onNext }} />;
  return <CoachedTable key={deal} host={host} coach={coach} {...screen} />;
}

/** The deals that are over. */
function Deals({ state: { mine, theirs }, champion }: { state: Challenge; champion: string }) {
  return (
    <table class="duplicate">
      <thead>
        <tr>
          <th scope="col">{t("deal")}</th>
          <th scope="col">{t("you")}</th>
          <th scope="col">{agentWords(champion)}</th>
        </tr>
      </thead>
      <tbody>
        {mine.map((points, i) => (
          <tr key={i}>
            <th scope="row">{i + 1}</th>
            <td>{points}</td>
            <td>{theirs[i] ?? "…"}</td>
          </tr>
        ))}
        <tr class="sum">
          <th scope="row">{t("total")}</th>
          <td>{sum(mine)}</td>
          <td>{sum(theirs)}</td>
        </tr>
      </tbody>
    </table>
  );
}

/** The difference of ten deals, and a link to them. */
function Outcome({ state, number }: { state: Challenge; number: number }) {
  const { mean, halfWidth } = differenceOf(state);
  const link = `${location.origin}${location.pathname}#challenge=${number}`;
  const sign = mean > 0 ? "+" : mean < 0 ? "−" : "";
  return (
    <>
      {state.theirs.length === DEALS && (
        <p class="difference" role="status">
          {t("difference", sign + decimal(Math.abs(mean), 2), decimal(halfWidth, 2))}
        </p>
      )}
      <p class="actions">
        <a href={link}>{link}</a> <Copy text={link} />
      </p>
    </>
  );
}

interface CoachProps {
  view: TableView;
  state: Challenge;
  onNext: (points: number) => void;
}
function DealCoach({ view: { result }, state: { mine, theirs }, onNext }: CoachProps) {
  return (
    <aside class="coach" aria-label={t("challenge")}>
      <h2>
        {t("challenge")}: {t("deal")} {mine.length + 1} / {DEALS}
      </h2>
      <p role="status">
        {result ? `${pointsText(result.scores[0]!)}.` : t("challengeTask")}{" "}
        {mine.length > 0 && t("soFar", sum(mine), sum(theirs))}
      </p>
      {result && (
        <p class="actions">
          <button type="button" class="main next" onClick={() => onNext(result.scores[0]!)}>
            {t("nextStep")}
          </button>
        </p>
      )}
    </aside>
  );
}

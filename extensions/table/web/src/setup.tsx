/** The first screen: who sits where, by which rules. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { CardRow } from "./cards.tsx";
import { openLibrary, playsRules, type Index } from "./engine.ts";
import { agentWords, gameWords, isVietnamese, rulesWords, t } from "./i18n.ts";
import type { TableConfig } from "./model.ts";
import { messageOf, PERSON } from "./model.ts";
import { Choice, go, Pace } from "./parts.tsx";
import type { Welcome } from "./remote.ts";
import { presetWords, RulesDialog } from "./rules.tsx";

type Length = "rules" | "1" | "5" | "10" | "20" | "0";

interface Props {
  server: Welcome | null;
  pause: number;
  hasGame: boolean;
  onPause: (pause: number) => void;
  onStart: (config: TableConfig, isRemote: boolean) => void;
  onContinue: () => void;
  /** Back to the seat at a table of the server; null: there is none. */
  onReturn: (() => void) | null;
  onSettings: () => void;
}

export function Setup({ server, pause, hasGame, onPause, onStart, onContinue, onReturn, onSettings }: Props) {
  const [index, setIndex] = useState<Index | null>(null);
  const [rules, setRules] = useState(isVietnamese() ? "south" : "cardgames");
  const [wanted, setWanted] = useState<string[]>([PERSON, "champion", "champion", "champion"]);
  const [length, setLength] = useState<Length>("rules");
  const [isRemote, setRemote] = useState(false);
  const [error, setError] = useState("");
  const [isReading, setReading] = useState(false);
  const [isMore, setMore] = useState(false);
  useEffect(() => {
    openLibrary().then(
      ({ index: found }) => setIndex(found),
      (problem: unknown) => setError(messageOf(problem)),
    );
  }, []);

  const game = index?.games.find(({ presets }) => presets.some(({ name }) => name === rules));
  const preset = game?.presets.find(({ name }) => name === rules);
  const numbers = preset?.num_players ?? [4];
  const count = numbers.includes(wanted.length) ? wanted.length : numbers[numbers.length - 1]!;
  const here = game?.agents.filter((agent) => playsRules(agent, rules, count)).map(({ name }) => name) ?? [];
  const agents = isRemote ? (server?.agents.filter((name) => name !== PERSON) ?? []) : here;
  const usual = (name: string): string =>
    agents.includes(name) ? name : (agents.find((other) => other !== "random") ?? agents[0] ?? "random");
  // A seat that these rules, this number of players or this place cannot have is replaced in each render. An effect
  // would run later, and could undo a choice that was made in between.
  const fitted = (name: string, i: number): string =>
    name !== PERSON ? usual(name) : isRemote || i === 0 ? PERSON : usual("champion");
  const seats = preset ? Array.from({ length: count }, (_, i) => fitted(wanted[i] ?? "champion", i)) : wanted;

  const games = index?.games ?? [{ name: "tienlen", presets: [{ name: "cardgames" }] }];
  // Rules without a target have no length of their own: they are played until the players stop.
  const hasTarget = preset?.has_target ?? true;
  const rounds = length === "rules" && !hasTarget ? "0" : length;
  const lengthOf = {
    whole_game: rounds !== "1",
    num_rounds: rounds === "rules" || rounds === "1" ? null : Number(rounds),
  };
  const start = (): void => onStart({ rules, seats, ...lengthOf, pause }, isRemote);
  // A table without people ends by itself.
  const watch = (): void =>
    onStart(
      {
        rules,
        seats: seats.map((name) => (name === PERSON ? usual("champion") : name)),
        ...lengthOf,
        ...(rounds === "0" ? { num_rounds: 10 } : {}),
        pause,
      },
      false,
    );
  return (
    <main class="setup">
      <header class="title">
        <CardRow cards={["3s", "6c", "Td", "2h"]} label="" />
        <h1 lang="vi">{t("title")}</h1>
        <p>{t("subtitle")}</p>
      </header>
      {error && (
        <p class="banner" role="alert">
          {t("error", error)}
        </p>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          start();
        }}
      >
        <p class="actions first">
          <button type="submit" class="main start" disabled={!index}>
            {t("playNow")}
          </button>
          {hasGame && (
            <button type="button" class="continue" onClick={onContinue}>
              {t("continue")}
            </button>
          )}
          {onReturn && (
            <button type="button" class="return" onClick={onReturn}>
              {t("returnToServer")}
            </button>
          )}
        </p>
        <fieldset>
          <legend>{t("table")}</legend>
          <label class="field">
            <span>{t("rules")}</span>
            <select value={rules} onChange={(event) => setRules(event.currentTarget.value)}>
              {games.map((one) => (
                <optgroup key={one.name} label={gameWords(one.name)}>
                  {knownFirst(one.presets).map(({ name }) => (
                    <option key={name} value={name} selected={name === rules}>
                      {rulesWords(name)}
                    </option>
                  ))}
                </optgroup>
              ))}
            </select>
            <span class="about">{presetWords(rules)}</span>
          </label>
          <Choice
            label={t("players")}
            value={String(seats.length)}
            options={numbers.map(String)}
            words={(o) => o}
            onChange={(o) => setWanted(Array.from({ length: Number(o) }, (_, i) => seats[i] ?? "champion"))}
          />
          <button type="button" class="read-rules" onClick={() => setReading(true)} disabled={!index}>
            {t("rules")}: {rulesWords(rules)}
          </button>
          {server && (
            <Choice
              kind="where"
              label={t("where")}
              value={isRemote ? "server" : "page"}
              options={["page", "server"] as const}
              words={(o) => (o === "page" ? t("inPage") : t("onServer"))}
              onChange={(o) => setRemote(o === "server")}
            />
          )}
          <details
            class="more"
            open={isMore || isRemote}
            onToggle={(event) => setMore(event.currentTarget.open)}
          >
            <summary>{t("more")}</summary>
            {seats.map((name, i) => (
              <Choice
                key={i}
                kind="seat"
                label={t("seat", i + 1)}
                value={name}
                options={[PERSON, ...agents]}
                words={(o) => (o === PERSON ? (i === 0 ? t("you") : t("person")) : agentWords(o))}
                onChange={(o) => setWanted(seats.map((old, k) => (k === i ? o : old)))}
              />
            ))}
            <Choice
              kind="length"
              label={t("rounds")}
              value={rounds}
              options={[...(hasTarget ? ["rules"] : []), "0", "1", "5", "10", "20"] as Length[]}
              words={(o) =>
                o === "rules"
                  ? t("wholeGame")
                  : o === "0"
                    ? t("noEnd")
                    : o === "1"
                      ? t("oneRound")
                      : t("manyRounds", o)
              }
              onChange={setLength}
            />
            <Pace value={pause} onChange={onPause} />
          </details>
        </fieldset>
      </form>
      <Elsewhere canWatch={index !== null} onWatch={watch} onSettings={onSettings} />
      {isReading && <RulesDialog rules={rules} players={count} onClose={() => setReading(false)} />}
    </main>
  );
}

// What people at a table call their rules; after them come the names of programs.
const KNOWN = ["south", "south_count", "south_winner", "north"];
const knownFirst = <T extends { name: string }>(presets: T[]): T[] => {
  const rank = ({ name }: T): number => (KNOWN.indexOf(name) + KNOWN.length + 1) % (KNOWN.length + 1);
  return [...presets].sort((a, b) => rank(a) - rank(b));
};

/** The other screens, by what one comes for. */
function Elsewhere({
  canWatch,
  onWatch,
  onSettings,
}: {
  canWatch: boolean;
  onWatch: () => void;
  onSettings: () => void;
}) {
  const challenge = (): void => go(`challenge=${Math.floor(Math.random() * 1e6)}`);
  return (
    <nav class="elsewhere" aria-label={t("other")}>
      <Group title={t("groupLearn")}>
        <Door kind="learn" words={t("lesson")} onOpen={() => go("lesson")} />
        <Door kind="puzzle" words={t("puzzles")} onOpen={() => go("puzzle=next")} />
        <Door kind="daily" words={t("dailyPuzzle")} onOpen={() => go("puzzle=daily")} />
      </Group>
      <Group title={t("groupCompete")}>
        <Door kind="challenge" words={t("challenge")} onOpen={challenge} />
        <Door kind="watch" words={t("watch")} onOpen={onWatch} isOff={!canWatch} />
      </Group>
      <Group title={t("groupLook")}>
        <Door kind="my-games" words={t("yourGames")} onOpen={() => go("games")} />
        <Door kind="explore" words={t("explorer")} onOpen={() => go("explorer")} />
        <Door kind="settings" words={t("settings")} onOpen={onSettings} />
      </Group>
    </nav>
  );
}

const Group = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <section>
    <h2>{title}</h2>
    {children}
  </section>
);

const Door = ({
  kind,
  words,
  onOpen,
  isOff = false,
}: {
  kind: string;
  words: string;
  onOpen: () => void;
  isOff?: boolean;
}) => (
  <button type="button" class={kind} onClick={onOpen} disabled={isOff}>
    {words}
  </button>
);

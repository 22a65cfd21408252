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

const LENGTHS = ["0", "1", "5", "10", "20"] as const;
type Length = "rules" | (typeof LENGTHS)[number];

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

/** What can be chosen at first. */
interface Chosen {
  rules: string;
  /** Who is wanted in each seat; a seat that cannot be had is replaced in each render. */
  wanted: string[];
  length: Length;
  isRemote: boolean;
}

/** What the chosen rules and place offer. */
interface Offer {
  index: Index | null;
  numbers: number[];
  agents: string[];
  seats: string[];
  hasTarget: boolean;
  /** Rules without a target have no length of their own: they are played until the players stop. */
  rounds: Length;
}

/** An agent that is there, the wanted one if it is. */
const usual = (agents: string[], name: string): string =>
  agents.includes(name) ? name : (agents.find((other) => other !== "random") ?? agents[0] ?? "random");

// A seat that these rules, this number of players or this place cannot have is replaced in each render. An effect
// would run later, and could undo a choice that was made in between.
function offerOf(index: Index | null, server: Welcome | null, chosen: Chosen): Offer {
  const { rules, wanted, length, isRemote } = chosen;
  const game = index?.games.find(({ presets }) => presets.some(({ name }) => name === rules));
  const preset = game?.presets.find(({ name }) => name === rules);
  const numbers = preset?.num_players ?? [4];
  const count = numbers.includes(wanted.length) ? wanted.length : numbers[numbers.length - 1]!;
  const here = game?.agents.filter((agent) => playsRules(agent, rules, count)).map(({ name }) => name) ?? [];
  const agents = isRemote ? (server?.agents.filter((name) => name !== PERSON) ?? []) : here;
  const fitted = (name: string, i: number): string =>
    name !== PERSON ? usual(agents, name) : isRemote || i === 0 ? PERSON : usual(agents, "champion");
  const seats = preset ? Array.from({ length: count }, (_, i) => fitted(wanted[i] ?? "champion", i)) : wanted;
  const hasTarget = preset?.has_target ?? true;
  const rounds = length === "rules" && !hasTarget ? "0" : length;
  return { index, numbers, agents, seats, hasTarget, rounds };
}

/** The table that was chosen. */
const configOf = ({ rules }: Chosen, { seats, rounds }: Offer, pause: number): TableConfig => ({
  rules,
  seats,
  whole_game: rounds !== "1",
  num_rounds: rounds === "rules" || rounds === "1" ? null : Number(rounds),
  pause,
});

/** The same table with agents alone; it ends by itself. */
function watchedOf(config: TableConfig, { agents }: Offer): TableConfig {
  const seats = config.seats.map((name) => (name === PERSON ? usual(agents, "champion") : name));
  return { ...config, seats, ...(config.num_rounds === 0 ? { num_rounds: ROUNDS_WATCHED } : {}) };
}
const ROUNDS_WATCHED = 10;

/** The games of the page, once they are known. */
function useIndex(): { index: Index | null; error: string } {
  const [index, setIndex] = useState<Index | null>(null);
  const [error, setError] = useState("");
  useEffect(() => {
    openLibrary().then(
      ({ index: found }) => setIndex(found),
      (problem: unknown) => setError(messageOf(problem)),
    );
  }, []);
  return { index, error };
}

export function Setup(props: Props) {
  const { server, pause, onStart } = props;
  const { index, error } = useIndex();
  const [chosen, setChosen] = useState<Chosen>(() => ({
    ...FIRST,
    ...(isVietnamese() ? { rules: "south" } : {}),
  }));
  const offer = offerOf(index, server, chosen);
  const config = configOf(chosen, offer, pause);
  const onChoose = (part: Partial<Chosen>): void => setChosen({ ...chosen, ...part });
  return (
    <main class="setup">
      <Title />
      {error && (
        <p class="banner" role="alert">
          {t("error", error)}
        </p>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onStart(config, chosen.isRemote);
        }}
      >
        <FirstButtons {...props} isReady={index !== null} />
        <TableFields {...props} {...{ chosen, offer, onChoose }} />
      </form>
      <Elsewhere
        canWatch={index !== null}
        onWatch={() => onStart(watchedOf(config, offer), false)}
        onSettings={props.onSettings}
      />
    </main>
  );
}
const FIRST: Chosen = {
  rules: "cardgames",
  wanted: [PERSON, "champion", "champion", "champion"],
  length: "rules",
  isRemote: false,
};

/** The table that is to be played at; its rules can be read. */
function TableFields(form: FormProps) {
  const [isReading, setReading] = useState(false);
  const { rules } = form.chosen;
  const { index, seats } = form.offer;
  return (
    <fieldset>
      <legend>{t("table")}</legend>
      <RulesField {...form} />
      <PlayersField {...form} />
      <button type="button" class="read-rules" onClick={() => setReading(true)} disabled={!index}>
        {t("rules")}: {rulesWords(rules)}
      </button>
      <PlaceField {...form} />
      <More {...form} />
      {isReading && <RulesDialog rules={rules} players={seats.length} onClose={() => setReading(false)} />}
    </fieldset>
  );
}

const Title = () => (
  <header class="title">
    <CardRow cards={["3s", "6c", "Td", "2h"]} label="" />
    <h1 lang="vi">{t("title")}</h1>
    <p>{t("subtitle")}</p>
  </header>
);

/** Play, and what was being played. */
function FirstButtons({ isReady, hasGame, onContinue, onReturn }: Props & { isReady: boolean }) {
  return (
    <p class="actions first">
      <button type="submit" class="main start" disabled={!isReady}>
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
  );
}

interface FormProps extends Props {
  chosen: Chosen;
  offer: Offer;
  onChoose: (part: Partial<Chosen>) => void;
}

function RulesField({ chosen: { rules }, offer: { index }, onChoose }: FormProps) {
  const games = index?.games ?? [{ name: "tienlen", presets: [{ name: "cardgames" }] }];
  return (
    <label class="field">
      <span>{t("rules")}</span>
      <select value={rules} onChange={(event) => onChoose({ rules: event.currentTarget.value })}>
        {games.map((one) => (
          <optgroup key={one.name} label={gameWords(one.name)}>
            {knownFirst<{ name: string }>(one.presets).map(({ name }) => (
              <option key={name} value={name} selected={name === rules}>
                {rulesWords(name)}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
      <span class="about">{presetWords(rules)}</span>
    </label>
  );
}

function PlayersField({ offer: { numbers, seats }, onChoose }: FormProps) {
  const seat = (count: string): string[] =>
    Array.from({ length: Number(count) }, (_, i) => seats[i] ?? "champion");
  return (
    <Choice
      label={t("players")}
      value={String(seats.length)}
      options={numbers.map(String)}
      words={(o) => o}
      onChange={(o) => onChoose({ wanted: seat(o) })}
    />
  );
}

/** In the page or on the server, where there is one. */
function PlaceField({ server, chosen, onChoose }: FormProps) {
  if (!server) return null;
  return (
    <Choice
      kind="where"
      label={t("where")}
      value={chosen.isRemote ? "server" : "page"}
      options={["page", "server"] as const}
      words={(o) => t(o === "page" ? "inPage" : "onServer")}
      onChange={(o) => onChoose({ isRemote: o === "server" })}
    />
  );
}

function lengthWords(length: Length): string {
  if (length === "rules") return t("wholeGame");
  if (length === "0") return t("noEnd");
  return length === "1" ? t("oneRound") : t("manyRounds", length);
}

/** Seats, length and pace. */
function More({ chosen, offer, pause, onChoose, onPause }: FormProps) {
  const [isMore, setMore] = useState(false);
  const { seats, agents, hasTarget, rounds } = offer;
  const seatWords = (name: string, i: number): string =>
    name === PERSON ? t(i === 0 ? "you" : "person") : agentWords(name);
  return (
    <details
      class="more"
      open={isMore || chosen.isRemote}
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
          words={(o) => seatWords(o, i)}
          onChange={(o) => onChoose({ wanted: seats.map((old, k) => (k === i ? o : old)) })}
        />
      ))}
      <Choice
        kind="length"
        label={t("rounds")}
        value={rounds}
        options={hasTarget ? ["rules", ...LENGTHS] : LENGTHS}
        words={lengthWords}
        onChange={(length) => onChoose({ length })}
      />
      <Pace value={pause} onChange={onPause} />
    </details>
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

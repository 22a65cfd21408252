/** The explorer: any record, move by move, with what the champion and the search say of it. */
import { useEffect, useState } from "preact/hooks";
import { agentsOf, openLibrary, readRemark, type AgentInfo, type Round } from "./engine.ts";
import { OneRound } from "./explored.tsx";
import { rulesWords, t } from "./i18n.ts";
import { messageOf } from "./model.ts";
import { IconButton } from "./parts.tsx";
import type { LocalGame } from "./stored.ts";

/** `numRecords`: of the rounds that were read; the others are branches, which the reader has played. */
export interface Opened {
  numRecords: number;
  rounds: Round[];
  text: string;
  agents: AgentInfo[];
}
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

interface Place {
  round: number;
  move: number;
}

interface Props {
  initial: string;
  start: Place;
  /** Who sat where, if the link says it: a record does not. */
  names: string[];
  onLeave: () => void;
  onSettings: () => void;
  onPlay: (game: LocalGame) => void;
  pause: number;
}

/** What is open, and where the reader is in it. */
function useOpened(initial: string, start: Place) {
  const [text, setText] = useState(initial);
  const [opened, setOpened] = useState<Opened | null>(null);
  const [error, setError] = useState("");
  const [at, setAt] = useState(start);
  const show = (record: string, place = { round: 0, move: 0 }): void => {
    setText(record);
    setError("");
    open(record).then(
      (found) => {
        setOpened(found);
        setAt({ ...place, round: Math.min(place.round, found.rounds.length - 1) });
      },
      (problem: unknown) => {
        setOpened(null);
        setError(messageOf(problem));
      },
    );
  };
  useEffect(() => {
    if (initial) show(initial, start);
  }, [initial]);
  const round = opened?.rounds[at.round];
  /** Play something else: a branch goes on at its end; elsewhere a new one begins, and the old one is kept. */
  const branch = (from: number, action: number): void => {
    if (!opened || !round) return;
    const next = round.at(from);
    next.play(next.legal().find((play) => play.action === action)!);
    const isSame = at.round >= opened.numRecords && from === round.numPlays;
    const rounds = isSame
      ? opened.rounds.map((one) => (one === round ? next : one))
      : [...opened.rounds, next];
    setOpened({ ...opened, rounds });
    setAt({ round: isSame ? at.round : rounds.length - 1, move: next.numPlays });
  };
  return { text, setText, opened, error, at, setAt, show, round, branch };
}

export function Explorer({ initial, start, names, onLeave, onSettings, onPlay, pause }: Props) {
  const found = useOpened(initial, start);
  const { opened, error, at, setAt, show, round, branch } = found;
  const [seenFrom, setSeenFrom] = useState<string>("all");
  const again = (record: string): void => {
    show(record);
    scrollTo(0, 0);
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
      <OpenRecord {...found} isOpen={!opened} />
      {error && (
        <p class="banner" role="alert">
          {t("badRecord", error)}
        </p>
      )}
      {opened && <Rounds opened={opened} at={at.round} onGo={(n) => setAt({ round: n, move: 0 })} />}
      {opened && round && (
        <OneRound
          {...{ opened, round, seenFrom, onPlay, pause, onBranch: branch, onSeenFrom: setSeenFrom }}
          key={`${opened.text}/${at.round}/${at.round < opened.numRecords ? "" : round.numPlays}`}
          players={opened.text === initial ? names : []}
          number={at.round}
          turn={Math.min(at.move, round.numPlays)}
          onTurn={(move) => setAt({ ...at, move })}
          onShow={again}
        />
      )}
    </main>
  );
}

interface OpenProps {
  text: string;
  setText: (text: string) => void;
  show: (text: string) => void;
  isOpen: boolean;
}

/** A field for a record, a file of records, and an example. */
function OpenRecord({ text, setText, show, isOpen }: OpenProps) {
  const load = (file: File | undefined): void => {
    void file?.text().then(show);
  };
  return (
    <details class="open-record" open={isOpen}>
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
        <button type="button" class="example" onClick={() => show(EXAMPLE)}>
          {t("example")}
        </button>
        <label class="file button">
          {t("recordLoad")}
          <input
            type="file"
            accept=".txt,text/plain"
            onChange={(event) => load(event.currentTarget.files?.[0])}
          />
        </label>
        <button type="button" class="main" onClick={() => show(text)} disabled={!text.trim()}>
          {t("recordShow")}
        </button>
      </p>
    </details>
  );
}

/** The rounds that were read, and the branches. */
function Rounds({ opened, at, onGo }: { opened: Opened; at: number; onGo: (round: number) => void }) {
  if (opened.rounds.length < 2) return null;
  return (
    <nav class="rounds" aria-label={t("rounds")}>
      {opened.rounds.map((_, i) => (
        <button
          type="button"
          key={i}
          aria-current={i === at}
          class={i === at ? "main" : ""}
          onClick={() => onGo(i)}
        >
          {i < opened.numRecords ? i + 1 : `${t("branch")} ${i + 1 - opened.numRecords}`}
        </button>
      ))}
    </nav>
  );
}

/** The page: one screen at a time, chosen by the part of the address after #. */
import { render } from "preact";
import { useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { keepPage } from "./engine.ts";
import type { Invitation } from "./dialogs.tsx";
import { Explorer } from "./explorer.tsx";
import { ChallengeScreen } from "./challenge.tsx";
import { Games } from "./games.tsx";
import { Learn } from "./learn.tsx";
import { Lesson, Puzzles } from "./practice.tsx";
import { LocalHost } from "./local.ts";
import { messageOf, type Host, type TableConfig } from "./model.ts";
import { go, type ScreenProps } from "./parts.tsx";
import { readStored } from "./storage.ts";
import { createTable, findServer, joinToken, RemoteHost, type Welcome } from "./remote.ts";
import { applySettings, loadSettings, SettingsDialog, type Settings } from "./settings.tsx";
import { Setup } from "./setup.tsx";
import { addGame, storedGame, storedGames, type LocalGame } from "./stored.ts";
import { Table } from "./table.tsx";

const readAddress = (): URLSearchParams => new URLSearchParams(location.hash.slice(1));
/** A number of the address; 0 for anything else. */
const numberOf = (text: string | null): number => Math.max(0, Math.trunc(Number(text)) || 0);

// The first of these words in the address names the screen; without one it is the first screen.
const SCREENS = {
  seat: "remote",
  record: "explorer",
  explorer: "explorer",
  table: "table",
  games: "games",
  learn: "learn",
  challenge: "challenge",
  lesson: "lesson",
  puzzle: "puzzle",
} as const;
type Screen = (typeof SCREENS)[keyof typeof SCREENS] | "setup";
const screenOf = (address: URLSearchParams): Screen =>
  Object.entries(SCREENS).find(([word]) => address.has(word))?.[1] ?? "setup";

/** The address, as it changes. */
function useAddress(): URLSearchParams {
  const [address, setAddress] = useState(readAddress);
  // Before the first paint: an ordinary effect runs after it, and would miss a change of the address in between.
  useLayoutEffect(() => {
    const listen = (): void => setAddress(readAddress());
    addEventListener("hashchange", listen);
    return () => removeEventListener("hashchange", listen);
  }, []);
  return address;
}

/** The host of the table that the address names. */
function useHost(address: URLSearchParams): Host | null {
  const [host, setHost] = useState<Host | null>(null);
  const token = address.get("seat"),
    id = address.get("table"),
    screen = screenOf(address);
  useEffect(() => {
    const stored = screen === "table" ? storedGame(id!) : null;
    const made = screen === "remote" ? new RemoteHost(token!) : stored ? new LocalHost(stored, id) : null;
    if (screen === "table" && !made) go("");
    setHost(made);
    return () => made?.close();
  }, [screen, token, id]);
  return host;
}

const first = loadSettings();
applySettings(first);

/** The settings; the words of the page are read while it is drawn, so another language needs nothing else. */
function useSettings(): [Settings, (next: Settings) => void] {
  const [settings, setSettings] = useState(first);
  const change = (next: Settings): void => {
    applySettings(next);
    setSettings(next);
  };
  useMemo(() => applySettings(settings), [settings]);
  return [settings, change];
}

/** The server behind the page, and the tables that are begun. */
function useTables() {
  const [server, setServer] = useState<Welcome | null>(null);
  const [invitations, setInvitations] = useState<Invitation[]>([]);
  const [error, setError] = useState("");
  const fail = (problem: unknown): void => setError(messageOf(problem));
  useEffect(() => {
    findServer().then(setServer, fail);
  }, []);
  const startRemote = async (config: TableConfig): Promise<void> => {
    const [own, ...others] = await createTable(config);
    const base = server?.address || `${location.origin}${location.pathname}`;
    const join = joinToken() ? `&join=${joinToken()}` : "";
    setInvitations(others.map(({ token, seat }) => ({ seat, link: `${base}#seat=${token}${join}` })));
    go(`seat=${own!.token}`);
  };
  const start = (config: TableConfig, isRemote: boolean): void => {
    setError("");
    setInvitations([]);
    if (isRemote) startRemote(config).catch(fail);
    else startLocal({ config, rounds: [], roundsSeen: 0 });
  };
  return { server, invitations, error, start };
}
const startLocal = (game: LocalGame): void => go(`table=${addGame(game)}`);

/** The part of the address that opens the explorer at the last round. */
function exploreAddress(records: string[], { view }: Host): string {
  const names = view!.seats.map(({ name }) => name.replaceAll(",", " ")).join(",");
  const last = records.filter((line) => !line.startsWith("#")).length - 1;
  return `record=${encodeURIComponent(records.join("\n"))}&round=${last}&names=${encodeURIComponent(names)}`;
}

interface PageProps extends ScreenProps {
  address: URLSearchParams;
  tables: ReturnType<typeof useTables>;
  onSet: (settings: Settings) => void;
}

/** The screen that the address names. */
function Page({ address, tables, onSet, ...screen }: PageProps) {
  const host = useHost(address);
  const of = (word: string): string => address.get(word) ?? "";
  switch (screenOf(address)) {
    case "explorer":
      return <ExplorerScreen {...screen} address={address} />;
    case "remote":
    case "table":
      return host && <TableScreen {...screen} {...tables} host={host} id={address.get("table")} />;
    case "lesson":
      return <Lesson {...screen} />;
    case "games":
      return <Games {...screen} />;
    case "learn":
      return <Learn key={of("learn")} id={of("learn")} {...screen} />;
    case "challenge":
      return <ChallengeScreen key={of("challenge")} number={numberOf(of("challenge"))} {...screen} />;
    case "puzzle":
      return <Puzzles key={of("puzzle")} wanted={of("puzzle")} {...screen} />;
    default:
      return <SetupScreen {...screen} tables={tables} onSet={onSet} />;
  }
}

function ExplorerScreen({ address, settings, ...exits }: ScreenProps & { address: URLSearchParams }) {
  return (
    <Explorer
      initial={address.get("record") ?? ""}
      start={{ round: numberOf(address.get("round")), move: numberOf(address.get("move")) }}
      names={(address.get("names") ?? "").split(",").filter(Boolean)}
      onPlay={startLocal}
      pause={settings.pause}
      {...exits}
    />
  );
}

interface TableProps extends ScreenProps {
  host: Host;
  /** The number of a game in the page. */
  id: string | null;
  server: Welcome | null;
  invitations: Invitation[];
}
function TableScreen({ host, id, server, invitations, ...screen }: TableProps) {
  return (
    <Table
      host={host}
      invitations={invitations}
      isOpen={Boolean(server?.address)}
      {...screen}
      {...(id === null ? {} : { onLearn: () => go(`learn=${id}`) })}
      onExplore={(records) => go(exploreAddress(records, host))}
    />
  );
}

function SetupScreen({ settings, tables, onSet, onSettings }: Omit<PageProps, "address">) {
  const { server, error, start } = tables;
  const unfinished = storedGames().find(({ game }) => !game.result);
  const seat = readStored("server"); // the last one at a table of the server
  return (
    <>
      {error && (
        <p class="banner" role="alert">
          {error}
        </p>
      )}
      <Setup
        server={server}
        pause={settings.pause}
        hasGame={unfinished !== undefined}
        onPause={(pause) => onSet({ ...settings, pause })}
        onStart={start}
        onContinue={() => go(`table=${unfinished!.id}`)}
        onReturn={server && typeof seat === "string" ? () => go(`seat=${seat}`) : null}
        onSettings={onSettings}
      />
    </>
  );
}

function App() {
  const address = useAddress();
  const [settings, change] = useSettings();
  const [isSetting, setSetting] = useState(false);
  const tables = useTables();
  const screen = { settings, onLeave: () => go(""), onSettings: () => setSetting(true) };
  return (
    <>
      <Page {...screen} address={address} tables={tables} onSet={change} />
      {isSetting && (
        <SettingsDialog settings={settings} onChange={change} onClose={() => setSetting(false)} />
      )}
    </>
  );
}

const root = document.getElementById("app")!;
root.replaceChildren(); // what stands there if no script runs
render(<App />, root);
addEventListener("load", keepPage);

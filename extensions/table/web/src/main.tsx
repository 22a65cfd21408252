/** The page: one screen at a time, chosen by the part of the address after #. */
import { render } from "preact";
import { useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { keepPage } from "./engine.ts";
import { Explorer } from "./explorer.tsx";
import { ChallengeScreen, Games, Learn } from "./games.tsx";
import { Lesson, Puzzles } from "./practice.tsx";
import { addGame, LocalHost, storedGame, storedGames, type LocalGame } from "./local.ts";
import { messageOf, type Host, type TableConfig } from "./model.ts";
import { applySettings, go, loadSettings, SettingsDialog, type Settings } from "./parts.tsx";
import { readStored } from "./storage.ts";
import { createTable, findServer, joinToken, RemoteHost, type Welcome } from "./remote.ts";
import { Setup } from "./setup.tsx";
import { Table } from "./table.tsx";

const readAddress = (): URLSearchParams => new URLSearchParams(location.hash.slice(1));
/** A number of the address; 0 for anything else. */
const numberOf = (text: string | null): number => Math.max(0, Math.trunc(Number(text)) || 0);
interface Invitation {
  seat: number | null;
  link: string;
}

const first = loadSettings();
applySettings(first);

function App() {
  const [address, setAddress] = useState(readAddress);
  const [settings, setSettings] = useState(first);
  const [isSetting, setSetting] = useState(false);
  const [server, setServer] = useState<Welcome | null>(null);
  const [host, setHost] = useState<Host | null>(null);
  const [invitations, setInvitations] = useState<Invitation[]>([]);
  const [error, setError] = useState("");

  // Before the first paint: an ordinary effect runs after it, and would miss a change of the address in between.
  useLayoutEffect(() => {
    const listen = (): void => setAddress(readAddress());
    addEventListener("hashchange", listen);
    return () => removeEventListener("hashchange", listen);
  }, []);
  useEffect(() => {
    findServer().then(setServer, (problem: unknown) => setError(messageOf(problem)));
  }, []);
  const change = (next: Settings): void => {
    applySettings(next);
    setSettings(next);
  };
  // The words of the page are read while it is drawn, so another language needs nothing else.
  useMemo(() => applySettings(settings), [settings]);

  const token = address.get("seat");
  const screen = token
    ? "remote"
    : address.has("record") || address.has("explorer")
      ? "explorer"
      : address.has("table")
        ? "table"
        : address.has("games")
          ? "games"
          : address.has("learn")
            ? "learn"
            : address.has("challenge")
              ? "challenge"
              : address.has("lesson")
                ? "lesson"
                : address.has("puzzle")
                  ? "puzzle"
                  : "setup";
  useEffect(() => {
    let made: Host | null = null;
    if (screen === "remote") made = new RemoteHost(token!);
    else if (screen === "table") {
      const id = address.get("table")!,
        stored = storedGame(id);
      if (stored) made = new LocalHost(stored, id);
      else go("");
    }
    setHost(made);
    return () => made?.close();
  }, [screen, token, address.get("table")]);

  const startLocal = (game: LocalGame): void => go(`table=${addGame(game)}`);
  const unfinished = screen === "setup" ? storedGames().find(({ game }) => !game.result) : undefined;
  const start = (config: TableConfig, isRemote: boolean): void => {
    setError("");
    setInvitations([]);
    if (!isRemote) startLocal({ config, rounds: [], roundsSeen: 0 });
    else
      createTable(config).then(
        (tokens) => {
          const [own, ...others] = tokens;
          const base = server?.address || `${location.origin}${location.pathname}`;
          setInvitations(
            others.map(({ token: other, seat }) => {
              const join = joinToken();
              return { seat, link: `${base}#seat=${other}${join ? `&join=${join}` : ""}` };
            }),
          );
          go(`seat=${own!.token}`);
        },
        (problem: unknown) => setError(messageOf(problem)),
      );
  };
  const seat = readStored("server"); // the last one at a table of the server
  const exits = { onLeave: () => go(""), onSettings: () => setSetting(true) };
  const screenProps = { settings, ...exits };
  const page =
    screen === "explorer" ? (
      <Explorer
        initial={address.get("record") ?? ""}
        start={{ round: numberOf(address.get("round")), move: numberOf(address.get("move")) }}
        names={(address.get("names") ?? "").split(",").filter(Boolean)}
        {...exits}
        onPlay={startLocal}
        pause={settings.pause}
      />
    ) : host ? (
      <Table
        host={host}
        settings={settings}
        invitations={invitations}
        isOpen={Boolean(server?.address)}
        {...exits}
        {...(address.has("table") ? { onLearn: () => go(`learn=${address.get("table")}`) } : {})}
        onExplore={(records) =>
          go(
            `record=${encodeURIComponent(records.join("\n"))}&round=${records.filter((line) => line[0] !== "#").length - 1}&names=${encodeURIComponent(host.view!.seats.map(({ name }) => name.replaceAll(",", " ")).join(","))}`,
          )
        }
      />
    ) : screen === "lesson" ? (
      <Lesson {...screenProps} />
    ) : screen === "games" ? (
      <Games {...screenProps} />
    ) : screen === "learn" ? (
      <Learn key={address.get("learn")} id={address.get("learn")!} {...screenProps} />
    ) : screen === "challenge" ? (
      <ChallengeScreen
        key={address.get("challenge")}
        number={numberOf(address.get("challenge"))}
        {...screenProps}
      />
    ) : screen === "puzzle" ? (
      <Puzzles key={address.get("puzzle")} wanted={address.get("puzzle")!} {...screenProps} />
    ) : (
      screen === "setup" && (
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
            onPause={(pause) => change({ ...settings, pause })}
            onStart={start}
            onContinue={() => go(`table=${unfinished!.id}`)}
            onReturn={server && typeof seat === "string" ? () => go(`seat=${seat}`) : null}
            onSettings={() => setSetting(true)}
          />
        </>
      )
    );
  return page ? (
    <>
      {page}
      {isSetting && (
        <SettingsDialog settings={settings} onChange={change} onClose={() => setSetting(false)} />
      )}
    </>
  ) : null;
}

const root = document.getElementById("app")!;
root.replaceChildren(); // what stands there if no script runs
render(<App />, root);
addEventListener("load", keepPage);

/** The page: one screen at a time, chosen by the part of the address after #. */
import { render } from "preact";
import { useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { Explorer } from "./explorer.tsx";
import { LocalHost, storedGame, type LocalGame } from "./local.ts";
import { messageOf, type Host, type TableConfig } from "./model.ts";
import { applySettings, loadSettings, SettingsDialog, type Settings } from "./parts.tsx";
import { createTable, findServer, RemoteHost, type Welcome } from "./remote.ts";
import { Setup } from "./setup.tsx";
import { Table } from "./table.tsx";

const readAddress = (): URLSearchParams => new URLSearchParams(location.hash.slice(1));
const go = (hash: string): void => { location.hash = hash; };
interface Invitation { seat: number; link: string }

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
  const change = (next: Settings): void => { applySettings(next); setSettings(next); };
  // The words of the page are read while it is drawn, so another language needs nothing else.
  useMemo(() => applySettings(settings), [settings]);

  const token = address.get("seat");
  const screen = token ? "remote" : address.has("record") || address.has("explorer") ? "explorer" : address.has("table") ? "table" : "setup";
  useEffect(() => {
    let made: Host | null = null;
    if (screen === "remote") made = new RemoteHost(token!);
    else if (screen === "table") {
      const stored = storedGame();
      if (stored) made = new LocalHost(stored);
      else go("");
    }
    setHost(made);
    return () => made?.close();
  }, [screen, token, address.get("table")]);

  const startLocal = (game: LocalGame): void => {
    localStorage.setItem("game", JSON.stringify(game));
    go(`table=${Date.now()}`);
  };
  const start = (config: TableConfig, isRemote: boolean): void => {
    setError("");
    setInvitations([]);
    if (!isRemote) return startLocal({ config, rounds: [], roundsSeen: 0 });
    createTable(config).then((tokens) => {
      const [own, ...others] = tokens;
      const base = `${location.origin}${location.pathname}`;
      setInvitations(others.filter(({ seat }) => seat !== null).map(({ token: other, seat }) => {
        const join = sessionStorage.getItem("join");
        return { seat: seat!, link: `${base}#seat=${other}${join ? `&join=${join}` : ""}` };
      }));
      go(`seat=${own!.token}`);
    }, (problem: unknown) => setError(messageOf(problem)));
  };
  const settingsDialog = isSetting && <SettingsDialog settings={settings} onChange={change} onClose={() => setSetting(false)} />;

  if (screen === "explorer") return <>
    <Explorer initial={address.get("record") ?? ""} start={{ round: Number(address.get("round") ?? 0), move: Number(address.get("move") ?? 0) }}
      onLeave={() => go("")} onSettings={() => setSetting(true)} onPlay={startLocal} pause={settings.pause} />
    {settingsDialog}
  </>;
  if (host) return <>
    <Table host={host} settings={settings} invitations={invitations} onLeave={() => go("")} onSettings={() => setSetting(true)}
      onExplore={(records) => go(`record=${encodeURIComponent(records.join("\n"))}&round=${records.length - 1}`)} />
    {settingsDialog}
  </>;
  if (screen !== "setup") return null;
  return <>
    {error && <p class="banner" role="alert">{error}</p>}
    <Setup server={server} pause={settings.pause} hasGame={storedGame() !== null} onPause={(pause) => change({ ...settings, pause })} onStart={start}
      onContinue={() => go(`table=${Date.now()}`)} onExplore={() => go("explorer")} onSettings={() => setSetting(true)} />
    {settingsDialog}
  </>;
}

render(<App />, document.getElementById("app")!);

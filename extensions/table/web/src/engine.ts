/** The compiled games and their agents, which are built from Python into `engine/`. */
import { AgentClient } from "../../tienlen_table/wasm/client.mjs";
import { Library, type AgentInfo, type SeatView as BaseView } from "../../tienlen_table/wasm/rounds.mjs";
import { messageOf } from "./model.ts";

export type { Advice, AgentClient } from "../../tienlen_table/wasm/client.mjs";
export type {
  AgentInfo,
  Index,
  Library,
  LoadedGame,
  Payment,
  Round,
  RoundData,
} from "../../tienlen_table/wasm/rounds.mjs";

/** What a seat sees, with the facts of Tiến lên and of Thirteens; another game has neither. */
export interface SeatView extends BaseView {
  table?: string;
  owner?: number | null;
  must?: string;
  passed?: number[];
  trick?: string;
  leader?: number;
  winner?: number | null;
  aside?: string;
  starter?: string;
  pile?: string;
  last_winner?: number | null;
  last_pile?: string;
  tricks?: number[];
}

/** Whether an agent plays the rules with that number of players. */
export const playsRules = (agent: AgentInfo, rules: string, players: number): boolean =>
  agent.tables.some(([name, number]) => name === rules && number === players);

/** The agents of the page that play the rules with that number of players. */
export const agentsOf = (library: Library, rules: string, players: number): AgentInfo[] =>
  library.index.games.flatMap(({ agents }) => agents).filter((agent) => playsRules(agent, rules, players));

/** Who gives advice there: the champion, or where it does not play the search. */
export const adviserOf = (agents: AgentInfo[]): AgentInfo | undefined =>
  agents.find(({ scores }) => scores === "probabilities") ?? agents.find(({ scores }) => scores === "points");

/** Who plays for an agent that is still being loaded: the strongest one without weights. */
export const standInOf = (agents: AgentInfo[]): string | undefined =>
  agents.filter(({ scores }) => scores === "none").at(-1)?.name;

const base = new URL("engine/", document.baseURI);
let library: Promise<Library> | null = null;
let client: AgentClient | null = null;
const files = new Map<string, Promise<Uint8Array>>();
const OWN_RULES = /^[0-9a-f]+\.json$/; // only a remark beside a record has them
const RETRY = [1000, 3000]; // milliseconds before a file is asked for again

/** A file of the engine, loaded once for the page and its worker; tried again after a failure. */
export function readFile(name: string, onProgress: (bytes: number) => void = () => {}): Promise<Uint8Array> {
  let found = files.get(name);
  if (!found && OWN_RULES.test(name)) return Promise.reject(new Error(`${name}: no tables of these rules`));
  if (!found) {
    found = load(name, onProgress, 0);
    files.set(name, found);
    found.catch(() => files.delete(name));
  }
  return found;
}

const REMARK = /^# rules ([0-9a-f]+) (\S+)$/;

/** Read a line that says what rules of one's own are (Python's `rules_remark`): the file of their tables. */
export async function readRemark(line: string): Promise<void> {
  const [, digest, text] = REMARK.exec(line) ?? [];
  if (!digest || !text) return;
  try {
    const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const bytes = await new Response(
      new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip")),
    ).arrayBuffer();
    files.set(`${digest}.json`, Promise.resolve(new Uint8Array(bytes)));
  } catch {
    throw new Error(`# rules ${digest}: the line is damaged`);
  }
}

const NETWORKS = "networks"; // the cache of weights: the service worker answers from it (`sw.js`)

async function load(name: string, onProgress: (bytes: number) => void, tries: number): Promise<Uint8Array> {
  try {
    if (!name.endsWith(".safetensors")) return await unpacked(name, onProgress);
    const bytes = await whole(await answerOf(name), onProgress);
    keepNetwork(name, bytes);
    return bytes;
  } catch (error) {
    if (tries >= RETRY.length) throw new Error(`${name}: ${messageOf(error)}`);
    await new Promise((done) => setTimeout(done, RETRY[tries]));
    return load(name, onProgress, tries + 1);
  }
}

async function answerOf(name: string): Promise<Response> {
  const answer = await fetch(new URL(name, base));
  if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
  return answer;
}

/** A file by its compressed copy, which lies beside it; by itself where a host has left the copies out. */
async function unpacked(name: string, onProgress: (bytes: number) => void): Promise<Uint8Array> {
  const packed = await fetch(new URL(`${name}.gz`, base));
  if (!packed.ok) return whole(await answerOf(name), onProgress);
  const bytes = await whole(packed, onProgress);
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes; // the host said what it is, and the browser has unpacked it
  return whole(new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))));
}

/** All bytes of an answer. */
async function whole(
  answer: Response,
  onProgress: (bytes: number) => void = () => {},
): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for (const reader = answer.body!.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    onProgress((length += value.length));
  }
  const bytes = new Uint8Array(length);
  parts.reduce((at, part) => (bytes.set(part, at), at + part.length), 0);
  return bytes;
}

/** Keep weights for a start without a network, and those alone. A browser without storage keeps none. */
function keepNetwork(name: string, bytes: Uint8Array<ArrayBuffer>): void {
  if (!("caches" in globalThis)) return; // not a secure address
  void (async () => {
    const cache = await caches.open(NETWORKS);
    await cache.put(new URL(name, base), new Response(bytes));
  })().catch(() => {});
}

/** Register the service worker (`sw.js`), which stores the page for later; a game does not wait for it. */
export function keepPage(): void {
  if (navigator.serviceWorker as ServiceWorkerContainer | undefined)
    navigator.serviceWorker.register("sw.js").catch(() => {});
}

/** The games, loaded once. */
export function openLibrary(): Promise<Library> {
  library ??= Library.open(base, readFile).catch((error: unknown) => {
    library = null; // so that it can be tried again
    throw error;
  });
  return library;
}

/** The engine's names of the actions of some rules, by id, and its reasons why a play is refused. */
export interface EngineWords {
  actions: string[];
  reasons: readonly (readonly [string, string])[];
}
export async function engineWords(rules: string, players: number): Promise<EngineWords> {
  const game = await (await openLibrary()).loadRules(rules);
  return { actions: game.actionTexts(rules, players), reasons: game.words.reasons };
}

/** The agents, in a worker of their own, started once. */
export function openAgents(): AgentClient {
  client ??= new AgentClient(base, "worker.js", readFile);
  return client;
}

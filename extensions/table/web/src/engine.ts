/** The compiled games and their agents, which are built from Python into `engine/`. */
import { AgentClient } from "../../tienlen_table/wasm/client.mjs";
import { Library, type AgentInfo, type SeatView as BaseView } from "../../tienlen_table/wasm/rounds.mjs";

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

async function load(name: string, onProgress: (bytes: number) => void, tries: number): Promise<Uint8Array> {
  try {
    const answer = await fetch(new URL(name, base));
    if (!answer.ok || !answer.body) throw new Error(`${answer.status} ${answer.statusText}`);
    const parts: Uint8Array[] = [];
    let length = 0;
    for (const reader = answer.body.getReader(); ;) {
      const { done, value } = await reader.read();
      if (done) break;
      parts.push(value);
      onProgress((length += value.length));
    }
    const whole = new Uint8Array(length);
    parts.reduce((at, part) => (whole.set(part, at), at + part.length), 0);
    return whole;
  } catch (error) {
    if (tries >= RETRY.length)
      throw new Error(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    await new Promise((done) => setTimeout(done, RETRY[tries]));
    return load(name, onProgress, tries + 1);
  }
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

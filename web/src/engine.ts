/** The compiled games and their agents: `engine/rounds.mjs` and `engine/client.mjs`, which are built from Python. */
import type { AgentClient } from "../../agents/tienlen_agents/wasm/client.mjs";
import type { AgentInfo, Library, SeatView as BaseView } from "../../agents/tienlen_agents/wasm/rounds.mjs";

export type { Advice, AgentClient } from "../../agents/tienlen_agents/wasm/client.mjs";
export type { AgentInfo, Index, Library, LoadedGame, Payment, Round, RoundData } from "../../agents/tienlen_agents/wasm/rounds.mjs";

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

/** Whether an agent plays these rules with so many players. */
export const playsRules = (agent: AgentInfo, rules: string, players: number): boolean =>
  agent.tables.some(([name, number]) => name === rules && number === players);

/** The agents of the page that play these rules with so many players. */
export const agentsOf = (library: Library, rules: string, players: number): AgentInfo[] =>
  library.index.games.flatMap(({ agents }) => agents).filter((agent) => playsRules(agent, rules, players));

/** Who gives advice there: the champion, or where it does not play the search. */
export const adviserOf = (agents: AgentInfo[]): AgentInfo | undefined =>
  agents.find(({ scores }) => scores === "probabilities") ?? agents.find(({ scores }) => scores === "points");

const base = new URL("engine/", document.baseURI);
let library: Promise<Library> | null = null;
let client: Promise<AgentClient> | null = null;

/** The games, loaded once. */
export function openLibrary(): Promise<Library> {
  library ??= import(new URL("rounds.mjs", base).href).then(
    (module: { Library: { open(base: URL): Promise<Library> } }) => module.Library.open(base),
  );
  return library;
}

/** The agents, in a worker of their own, started once. */
export function openAgents(): Promise<AgentClient> {
  client ??= import(new URL("client.mjs", base).href).then(
    (module: { AgentClient: new (base: URL) => AgentClient }) => new module.AgentClient(base),
  );
  return client;
}

/** The compiled games and their agents, which are built from Python into `engine/`. */
import { AgentClient } from "../../agents/tienlen_agents/wasm/client.mjs";
import { Library, type AgentInfo, type SeatView as BaseView } from "../../agents/tienlen_agents/wasm/rounds.mjs";

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

/** Whether an agent plays the rules with that number of players. */
export const playsRules = (agent: AgentInfo, rules: string, players: number): boolean =>
  agent.tables.some(([name, number]) => name === rules && number === players);

/** The agents of the page that play the rules with that number of players. */
export const agentsOf = (library: Library, rules: string, players: number): AgentInfo[] =>
  library.index.games.flatMap(({ agents }) => agents).filter((agent) => playsRules(agent, rules, players));

/** Who gives advice there: the champion, or where it does not play the search. */
export const adviserOf = (agents: AgentInfo[]): AgentInfo | undefined =>
  agents.find(({ scores }) => scores === "probabilities") ?? agents.find(({ scores }) => scores === "points");

const base = new URL("engine/", document.baseURI);
let library: Promise<Library> | null = null;
let client: AgentClient | null = null;

/** The games, loaded once. */
export function openLibrary(): Promise<Library> {
  library ??= Library.open(base).catch((error: unknown) => {
    library = null; // so that it can be tried again
    throw error;
  });
  return library;
}

/** The engine's names of the actions of some rules, by id, and its reasons why a play is refused. */
export interface EngineWords { actions: string[]; reasons: readonly (readonly [string, string])[] }
export async function engineWords(rules: string, players: number): Promise<EngineWords> {
  const game = await (await openLibrary()).loadRules(rules);
  return { actions: game.actionTexts(rules, players), reasons: game.words.reasons };
}

/** The agents, in a worker of their own, started once. */
export function openAgents(): AgentClient {
  client ??= new AgentClient(base, "worker.js");
  return client;
}

/** The compiled games: what the page uses of `engine/rounds.mjs` and `engine/client.mjs`, which are built from Python. */

export interface LegalPlay { action: number; cards: number[]; text: string }
export interface PlayEvent { seat: number; action: number; cards: number[]; text: string; isOver: boolean }
export interface RoundData {
  rules: string;
  num_players: number;
  key: string;
  hands?: string[];
  round: number;
  leader: number | null;
  scores: number[] | null;
  plays: { action: number; cards: string }[];
}
export interface SeatView {
  seat: number | null;
  current_seat: number | null;
  hand: string;
  counts: number[];
  places: (number | null)[];
  scores: number[];
  legal: string[];
  legal_ids: number[];
  table?: string;
  owner?: number | null;
  must?: string;
  passed?: number[];
  played?: string[];
  trick?: string;
  leader?: number;
  winner?: number | null;
  pile?: string;
}
export interface Round {
  readonly data: RoundData;
  readonly currentSeat: number;
  readonly isOver: boolean;
  readonly places: (number | null)[];
  readonly scores: number[];
  readonly numPlays: number;
  readonly nextLeader: number | null;
  readonly gameIsOver: boolean;
  legal(): LegalPlay[];
  find(cards: number[]): LegalPlay | null;
  extensions(cards: number[]): LegalPlay[];
  play(play: number | LegalPlay): PlayEvent;
  undo(count?: number): void;
  at(numPlays: number): Round;
  view(seat: number | null): SeatView;
  history(): { seat: number; action: number; cards: number[]; text: string }[];
  hands(): string[];
  record(): string;
  free(): void;
}
export interface LoadedGame {
  readonly name: string;
  readonly cards: string[];
  newKey(): string;
  round(start: {
    rules: string; num_players: number; key?: string; round?: number; leader?: number | null; scores?: number[] | null;
  }): Round;
  fromData(data: RoundData): Round;
  fromRecord(line: string): Round;
}
export interface AgentInfo { name: string; scores: "none" | "points"; tables: [string, number][] }
export interface Index {
  games: { name: string; presets: { name: string; num_players: number[] }[]; agents: AgentInfo[] }[];
}
export interface Library {
  readonly index: Index;
  load(game: string): Promise<LoadedGame>;
  loadRules(rules: string): Promise<LoadedGame>;
  loadRecord(line: string): Promise<LoadedGame>;
}
export interface AdvisedPlay extends LegalPlay {
  probability: number | null;
  points: number | null;
  error: number | null;
  behind: number | null;
  behind_error: number | null;
}
export interface Advice { agent: string; seat: number; choice: number; plays: AdvisedPlay[]; ms: number }
export interface Choice { agent: string; seat: number; action: number; cards: number[]; text: string; ms: number }
export interface AgentOptions { seed?: number; worlds?: number; signal?: AbortSignal }
export interface AgentClient {
  choose(data: RoundData, agent: string, options?: AgentOptions): Promise<Choice>;
  advise(data: RoundData, agent: string, options?: AgentOptions): Promise<Advice>;
  close(): void;
}

/** Whether an agent plays these rules with so many players. */
export const playsRules = (agent: AgentInfo, rules: string, players: number): boolean =>
  agent.tables.some(([name, number]) => name === rules && number === players);

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

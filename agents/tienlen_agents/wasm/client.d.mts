/** Types of `client.mjs`. */
import type { LegalPlay, RoundData } from "./rounds.mjs";

export interface AgentOptions {
  /** Of the random numbers; the same seed gives the same choice. */
  seed?: number;
  /** Worlds that a search samples; 0: a network alone. */
  worlds?: number;
}

export interface Choice extends LegalPlay {
  agent: string;
  seat: number;
  /** Milliseconds in the worker. */
  ms: number;
}

export interface AdvisedPlay extends LegalPlay {
  /** By the network. */
  probability: number | null;
  /** Expected points of the round, and their standard error: plus and minus 1.96 of it is a 95 % interval. */
  points: number | null;
  error: number | null;
  /** Points behind the play with the most, and the standard error of this difference in the same worlds. */
  behind: number | null;
  behind_error: number | null;
}

export interface Advice {
  agent: string;
  seat: number;
  /** Index in `plays` of the agent's choice; of a search without a network: the play with the most points. */
  choice: number;
  plays: AdvisedPlay[];
  /** Worlds that were sampled. */
  worlds: number;
  ms: number;
}

export class AgentClient {
  /**
   * Start a worker; `base` is the folder of the files (default: that of this module), `script` the worker's file in it
   * (default: `worker.mjs`).
   */
  constructor(base?: string | URL, script?: string);
  choose(data: RoundData, agent: string, options?: AgentOptions & { signal?: AbortSignal }): Promise<Choice>;
  advise(data: RoundData, agent: string, options?: AgentOptions & { signal?: AbortSignal }): Promise<Advice>;
  close(): void;
}

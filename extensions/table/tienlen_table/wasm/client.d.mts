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
  /** Expected points of the round, and half the width of their 95 % interval; 0 if all worlds were evaluated. */
  points: number | null;
  half_width: number | null;
  /**
   * What the play earns less than the best one, and half the width of its 95 % interval. Other worlds than those that
   * judge it have chosen the best play, so it may be below 0.
   */
  loss: number | null;
  loss_half_width: number | null;
}

export interface Advice {
  agent: string;
  seat: number;
  /** Index in `plays` of the agent's choice; of a search without a network: the best play, see `loss`. */
  choice: number;
  plays: AdvisedPlay[];
  /** Worlds that were evaluated. */
  worlds: number;
  ms: number;
}

export class AgentClient {
  /**
   * Start a worker; `base` is the folder of the files (default: that of this module), `script` the worker's file in it
   * (default: `worker.mjs`); `read` reads a file of the folder, so that page and worker load each only once.
   */
  constructor(base?: string | URL, script?: string, read?: (name: string) => Promise<Uint8Array>);
  choose(data: RoundData, agent: string, options?: AgentOptions & { signal?: AbortSignal }): Promise<Choice>;
  advise(data: RoundData, agent: string, options?: AgentOptions & { signal?: AbortSignal }): Promise<Advice>;
  close(): void;
}

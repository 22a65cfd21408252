/** Types of `agents.mjs`: the agents without a worker, for Node. */
import type { Advice, AgentOptions, Choice } from "./client.mjs";
import type { Library, Round } from "./rounds.mjs";

export class Agents {
  constructor(library: Library);
  /** Load what an agent needs for the rules of a round; await it before the first call. */
  prepare(round: Round, name: string): Promise<void>;
  choose(round: Round, name: string, options?: AgentOptions): Choice;
  advise(round: Round, name: string, options?: AgentOptions): Advice;
}

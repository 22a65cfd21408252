/** What the search says of the plays of a round, and agents that play a round to its end. */
import type { Advice, AgentClient, Round, RoundData } from "./engine.ts";

/** One decision of a round: what was played, and what the search expects of it and of its best play. */
export interface Judged {
  turn: number;
  seat: number;
  played: string;
  best: string;
  points: number;
  bestPoints: number;
  loss: number;
  lossHalfWidth: number;
  /** The loss was among the largest, and stands as other deals have judged it. */
  isChecked: boolean;
}

/**
 * Losses that are checked by default: the largest of many estimates are too large, so each is judged again on other
 * deals. What counts plays without a loss must check every one.
 */
const NUM_LOSSES = 3;

const key = (cards: number[]): string => cards.join(",");

/** The advice of a position that a played move belongs to: the same cards, or the same action. */
export function adviceOf(
  advice: Advice,
  action: number,
  cards: number[],
): Advice["plays"][number] | undefined {
  return (
    advice.plays.find((play) => key(play.cards) === key(cards)) ??
    advice.plays.find((play) => play.action === action)
  );
}

/** How the search judges. */
export interface Judging {
  worlds: number;
  /** A seat whose decisions alone are judged. */
  only?: number;
  /** How many losses are checked. */
  numLosses?: number;
}

/** Judge one decision; null: it is another seat's, or there was no choice. Deals of another seed are other ones. */
async function judgeOne(
  agents: AgentClient,
  round: Round,
  turn: number,
  options: { worlds: number; seed: number; signal: AbortSignal },
): Promise<Judged | null> {
  const { seat, text, action, cards } = round.history()[turn]!;
  const before = round.at(turn);
  const data: RoundData = before.data;
  const isChoice = before.legal().length > 1;
  before.free();
  if (!isChoice) return null;
  const { plays, choice } = await agents.advise(data, "search", options);
  const mine = adviceOf({ plays } as Advice, action, cards),
    best = plays[choice];
  if (mine?.points == null || best?.points == null) return null;
  return {
    turn,
    seat,
    played: text,
    best: best.text,
    points: mine.points,
    bestPoints: best.points,
    loss: mine.loss!,
    lossHalfWidth: mine.loss_half_width!,
    isChecked: options.seed > 1,
  };
}

/** Judge every decision with a choice, one after the other; `report` is called after each. */
export async function judge(
  agents: AgentClient,
  round: Round,
  { worlds, only, numLosses = NUM_LOSSES }: Judging,
  signal: AbortSignal,
  report: (found: Judged[], done: number) => void,
): Promise<void> {
  const found: Judged[] = [],
    seats = round.history().map(({ seat }) => seat);
  for (let turn = 0; turn < seats.length && !signal.aborted; turn++) {
    if (only !== undefined && seats[turn] !== only) continue;
    const one = await judgeOne(agents, round, turn, { worlds, seed: 1, signal });
    if (one) found.push(one);
    report([...found], turn + 1);
  }
  const losses = found.filter(({ loss }) => loss > 0).sort((a, b) => b.loss - a.loss);
  for (const { turn } of losses.slice(0, numLosses)) {
    if (signal.aborted) return;
    const one = await judgeOne(agents, round, turn, { worlds, seed: 2, signal });
    if (one) found[found.findIndex((other) => other.turn === turn)] = one;
    report([...found], seats.length);
  }
}

/** Play the rest of a round by agents, one a seat. */
export async function playOut(
  agents: AgentClient,
  round: Round,
  seats: string[],
  signal: AbortSignal,
  seedOf = (plays: number): number => plays,
): Promise<void> {
  while (!round.isOver && !signal.aborted) {
    const choice = await agents.choose(round.data, seats[round.currentSeat]!, {
      seed: seedOf(round.numPlays),
      signal,
    });
    round.play(round.find(choice.cards) ?? choice.action);
  }
}

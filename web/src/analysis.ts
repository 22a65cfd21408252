/** What agents say of a round: at one position, and over all of it. */
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
  lossError: number;
}

const key = (cards: number[]): string => cards.join(",");

/** The advice of a position that a played move belongs to: the same cards, or the same action. */
export function adviceOf(advice: Advice, action: number, cards: number[]): Advice["plays"][number] | undefined {
  return advice.plays.find((play) => key(play.cards) === key(cards)) ?? advice.plays.find((play) => play.action === action);
}

/** Judge every decision with a choice, one after the other; `report` is called after each. */
export async function judge(
  agents: AgentClient, round: Round, agent: string, worlds: number, signal: AbortSignal,
  report: (found: Judged[], done: number) => void,
): Promise<void> {
  const found: Judged[] = [];
  for (const [turn, { seat, text, action, cards }] of round.history().entries()) {
    if (signal.aborted) return;
    const before = round.at(turn);
    const data: RoundData = before.data;
    const isChoice = before.legal().length > 1;
    before.free();
    if (isChoice) {
      const advice = await agents.advise(data, agent, { worlds, seed: 1, signal });
      const mine = adviceOf(advice, action, cards);
      const best = [...advice.plays].sort((a, b) => (b.points ?? -Infinity) - (a.points ?? -Infinity))[0];
      if (mine?.points != null && best?.points != null)
        found.push({
          turn, seat, played: text, best: best.text, points: mine.points, bestPoints: best.points,
          loss: mine.behind ?? best.points - mine.points, lossError: mine.behind_error ?? 0,
        });
    }
    report([...found], turn + 1);
  }
}

/** Play the rest of a round by agents, one a seat. */
export async function playOut(agents: AgentClient, round: Round, seats: string[], signal: AbortSignal): Promise<void> {
  while (!round.isOver && !signal.aborted) {
    const choice = await agents.choose(round.data, seats[round.currentSeat]!, { seed: round.numPlays, signal });
    round.play(round.find(choice.cards) ?? choice.action);
  }
}

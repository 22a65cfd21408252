/** What a table says in words: names, standings, what has happened, why cards are refused. */
import type { EngineWords, Round } from "./engine.ts";
import {
  agentWords,
  cardsSigns,
  cardsWords,
  comboWords,
  estimateText,
  namedPlay,
  placeText,
  pointsText,
  refusalWords,
  t,
  unitsText,
} from "./i18n.ts";
import { cardsOf, isCards, PERSON, playsOf, type TableView } from "./model.ts";
import { endedRound, isChop } from "./shown.ts";

/** The name of a seat; the seat `you` is called "You", no seat if `you` is null. */
export function nameOf(seat: number, { seats, seat: own }: TableView, you = own): string {
  if (seat === you) return t("you");
  const info = seats[seat]!;
  if (info.is_person) return info.name === PERSON ? t("player", seat + 1) : info.name;
  const name = agentWords(info.name);
  const same = seats.filter((other, i) => i !== you && other.name === info.name).length > 1;
  return same ? `${name} ${seat + 1}` : name;
}

/** What a seat has in the game: units where something is paid, and otherwise points. */
export const standing = (view: TableView, seat: number): string =>
  view.balances ? unitsText(view.balances[seat]!) : pointsText(view.scores[seat]!);

/** What stands on an empty table: who leads. */
export function leadWords(view: TableView): string {
  const { current_seat: leader, seat, legal } = view;
  if (leader === null) return t("emptyTable");
  if (leader !== seat) return t("leads", nameOf(leader, view));
  return t(legal.join() === "declare" ? "mustDeclare" : "youLead");
}

/** A play in words: with signs of the cards for the eye, in words for the ear. */
function playWords(name: string, text: string, action: string, write: typeof cardsWords): string {
  if (!text) return t("passes", name);
  if (isCards(text)) {
    const cards = cardsOf(text);
    const combo = comboWords(action, cards);
    return t("played", name, combo ? `${combo}: ${write(cards)}` : write(cards));
  }
  if (text === "declare") return t("declares", name);
  return text === "end" ? t("meldsNothing", name) : t("melds", name, namedPlay(text));
}

/** Whose turn it is. */
function turnWords(view: TableView): string {
  if (view.current_seat === null || view.waiting) return "";
  if (view.current_seat !== view.seat) return t("turnOf", nameOf(view.current_seat, view));
  return t(view.legal.length === 1 && view.legal[0] === "" ? "nothingBeats" : "yourTurn");
}

/** What happened last, for the line above the hand and for screen readers. */
export function lastWords(view: TableView, texts: string[], write: typeof cardsWords): string {
  const last = playsOf(view).at(-1),
    over = endedRound(view);
  const play =
    last?.round === view.round
      ? playWords(nameOf(last.seat, view), last.text, texts[last.id] ?? "", write)
      : "";
  return [
    play && isChop(view, texts) ? `${t("chopNow")} ${play}` : play,
    over ? t("roundOver", over.round + 1) : "",
    turnWords(view),
  ]
    .filter(Boolean)
    .join(". ");
}

/** Why cards are refused; `why`: the number of the engine's reason. */
export function whyNot(view: TableView, why: number, { actions, reasons }: EngineWords): string {
  const onTable = cardsOf(view.table ?? "");
  const action =
    playsOf(view)
      .filter(({ text }) => text !== "")
      .at(-1)?.id ?? 0;
  return refusalWords(why, reasons, onTable.length ? (actions[action] ?? "") : "", onTable, view.must ?? "");
}

/** A play in a list: signs of its cards, "Pass", or its word. */
export const shortText = (text: string): string =>
  !text ? t("pass") : isCards(text) ? cardsSigns(cardsOf(text)) : namedPlay(text);

/** What a seat has come to in a round: its place, and units or points. */
export function resultText(round: Round, seat: number): string {
  const { hasPayments, balances, scores } = round;
  const got = hasPayments ? unitsText(balances[seat]!) : pointsText(scores[seat]!);
  return `${placeText(round.places[seat] ?? 0)}, ${got}`;
}

/** What a play costs against the best one, as the search has judged it. */
export interface Verdict {
  loss: number;
  halfWidth: number;
  best: string;
}
/** `isPaid`: units are lost, not points. */
export function verdictText({ loss, halfWidth }: Verdict, isPaid: boolean): string {
  if (loss - halfWidth <= 0) return t("fine");
  return t(isPaid ? "costsUnits" : "costs", estimateText(loss, halfWidth));
}

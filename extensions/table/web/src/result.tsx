/** The result of a round or of a game, and what can be done after it. */
import { CardRow } from "./cards.tsx";
import { arranged } from "./held.ts";
import { causeWords, placeText, signed, t } from "./i18n.ts";
import { cardsOf, isShared, type RoundOver, type TableView } from "./model.ts";
import { Dialog } from "./parts.tsx";
import { nameOf } from "./said.ts";

interface Actions {
  view: TableView;
  onAgain?: (() => void) | undefined;
  onLearn?: (() => void) | undefined;
  onNext: () => void;
  onEnd: () => void;
  onLook: () => void;
  onNew: () => void;
}

/** A button of the result; the main one has the focus. */
function Act({ words, kind = "", isMain = false, isOff = false, onPress }: ActProps) {
  return (
    <button
      type="button"
      class={isMain ? `main ${kind}` : kind}
      onClick={onPress}
      disabled={isOff}
      autofocus={isMain}
    >
      {words}
    </button>
  );
}
interface ActProps {
  words: string;
  kind?: string;
  isMain?: boolean;
  isOff?: boolean;
  onPress: () => void;
}

/** What can be done after a round, or after the game. */
function ResultActions({ view, onNext, onEnd, onLook, onNew, onAgain, onLearn }: Actions) {
  const isReady = view.seat !== null && (view.ready ?? []).includes(view.seat);
  const mayEnd = !view.result && view.has_no_end && view.can_end !== false;
  return (
    <p class="actions">
      <Act words={t("openExplorer")} onPress={onLook} />
      {view.result && onLearn && <Act words={t("learn")} kind="learn" onPress={onLearn} />}
      {view.result && onAgain && <Act words={t("rematch")} kind="rematch" onPress={onAgain} />}
      {mayEnd && <Act words={t("endGame")} kind="end" onPress={onEnd} />}
      {view.result ? (
        <Act words={t("newGame")} isMain onPress={onNew} />
      ) : (
        <Act
          words={t(isReady ? "waitsForOthers" : "nextRound")}
          kind="next"
          isMain
          isOff={isReady}
          onPress={onNext}
        />
      )}
    </p>
  );
}

/** What a seat got in a round: units where money is played for, points else. */
const gain = ({ payments, scores }: RoundOver, seat: number): number =>
  payments
    ? payments.reduce(
        (sum, { payer, payee, amount }) => sum + amount * (Number(payee === seat) - Number(payer === seat)),
        0,
      )
    : scores[seat]!;

interface Result {
  view: TableView;
  rounds: RoundOver[];
  over: RoundOver;
  totals: number[];
  /** Whose name is "You". */
  you: number | null;
}

const totalText = ({ over, totals }: Result, seat: number): string =>
  over.payments ? signed(totals[seat]!) : String(totals[seat]);

/** The seats in their order: of a round by its places, of a game of several rounds by its totals. */
function orderOf({ view, over, totals }: Result): number[] {
  const isGame = view.result !== null && over.round > 0;
  const byPlace = (a: number, b: number): number =>
    over.places[a]! - over.places[b]! || over.totals[b]! - over.totals[a]!;
  return totals
    .map((_, seat) => seat)
    .sort((a, b) => (isGame ? totals[b]! - totals[a]! : 0) || byPlace(a, b));
}

/** Who came where, with what each seat still held. */
function Scores(result: Result) {
  const { view, rounds, over, you } = result;
  const isPaid = over.payments !== undefined;
  const hasTotal = !isPaid || rounds.length > 1;
  return (
    <table class="scores">
      <thead>
        <tr>
          <th scope="col">{t(view.result && over.round > 0 ? "lastRound" : "place")}</th>
          <th scope="col">{t("players")}</th>
          <th scope="col">{t(isPaid ? "paid" : "score")}</th>
          {hasTotal && <th scope="col">{t("total")}</th>}
        </tr>
      </thead>
      <tbody>
        {orderOf(result).map((seat) => (
          <tr key={seat} class={seat === you ? "me" : ""}>
            <td>{placeText(over.places[seat]!)}</td>
            <th scope="row">
              {nameOf(seat, view, you)}
              {over.hands?.[seat] && <CardRow cards={arranged(cardsOf(over.hands[seat]))} />}
            </th>
            <td class={isPaid ? "paid" : ""}>{signed(gain(over, seat))}</td>
            {hasTotal && <td>{totalText(result, seat)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** All rounds of the game, a line each. */
function Sheet(result: Result) {
  const { view, rounds, you } = result;
  const seats = view.seats.map((_, seat) => seat);
  return (
    <details class="sheet">
      <summary>{t("allRounds")}</summary>
      <table>
        <thead>
          <tr>
            <th scope="col">{t("roundNumber")}</th>
            {seats.map((seat) => (
              <th scope="col" key={seat}>
                {nameOf(seat, view, you)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rounds.map((round) => (
            <tr key={round.round}>
              <th scope="row">{round.round + 1}</th>
              {seats.map((seat) => (
                <td key={seat}>{signed(gain(round, seat))}</td>
              ))}
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">{t("total")}</th>
            {seats.map((seat) => (
              <td key={seat}>{totalText(result, seat)}</td>
            ))}
          </tr>
        </tfoot>
      </table>
    </details>
  );
}

function Payments({ view, over, you }: Result) {
  if (!over.payments?.length) return null;
  return (
    <ul class="payments">
      {over.payments.map(({ payer, payee, amount, cause }, i) => (
        <li key={i}>
          {t("pays", nameOf(payer, view, you), nameOf(payee, view, you), amount, causeWords(cause))}
        </li>
      ))}
    </ul>
  );
}

function titleOf({ view, over, you }: Result): string {
  if (!view.result) return t("roundOver", over.round + 1);
  const { winner } = view.result;
  if (winner === null) return t("gameOver");
  return winner === you ? t("youWin") : t("winner", nameOf(winner, view, you));
}

/** The result of the last round; with `onClose` it is looked at again. */
export function RoundResult({ view, onClose, ...rest }: Actions & { onClose?: () => void }) {
  const you = isShared(view) ? null : view.seat; // "You" would be whoever has the device
  const rounds = view.events.filter((event) => event.type === "round_over"),
    over = rounds.at(-1);
  if (!over) return null;
  const result = { view, rounds, over, you, totals: view.balances ?? over.totals };
  return (
    <Dialog title={titleOf(result)} {...(onClose ? { onClose } : {})}>
      <Scores {...result} />
      <Payments {...result} />
      {rounds.length > 1 && <Sheet {...result} />}
      {view.waiting && view.current_seat !== null && (
        <p class="next-leader">{t("leadsNext", nameOf(view.current_seat, view, you))}</p>
      )}
      {onClose ? null : <ResultActions view={view} {...rest} />}
    </Dialog>
  );
}

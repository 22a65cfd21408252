/** The table without the own hand: the other seats, and what lies in the middle. */
import { CardBack, CardRow, PlayText } from "./cards.tsx";
import { arranged } from "./held.ts";
import { agentWords, cardWords, countText, placeText, suitWords, t } from "./i18n.ts";
import { cardsOf, playsOf, type TableView } from "./model.ts";
import { leadWords, nameOf, standing } from "./said.ts";
import { numberOnTable } from "./shown.ts";

const SPOTS: Record<number, string[]> = { 1: ["top"], 2: ["left", "right"], 3: ["left", "top", "right"] };
const MOST_SPOTS = 4; // with more seats they stand in rows
const MOST_BACKS = 5;

/** The other seats in the order of play, each with the place where it stands; all seats, for who watches. */
export function placesOf({ seat, seats }: TableView): Map<number, string> {
  const first = seat ?? seats.length - 1;
  const others = seats.slice(1).map((_, i) => (first + 1 + i) % seats.length);
  const spots = SPOTS[others.length];
  const places = new Map(others.map((other, i) => [other, spots?.[i] ?? "row"]));
  if (seat === null) places.set(first, spots ? "bottom" : "row");
  return places;
}

/** The last plays of the trick, by seat. Where the view has the trick's cards in order, they say it. */
export function playsOfTrick(view: TableView): (string | null)[] {
  if (view.trick !== undefined) {
    const trick = cardsOf(view.trick),
      count = view.seats.length;
    return view.seats.map((_, seat) => trick[(seat - (view.leader ?? 0) + count) % count] ?? null);
  }
  const shown: (string | null)[] = view.seats.map((_, seat) => (view.passed?.includes(seat) ? "" : null));
  for (const play of playsOf(view).slice(view.lead_at))
    if (play.round === view.round) shown[play.seat] = play.text;
  if (view.owner != null) shown[view.owner] = view.table ?? "";
  return shown;
}

interface OfSeat {
  view: TableView;
  seat: number;
}

/** Who has a seat, and how the seat stands. */
function Plate({ view, seat }: OfSeat) {
  const info = view.seats[seat]!,
    name = nameOf(seat, view);
  return (
    <p class="who">
      <span class={`face seat-${seat}`} aria-hidden="true">
        {Array.from(name)[0]!.toUpperCase()}
      </span>
      <b>{name}</b> <span class="score">{standing(view, seat)}</span>
      {view.tricks && (
        <span class="score">{view.tricks[seat] === 1 ? t("trick") : t("tricks", view.tricks[seat]!)}</span>
      )}
      {info.for && <span class="score">{t("standsIn", agentWords(info.for))}</span>}
      {!info.is_here && (
        <span class="badge">{info.stand_in ? `${t("away")}: ${agentWords(info.stand_in)}` : t("away")}</span>
      )}
    </p>
  );
}

/** What a seat holds: open, or as many backs as fit and their number. */
function Holding({ view, seat }: OfSeat) {
  if (view.hands) return <CardRow cards={arranged(cardsOf(view.hands[seat]!))} />;
  if (view.places[seat] != null) return null;
  const count = view.counts[seat]!;
  return (
    <p class="held" role="img" aria-label={countText(count)}>
      <span class="backs" aria-hidden="true">
        {Array.from({ length: Math.min(count, MOST_BACKS) }, (_, i) => (
          <CardBack key={i} />
        ))}
      </span>
      <span class="count">{count}</span>
    </p>
  );
}

/** What a seat has done in the trick, or its place in the round. */
function Done({ view, seat, isTurn, shown }: OfSeat & { isTurn: boolean; shown: string | null }) {
  const place = view.places[seat];
  if (place != null) return <span class="badge place">{placeText(place)}</span>;
  if (shown === "") return <span class="badge">{t("passed")}</span>;
  if (shown && seat !== view.owner) return <PlayText text={shown} />;
  return isTurn && !view.seats[seat]!.is_person ? <span class="thinking">{t("thinking")}…</span> : null;
}

function Opponent({ view, seat, shown, place }: OfSeat & { shown: string | null; place: string }) {
  const isTurn = view.current_seat === seat && !view.waiting && !view.result;
  const look = `opponent ${place} ${isTurn ? "turn" : ""} ${view.places[seat] != null ? "out" : ""}`;
  return (
    <section class={look} aria-label={nameOf(seat, view)}>
      <Plate view={view} seat={seat} />
      <Holding view={view} seat={seat} />
      <p class="did">
        <Done view={view} seat={seat} isTurn={isTurn} shown={shown} />
      </p>
    </section>
  );
}

/** Who is ahead in a trick, who may meld, or who leads. */
function trickWords({ pile, trick, winner, ...view }: TableView): string {
  const { current_seat: seat } = view;
  if (pile) return t("toMeld", nameOf(seat ?? 0, view));
  if (trick) return winner != null ? t("ahead", nameOf(winner, view)) : "";
  if (seat === null) return t("emptyTable");
  return seat === view.seat ? t("leadCard") : t("leads", nameOf(seat, view));
}

/** The middle of a game of tricks: the cards in order, who is ahead, what is taken and what must be followed. */
function Trick({ view }: { view: TableView }) {
  const { trick = "", pile = "", last_pile = "", last_winner } = view;
  const cards = cardsOf(pile || trick);
  return (
    <section class="centre" aria-label={t("table")}>
      {cards.length > 0 && (
        <div class="on-table" key={numberOnTable(view)} data-cards={cards.join(" ")}>
          <CardRow cards={cards} />
        </div>
      )}
      <p class="owner">{trickWords(view)}</p>
      {view.starter && <p class="must">{t("starter", suitWords(view.starter))}</p>}
      {view.aside && !pile && (
        <p class="must side">
          <CardRow cards={cardsOf(view.aside)} /> {t("aside")}
        </p>
      )}
      {!cards.length && last_winner != null && (
        <p class="must side">
          <CardRow cards={cardsOf(last_pile)} /> {t("took", nameOf(last_winner, view))}
        </p>
      )}
    </section>
  );
}

/** The middle of a game that climbs; `from`: where the seat of the last play is. */
function Centre({ view, chops, from }: { view: TableView; chops: boolean; from: string }) {
  const cards = cardsOf(view.table ?? "");
  return (
    <section class="centre" aria-label={t("table")}>
      {cards.length > 0 && (
        <div
          class={`on-table ${chops ? "chop" : `from-${from}`}`}
          key={`${numberOnTable(view)}${view.table}`}
          data-cards={cards.join(" ")}
        >
          {chops && <p class="badge">{t("chopNow")}</p>}
          <CardRow cards={cards} />
        </div>
      )}
      <p class="owner">{!cards.length ? leadWords(view) : view.owner != null && nameOf(view.owner, view)}</p>
      {view.must && <p class="must">{t("must", cardWords(view.must))}</p>}
    </section>
  );
}

/** The felt, with all other seats around it. */
export function Felt({ view, chops }: { view: TableView; chops: boolean }) {
  const places = placesOf(view),
    trick = playsOfTrick(view);
  const from = view.owner == null ? "me" : (places.get(view.owner) ?? "me");
  return (
    <div class={`felt ${places.size > MOST_SPOTS ? "many" : ""}`}>
      {[...places].map(([seat, place]) => (
        <Opponent key={seat} view={view} seat={seat} shown={trick[seat] ?? null} place={place} />
      ))}
      {view.trick !== undefined ? <Trick view={view} /> : <Centre view={view} chops={chops} from={from} />}
    </div>
  );
}

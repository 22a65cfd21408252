/** The table: other players, what lies on it, the own hand and what can be done. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Cover, HintPanel, InviteDialog, PlaysDialog, type Invitation } from "./dialogs.tsx";
import { Hand, useKeptFocus } from "./hand.tsx";
import { useHeld, type Held } from "./held.ts";
import { cardsSigns, cardsWords, namedPlay, placeText, rulesWords, t } from "./i18n.ts";
import { LocalHost } from "./local.ts";
import { isCards, isOwnTurn, isShared, type HintPlay, type Host, type TableView } from "./model.ts";
import { IconButton, Pace, useNarrow, Waiting, type ScreenProps } from "./parts.tsx";
import {
  useAutoPass,
  useEngineWords,
  useLater,
  useSelection,
  useSounds,
  useTableKeys,
  useView,
  type KeyActions,
  type Selecting,
} from "./playing.ts";
import { RoundResult } from "./result.tsx";
import { RulesDialog } from "./rules.tsx";
import { lastWords, standing } from "./said.ts";
import { Felt, playsOfTrick } from "./seats.tsx";
import type { Settings } from "./settings.tsx";
import { isChop } from "./shown.ts";

const DOUBLE_TAP = 400; // milliseconds
const LINGER = 1500; // milliseconds in which the last play of a round is seen before its result
const LONGEST_ROW = 7; // cards of a hand in a row on a phone

/** What a lesson or a puzzle shows above the table; its round has no dialog at the end, no hints and no undo. */
export type Coach = (view: TableView, actions: string[]) => ComponentChildren;

interface Props {
  coach?: Coach;
  host: Host;
  settings: Settings;
  invitations: Invitation[];
  /** Whether other machines reach the server. */
  isOpen: boolean;
  onLeave: () => void;
  /** Show the mistakes of the game, when it is over. */
  onLearn?: () => void;
  onSettings: () => void;
  onExplore: (records: string[]) => void;
}

/** What is open over the table. */
type Open = "rules" | "invite" | "result" | "plays";

/** Whether the result of a round or of the game is to be seen; who watches sees that of the game. */
const isEnd = (view: TableView | null): boolean =>
  view !== null && ((view.waiting && view.seat !== null) || (view.result !== null && view.events.length > 0));

/** The hints of a turn, asked for by a button. */
function useHints(host: Host, view: TableView | null, isOff: boolean, say: Selecting["say"]): Hinting {
  const [hints, setHints] = useState<HintPlay[] | null>(null);
  useEffect(() => setHints(null), [view?.turn]);
  const close = (): void => setHints(null);
  const ask = (): void => {
    if (!isOwnTurn(view) || isOff) return;
    if (hints) close();
    else host.hint().then(setHints, () => say(t("hintNone")));
  };
  return { hints, ask, close };
}
interface Hinting {
  hints: HintPlay[] | null;
  ask: () => void;
  close: () => void;
}

/** What is drawn, and what can be done. */
function useTable({ coach, host, settings, invitations }: Props) {
  const view = useView(host);
  const words = useEngineWords(view);
  const selecting = useSelection(host, view, words);
  const { play, say } = selecting;
  const hinting = useHints(host, view, coach !== undefined, say);
  const isResultShown = useLater(isEnd(view), settings.pause && LINGER);
  const held = useHeld(view);
  // Links for people are shown at once, those for spectators when they are asked for.
  const [open, onOpen] = useState<Open | null>(() =>
    invitations.some(({ seat }) => seat !== null) ? "invite" : null,
  );
  const chops = view !== null && isChop(view, words.actions);
  const actions: KeyActions = {
    pass: () => isOwnTurn(view) && view.legal.includes("") && play(""),
    hint: hinting.ask,
    undo: () => view?.can_undo && !coach && void host.undo(),
  };
  useEffect(() => {
    if (host instanceof LocalHost && view?.seat != null && !coach) host.setPace(settings.pause);
  }, [host, settings.pause]);
  useAutoPass(view, settings, play);
  useTableKeys(selecting, actions);
  useSounds(view, settings.sound, chops);
  const noteFocus = useKeptFocus();
  return { view, words, selecting, hinting, isResultShown, held, open, onOpen, chops, actions, noteFocus };
}
type Drawn = Props & ReturnType<typeof useTable>;
/** What the parts of the table share. */
type Shown = Drawn & { view: TableView };

const isShown = (drawn: Drawn): drawn is Shown => drawn.view !== null;

export function Table(props: Props) {
  const drawn = { ...props, ...useTable(props) };
  if (isShown(drawn)) return <Laid {...drawn} />;
  return <Waiting text={`${t("loading")}…`} error={props.host.error} onLeave={props.onLeave} />;
}

/** The table, laid. */
function Laid(shown: Shown) {
  const { coach, host, view, words, settings, chops } = shown;
  return (
    <main
      class={`game players-${view.seats.length} ${isOwnTurn(view) ? "my-turn" : ""}`}
      data-turn={view.turn}
      data-seat={view.seat ?? ""}
      data-current={view.current_seat ?? ""}
      onFocusIn={shown.noteFocus}
    >
      <TopBar {...shown} />
      <Banners host={host} view={view} />
      {coach?.(view, words.actions)}
      <div class="middle">
        <Felt view={view} chops={chops} />
        <Hints {...shown} />
      </div>
      <Said {...shown} />
      {view.seat !== null ? (
        <Own {...shown} seat={view.seat} />
      ) : (
        host instanceof LocalHost && <Watching host={host} pause={settings.pause} />
      )}
      <Dialogs {...shown} />
    </main>
  );
}

function Hints({ hinting, selecting }: Shown) {
  const pick = (text: string): void => {
    hinting.close();
    selecting.pick(text);
  };
  return hinting.hints && <HintPanel plays={hinting.hints} onClose={hinting.close} onPick={pick} />;
}

/** What has happened, for the eye and for the ear. */
function Said({ view, words, selecting: { notice } }: Shown) {
  return (
    <>
      <p class="status" aria-hidden="true">
        {notice || lastWords(view, words.actions, cardsSigns)}
      </p>
      <p class="hidden" role="status" aria-live="polite">
        {notice || lastWords(view, words.actions, cardsWords)}
      </p>
    </>
  );
}

/** The rules and the round, and what can be done at any time. */
function TopBar(shown: Shown) {
  const { view, coach, invitations, onOpen, onLeave, onSettings } = shown;
  const hasResult = !coach && view.round > 0 && !isEnd(view);
  const open = (name: Open) => () => onOpen(name);
  return (
    <header class="bar-top">
      <IconButton sign="‹" name="back" onClick={onLeave} />
      <h1>
        <span class="wide">{rulesWords(view.rules.name)}</span> <small>{t("round", view.round + 1)}</small>
      </h1>
      <span class="tools">
        {view.seat !== null && !coach && <Help {...shown} />}
        {hasResult && <IconButton sign="Σ" name="lastResult" kind="last-result" onClick={open("result")} />}
        {invitations.length > 0 && (
          <IconButton sign="⚭" name="invite" kind="to-invite" onClick={open("invite")} />
        )}
        {!coach && view.turn > 0 && <IconButton sign="≡" name="plays" kind="plays" onClick={open("plays")} />}
        <IconButton sign="?" name="rules" kind="rules" onClick={open("rules")} />
        <IconButton sign="⚙" name="settings" onClick={onSettings} />
      </span>
    </header>
  );
}

/** Undo and hints. */
function Help({ view, hinting, actions }: Shown) {
  const isOff = !isOwnTurn(view) || !view.has_hints;
  return (
    <>
      <button type="button" class="tool undo" onClick={actions.undo} disabled={!view.can_undo}>
        {t("undo")}
      </button>
      <button
        type="button"
        class="tool hint"
        onClick={actions.hint}
        disabled={isOff}
        aria-expanded={hinting.hints !== null}
      >
        {t("hint")}
      </button>
    </>
  );
}

/** What has gone wrong, and what is being loaded. */
function Banners({ host, view }: { host: Host; view: TableView }) {
  const percent = Math.floor(100 * (view.loading ?? 0));
  return (
    <>
      {host.isLost && (
        <p class="banner" role="alert">
          {t("lost")}…
        </p>
      )}
      {host.error && (
        <p class="banner" role="alert">
          {t("error", host.error)}{" "}
          {host.retry && (
            <button type="button" onClick={host.retry}>
              {t("tryAgain")}
            </button>
          )}
        </p>
      )}
      {view.loading != null && !host.error && (
        <p class="loading" role="progressbar" aria-label={t("loadingAgents", "")} aria-valuenow={percent}>
          {t("loadingAgents", percent)}
        </p>
      )}
      {view.notices.length > 0 && <p class="banner">{view.notices.at(-1)}</p>}
    </>
  );
}

type OwnProps = Shown & { seat: number };

/** The own hand and its buttons. */
function Own(props: OwnProps) {
  const { view, held, selecting } = props;
  const isTurn = isOwnTurn(view);
  const isNarrow = useNarrow();
  // Where a play is one card, a card that cannot be played is dimmed.
  const isByCard = view.trick !== undefined && isTurn && view.legal.every((text) => !text || isCards(text));
  return (
    <section class={`me ${isTurn ? "turn" : ""}`} aria-label={t("you")}>
      <Controls {...props} />
      <Hand
        key={view.round}
        isDealt={view.events.length === 0 || view.events.at(-1)?.type === "round_over"}
        cards={held.cards}
        selected={selecting.selected}
        turn={isTurn ? view.turn : -1}
        rows={isNarrow && held.cards.length > LONGEST_ROW ? 2 : 1}
        onToggle={selecting.toggle}
        playable={isByCard ? new Set(view.legal) : null}
        onOrder={held.order}
      />
    </section>
  );
}

/** What can be done in one's turn. */
function Controls(props: OwnProps) {
  const { view, seat, host, selecting, held, actions } = props;
  const isTurn = isOwnTurn(view);
  const named = isTurn ? view.legal.filter((text) => text && !isCards(text)) : [];
  // Who is out need not wait for agents among themselves.
  const canHurry = host instanceof LocalHost && view.places[seat] != null && !isEnd(view) && !isShared(view);
  return (
    <div class="controls">
      <OwnScore {...props} />
      {view.trick === undefined && (
        <button
          type="button"
          class="pass"
          onClick={actions.pass}
          disabled={!isTurn || !view.legal.includes("")}
        >
          {t("pass")}
        </button>
      )}
      {canHurry && (
        <button type="button" class="main hurry" onClick={() => host.hurry()}>
          {t("toTheEnd")}
        </button>
      )}
      {named.map((text) => (
        <button type="button" key={text} class="main named" onClick={() => selecting.play(text)}>
          {namedPlay(text)}
        </button>
      ))}
      <button
        type="button"
        class="main play"
        onClick={selecting.playSelected}
        disabled={!isTurn || !selecting.canPlay}
      >
        {t("play")}
      </button>
      <SortButton {...held} />
    </div>
  );
}

function SortButton({ sorting, sort }: Held) {
  const other = t(sorting === "rank" ? "sortSuit" : "sortRank");
  return (
    <button type="button" class="tool sort" onClick={sort} aria-label={other} title={other}>
      <span aria-hidden="true">⇅</span>
      <span class="wide">{other}</span>
    </button>
  );
}

/** The own standing; a double tap plays what is selected, or passes. */
function OwnScore({ view, seat, selecting, actions }: OwnProps) {
  const last = useRef(0);
  const tap = (): void => {
    const now = performance.now();
    const isDouble = now - last.current < DOUBLE_TAP;
    last.current = isDouble ? 0 : now;
    if (isDouble && selecting.selected.size) selecting.playSelected();
    else if (isDouble) actions.pass();
  };
  const place = view.places[seat];
  return (
    <button type="button" class="my-score" title={t("scoreHelp")} onClick={tap}>
      <b>{t("you")}</b> {standing(view, seat)}
      {place != null ? (
        <span class="badge place">{placeText(place)}</span>
      ) : playsOfTrick(view)[seat] === "" ? (
        <span class="badge">{t("passed")}</span>
      ) : null}
    </button>
  );
}

/** The pace of a game that is watched. */
function Watching({ host, pause }: { host: LocalHost; pause: number }) {
  const [pace, setPace] = useState(pause);
  const [isStopped, setStopped] = useState(false);
  const set = (next: number, stop: boolean): void => {
    setPace(next);
    setStopped(stop);
    host.setPace(stop ? null : next);
  };
  return (
    <div class="watching controls">
      <button type="button" class="main" onClick={() => set(pace, !isStopped)}>
        {t(isStopped ? "resume" : "pause")}
      </button>
      <button type="button" class="step" disabled={!isStopped} onClick={() => void host.step()}>
        {t("step")}
      </button>
      <Pace label="speed" value={pace} onChange={(value) => set(value, isStopped)} />
    </div>
  );
}

/** What lies over the table. */
function Dialogs(props: Shown) {
  const { view, host, coach, open, onOpen, isResultShown, onLeave, onLearn } = props;
  const close = (): void => onOpen(null);
  const isLooking = open === "result" && !isEnd(view);
  return (
    <>
      {open === "rules" && (
        <RulesDialog rules={view.rules.name} players={view.seats.length} onClose={close} />
      )}
      {open === "invite" && (
        <InviteDialog invitations={props.invitations} isOpen={props.isOpen} onClose={close} />
      )}
      {open === "plays" && <PlaysDialog view={view} onClose={close} />}
      {view.handover != null && host instanceof LocalHost && (
        <Cover key={view.handover} name={t("player", view.handover + 1)} onTake={() => host.takeDevice()} />
      )}
      {!coach && host.view && (isResultShown || isLooking) && (
        <RoundResult
          view={host.view}
          {...(isResultShown ? {} : { onClose: close })}
          onNext={() => void host.next()}
          onEnd={() => void host.end()}
          onLook={() => void host.records().then(props.onExplore, () => {})}
          onNew={onLeave}
          onAgain={host.again}
          onLearn={view.seat === null ? undefined : onLearn}
        />
      )}
    </>
  );
}

/** A table with a coach, for screens that play alone: nobody is invited, and records are not shown. */
export function CoachedTable(props: ScreenProps & { host: LocalHost; coach: Coach }) {
  return <Table {...props} invitations={[]} isOpen={false} onExplore={() => {}} />;
}

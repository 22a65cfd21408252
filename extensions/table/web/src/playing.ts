/** What a person does at a table, as hooks: what is selected, the keys, the pace, the sounds. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { engineWords, type EngineWords } from "./engine.ts";
import { moveFocus } from "./hand.tsx";
import { arranged } from "./held.ts";
import { t } from "./i18n.ts";
import { cardsOf, isCards, isOwnTurn, playsOf, type Host, type TableView } from "./model.ts";
import { playSound, useKeys } from "./parts.tsx";
import { whyNot } from "./said.ts";
import type { Settings } from "./settings.tsx";
import { shownView } from "./shown.ts";

/** The view to draw; the table is drawn again when the host has another one. */
export function useView(host: Host): TableView | null {
  const [, redraw] = useState(0);
  useEffect(() => {
    host.onChange = () => setTimeout(() => redraw((n) => n + 1));
    redraw((n) => n + 1);
    return () => {
      host.onChange = () => {};
    };
  }, [host]);
  return useMemo(() => host.view && shownView(host.view), [host.view]);
}

/** The engine's names of the actions, once they are loaded; a table on a server has no engine in the page yet. */
export function useEngineWords(view: TableView | null): EngineWords {
  const [texts, setTexts] = useState<EngineWords>({ actions: [], reasons: [] });
  const rules = view?.rules.name,
    players = view?.seats.length;
  useEffect(() => {
    let isOld = false;
    if (rules && players)
      engineWords(rules, players).then(
        (found) => isOld || setTexts(found),
        () => {},
      );
    return () => {
      isOld = true;
    };
  }, [rules, players]);
  return texts;
}

/** Whether something has been so for a time. */
export function useLater(isSo: boolean, delay: number): boolean {
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    setOver(false);
    if (!isSo || !delay) return;
    const timer = setTimeout(() => setOver(true), delay);
    return () => clearTimeout(timer);
  }, [isSo, delay]);
  return isSo && (isOver || !delay);
}

/** What is selected of the hand. */
export interface Selecting {
  selected: ReadonlySet<string>;
  /** Whether Play plays it. */
  canPlay: boolean;
  /** Why it cannot be played, or what has failed; empty for nothing. */
  notice: string;
  say: (notice: string) => void;
  toggle: (card: string, mayPlay?: boolean) => void;
  /** Play what is selected, or say why not. */
  playSelected: () => void;
  /** Play a text: "" passes. */
  play: (text: string) => void;
  /** Select the cards of a play, and play it if no card can be added; a play without cards at once. */
  pick: (text: string) => void;
}

/** Play, in a task of its own: on a slow processor the press, the play and the drawing are too long for one. */
function playLater(host: Host, text: string, onPlayed: () => void, onRefused: () => void): void {
  const turn = host.view?.turn;
  setTimeout(() => {
    if (host.view?.turn === turn) host.play(text).then(onPlayed, onRefused);
  });
}

/** The selection belongs to the cards that are held. */
function useSelected(view: TableView | null): [ReadonlySet<string>, (cards: ReadonlySet<string>) => void] {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    const held = cardsOf(view?.hand ?? "");
    setSelected((old) => new Set([...old].filter((card) => held.includes(card))));
  }, [view?.hand]);
  useLayoutEffect(() => setSelected(new Set()), [view?.round]); // in a new deal no card is raised
  return [selected, setSelected];
}

export function useSelection(host: Host, view: TableView | null, words: EngineWords): Selecting {
  const [selected, select] = useSelected(view);
  const [canPlay, setCanPlay] = useState(false);
  const [notice, say] = useState("");
  const asked = useRef(0);
  const refused = useRef(-1); // the reason why what is selected is not legal
  const isTurn = isOwnTurn(view);
  const sayWhyNot = (): void => say(whyNot(view!, refused.current, words));
  const play = (text: string): void => {
    say("");
    playLater(
      host,
      text,
      () => select(new Set()),
      () => say(t("notLegal")),
    );
  };
  // Cards that were selected before the turn wait for another tap: the table has changed since.
  const check = (next: ReadonlySet<string>, mayPlay = true): void => {
    const number = ++asked.current;
    setCanPlay(false);
    if (!isTurn || !next.size) return;
    const cards = arranged([...next]); // in the order of the deck, as the record writes them
    void host.select(cards).then(({ legal, more, why }) => {
      if (number !== asked.current) return;
      refused.current = why;
      if (!legal && !more) sayWhyNot();
      if (legal && !more && mayPlay) play(cards.join(" "));
      else setCanPlay(legal);
    }, nothing);
  };
  // A layout effect runs before any tap of the turn. A later one would drop the answer about a card tapped before it.
  useLayoutEffect(() => check(selected, false), [isTurn, view?.turn]);
  return {
    selected,
    canPlay,
    notice,
    say,
    play,
    ...acts({ selected, canPlay, isTurn, select, check, play, say, sayWhyNot }),
  };
}
const nothing = (): void => {};

interface Parts extends Pick<Selecting, "selected" | "canPlay" | "say" | "play"> {
  isTurn: boolean;
  select: (cards: ReadonlySet<string>) => void;
  check: (cards: ReadonlySet<string>, mayPlay?: boolean) => void;
  sayWhyNot: () => void;
}
/** What changes a selection. */
function acts(parts: Parts): Pick<Selecting, "toggle" | "playSelected" | "pick"> {
  const { selected, canPlay, isTurn, select, check, play, say, sayWhyNot } = parts;
  const set = (next: ReadonlySet<string>, mayPlay = true): void => {
    select(next);
    check(next, mayPlay);
  };
  const toggle = (card: string, mayPlay = true): void => {
    say("");
    const next = new Set(selected);
    if (!next.delete(card)) next.add(card);
    set(next, mayPlay);
  };
  const playSelected = (): void => {
    if (!isTurn || !selected.size) return;
    if (canPlay) play(arranged([...selected]).join(" "));
    else sayWhyNot();
  };
  const pick = (text: string): void => (isCards(text) ? set(new Set(cardsOf(text))) : play(text));
  return { toggle, playSelected, pick };
}

/** Passes for the person where nothing can be played. */
export function useAutoPass(view: TableView | null, settings: Settings, play: (text: string) => void): void {
  useEffect(() => {
    if (!settings.autoPass || !isOwnTurn(view) || view.legal.length !== 1 || view.legal[0] !== "") return;
    // Not always the same time: that would tell the others that nothing could be played.
    const timer = setTimeout(() => play(""), settings.pause * (0.7 + 1.3 * Math.random()));
    return () => clearTimeout(timer);
  }, [isOwnTurn(view), view?.turn, settings.autoPass]);
}

/** Makes the sounds of the plays; those that were made before the table was opened have none. */
export function useSounds(view: TableView | null, hasSound: boolean, chops: boolean): void {
  const heard = useRef(Infinity);
  const isTurn = isOwnTurn(view);
  useEffect(() => {
    if (!view) return;
    const last = playsOf(view).at(-1);
    if (hasSound && view.turn > heard.current && last?.text) playSound(chops ? "chop" : "card");
    if (hasSound && isTurn && view.turn !== heard.current) playSound("turn");
    heard.current = view.turn;
  }, [view?.turn, isTurn]);
}

/** What the keys of a table do. */
export interface KeyActions {
  pass: () => void;
  hint: () => void;
  undo: () => void;
}

export function useTableKeys({ selected, toggle, playSelected }: Selecting, actions: KeyActions): void {
  useKeys((key, focused) => {
    const card =
      focused instanceof HTMLElement && focused.closest(".hand") ? focused.dataset["card"] : undefined;
    const byKey: Record<string, () => void> = {
      ArrowLeft: () => moveFocus(-1),
      ArrowRight: () => moveFocus(1),
      ArrowUp: () => {
        if (card && !selected.has(card)) toggle(card);
        else if (!card) moveFocus(1);
      },
      ArrowDown: () => {
        if (card && selected.has(card)) toggle(card);
      },
      p: actions.pass,
      h: actions.hint,
      z: actions.undo,
    };
    if (card || focused === document.body || focused === null) byKey["Enter"] = playSelected;
    return byKey[key.length === 1 ? key.toLowerCase() : key];
  });
}

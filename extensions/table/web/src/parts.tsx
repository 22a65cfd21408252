/** Small parts that several screens use. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { t, type Key } from "./i18n.ts";
import type { Settings } from "./settings.tsx";

/** What a screen gets that is left by a button. */
export interface ScreenProps {
  settings: Settings;
  onLeave: () => void;
  onSettings: () => void;
}
type Sound = "card" | "chop" | "turn";

// Hertz at the start and at the end, seconds, and the form of the wave.
const TONES: Record<Sound, [number, number, number, OscillatorType]> = {
  card: [240, 150, 0.08, "triangle"],
  chop: [200, 45, 0.4, "sawtooth"],
  turn: [660, 880, 0.15, "sine"],
};
const LATE = 300; // milliseconds; before the first click a page is silent, and what was to be heard then is dropped
let context: AudioContext | null = null;

/** Make a sound; the browser makes it itself, so no file is loaded. */
export function playSound(name: Sound): void {
  if (!("AudioContext" in window)) return;
  context ??= new AudioContext();
  const audio = context,
    asked = performance.now();
  audio.resume().then(
    () => {
      if (performance.now() - asked > LATE) return;
      const [from, to, seconds, form] = TONES[name],
        now = audio.currentTime;
      const tone = audio.createOscillator(),
        volume = audio.createGain();
      tone.type = form;
      tone.frequency.setValueAtTime(from, now);
      tone.frequency.exponentialRampToValueAtTime(to, now + seconds);
      volume.gain.setValueAtTime(0.2, now);
      volume.gain.exponentialRampToValueAtTime(0.001, now + seconds);
      tone.connect(volume).connect(audio.destination);
      tone.start(now);
      tone.stop(now + seconds);
    },
    () => {},
  );
}

/** A button that shows a sign; its name is said and stands in a tooltip. */
export function IconButton(props: { sign: string; name: Key; kind?: string; onClick: () => void }) {
  const name = t(props.name);
  const look = `icon ${props.kind ?? ""}`.trim();
  return (
    <button type="button" class={look} onClick={props.onClick} aria-label={name} title={name}>
      {props.sign}
    </button>
  );
}

/** The bar of a screen that is not a table. */
export function Header({ title, onLeave, onSettings }: Omit<ScreenProps, "settings"> & { title: string }) {
  return (
    <header class="bar-top">
      <IconButton sign="‹" name="back" onClick={onLeave} />
      <h1>{title}</h1>
      <IconButton sign="⚙" name="settings" onClick={onSettings} />
    </header>
  );
}

/** A browser has it at safe addresses only, whatever its type says. */
export const clipboard = (navigator as { clipboard?: Clipboard }).clipboard;

/** A button that copies a text, where the browser does. */
export function Copy({ text }: { text: string }) {
  const [isCopied, setCopied] = useState(false);
  if (!clipboard) return null;
  return (
    <button type="button" onClick={() => void clipboard.writeText(text).then(() => setCopied(true))}>
      {t(isCopied ? "copied" : "copy")}
    </button>
  );
}

/** Go to a screen: the part of the address after #. */
export const go = (hash: string): void => {
  location.hash = hash;
};

/** Whether the window is as narrow as a phone's. */
export function useNarrow(): boolean {
  const query = useMemo(() => matchMedia("(max-width: 620px)"), []);
  const [isNarrow, set] = useState(query.matches);
  useLayoutEffect(() => {
    const listen = (): void => set(query.matches);
    query.addEventListener("change", listen);
    return () => query.removeEventListener("change", listen);
  }, [query]);
  return isNarrow;
}

/**
 * Run a screen's action for a key, unless the key is meant for the browser, an input or a dialog.
 *
 * The listener is renewed before each paint. An ordinary effect runs after the paint, and a key in between would act
 * on the position that was drawn before.
 */
export function useKeys(actionFor: (key: string, focused: Element | null) => (() => void) | undefined): void {
  useLayoutEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      const focused = document.activeElement;
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      if (
        focused instanceof HTMLInputElement ||
        focused instanceof HTMLSelectElement ||
        focused instanceof HTMLTextAreaElement
      )
        return;
      // A key that is held down acts once; only the arrows walk on.
      if (event.repeat && !event.key.startsWith("Arrow")) return;
      const action = actionFor(event.key, focused);
      if (!action) return;
      event.preventDefault();
      action();
    };
    document.addEventListener("keydown", listen);
    return () => document.removeEventListener("keydown", listen);
  });
}

interface DialogProps {
  title: string;
  kind?: string;
  onClose?: () => void;
  children: ComponentChildren;
  label?: string;
}

export function Dialog({ title, onClose, children, label, kind = "" }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const dialog = ref.current!;
    if (!dialog.open) dialog.showModal();
    return () => dialog.close();
  }, []);
  return (
    <dialog
      ref={ref}
      class={kind}
      aria-label={label ?? title}
      onClose={() => !onClose && ref.current?.isConnected && ref.current.showModal()} // a second Escape closes
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
    >
      <h2>{title}</h2>
      {children}
      {onClose && (
        <p class="actions">
          <button type="button" class="main" onClick={onClose}>
            {t("close")}
          </button>
        </p>
      )}
    </dialog>
  );
}

export const Waiting = ({
  text,
  error = "",
  onLeave,
}: {
  text: string;
  error?: string;
  onLeave: () => void;
}) => (
  <main class="waiting-page">
    <h1 lang="vi">{t("title")}</h1>
    {error ? (
      <p class="banner" role="alert">
        {t("error", error)}
      </p>
    ) : (
      <p role="status">{text}</p>
    )}
    <button type="button" onClick={onLeave}>
      {t("back")}
    </button>
  </main>
);

export function Choice<T extends string>({
  label,
  value,
  options,
  words,
  onChange,
  kind = "",
}: {
  label: string;
  value: T;
  options: readonly T[];
  words: (option: T) => string;
  onChange: (value: T) => void;
  kind?: string;
}) {
  return (
    <label class={`field ${kind}`}>
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value as T)}>
        {options.map((option) => (
          <option key={option} value={option} selected={option === value}>
            {words(option)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A slider from slow to fast; its value is a pause in milliseconds. */
export function Pace({
  value,
  onChange,
  label,
}: {
  value: number;
  onChange: (pause: number) => void;
  label?: Key;
}) {
  return (
    <label class="field pace">
      <span>{t(label ?? "pace")}</span>
      <span class="slider">
        <span aria-hidden="true">{t("slow")}</span>
        <input
          type="range"
          min="0"
          max="2000"
          step="100"
          value={2000 - value}
          onInput={(event) => onChange(2000 - Number(event.currentTarget.value))}
        />
        <span aria-hidden="true">{t("fast")}</span>
      </span>
    </label>
  );
}

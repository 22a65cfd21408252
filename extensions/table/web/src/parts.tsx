/** Small parts that several screens use. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { browserLanguage, isLanguage, setLanguage, t, type Key, type Language } from "./i18n.ts";
import { readStored, store } from "./storage.ts";

/** What the reader has chosen; stored in the browser. */
export interface Settings {
  language: Language | "auto";
  theme: "auto" | "light" | "dark";
  autoPass: boolean;
  sound: boolean;
  /** Each suit has a colour of its own. */
  fourColours: boolean;
  pause: number;
  /** What other people at the table see. */
  name: string;
}
/** What a screen gets that is left by a button. */
export interface ScreenProps {
  settings: Settings;
  onLeave: () => void;
  onSettings: () => void;
}
const DEFAULT: Settings = {
  language: "auto",
  theme: "auto",
  autoPass: false,
  sound: false,
  fourColours: false,
  pause: 700,
  name: "",
};

/** The stored settings; a spoilt one is the default. */
export function loadSettings(): Settings {
  const found = { ...DEFAULT, ...(readStored("settings") as Record<keyof Settings, unknown> | null) };
  return {
    language: isLanguage(found.language) ? found.language : "auto",
    theme: (["light", "dark"] as const).find((theme) => theme === found.theme) ?? "auto",
    autoPass: found.autoPass === true,
    sound: found.sound === true,
    fourColours: found.fourColours === true,
    pause:
      typeof found.pause === "number" && Number.isFinite(found.pause)
        ? Math.max(0, Math.min(2000, found.pause))
        : DEFAULT.pause,
    name: typeof found.name === "string" ? found.name.slice(0, 24) : "",
  };
}

export function applySettings(settings: Settings): void {
  setLanguage(settings.language === "auto" ? browserLanguage() : settings.language);
  if (settings.theme === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = settings.theme;
  document.documentElement.dataset["suits"] = settings.fourColours ? "four" : "two";
  store("settings", settings);
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

export function SettingsDialog({
  settings,
  onChange,
  onClose,
}: {
  settings: Settings;
  onChange: (s: Settings) => void;
  onClose: () => void;
}) {
  const set = (part: Partial<Settings>): void => onChange({ ...settings, ...part });
  return (
    <Dialog title={t("settings")} onClose={onClose}>
      <Choice
        label={t("language")}
        value={settings.language}
        options={["auto", "en", "vi"] as const}
        words={(o) => (o === "auto" ? t("auto") : t(`language_${o}`))}
        onChange={(language) => set({ language })}
      />
      <Choice
        label={t("theme")}
        value={settings.theme}
        options={["auto", "light", "dark"] as const}
        words={(o) => t(o)}
        onChange={(theme) => set({ theme })}
      />
      <Pace value={settings.pause} onChange={(pause) => set({ pause })} />
      <label class="field">
        <span>{t("yourName")}</span>
        <input
          type="text"
          maxLength={24}
          autocomplete="nickname"
          value={settings.name}
          onInput={(event) => set({ name: event.currentTarget.value })}
        />
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={settings.autoPass}
          onChange={(event) => set({ autoPass: event.currentTarget.checked })}
        />
        <span>{t("autoPass")}</span>
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={settings.sound}
          onChange={(event) => {
            const sound = event.currentTarget.checked;
            set({ sound });
            if (sound) playSound("card");
          }}
        />
        <span>{t("sound")}</span>
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={settings.fourColours}
          onChange={(event) => set({ fourColours: event.currentTarget.checked })}
        />
        <span>{t("fourColours")}</span>
      </label>
      <p class="quiet">{t("keys")}</p>
    </Dialog>
  );
}

/** What the reader has chosen: stored in the browser, changed in a dialog. */
import { browserLanguage, isLanguage, setLanguage, t, type Key, type Language } from "./i18n.ts";
import { Choice, Dialog, Pace, playSound } from "./parts.tsx";
import { readStored, store } from "./storage.ts";

const LONGEST_NAME = 24; // characters

/** What the reader has chosen. */
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
    name: typeof found.name === "string" ? found.name.slice(0, LONGEST_NAME) : "",
  };
}

export function applySettings(settings: Settings): void {
  setLanguage(settings.language === "auto" ? browserLanguage() : settings.language);
  if (settings.theme === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = settings.theme;
  document.documentElement.dataset["suits"] = settings.fourColours ? "four" : "two";
  store("settings", settings);
}

/** A setting that is on or off. */
function Switch({ name, isOn, onChange }: { name: Key; isOn: boolean; onChange: (isOn: boolean) => void }) {
  return (
    <label class="check">
      <input type="checkbox" checked={isOn} onChange={(event) => onChange(event.currentTarget.checked)} />
      <span>{t(name)}</span>
    </label>
  );
}

interface Props {
  settings: Settings;
  onChange: (settings: Settings) => void;
  onClose: () => void;
}

export function SettingsDialog({ settings, onChange, onClose }: Props) {
  const set = (part: Partial<Settings>): void => onChange({ ...settings, ...part });
  const setSound = (sound: boolean): void => {
    set({ sound });
    if (sound) playSound("card");
  };
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
      <NameField name={settings.name} onChange={(name) => set({ name })} />
      <Switch name="autoPass" isOn={settings.autoPass} onChange={(autoPass) => set({ autoPass })} />
      <Switch name="sound" isOn={settings.sound} onChange={setSound} />
      <Switch name="fourColours" isOn={settings.fourColours} onChange={(on) => set({ fourColours: on })} />
      <p class="quiet">{t("keys")}</p>
    </Dialog>
  );
}

/** What other people at the table see. */
function NameField({ name, onChange }: { name: string; onChange: (name: string) => void }) {
  return (
    <label class="field">
      <span>{t("yourName")}</span>
      <input
        type="text"
        maxLength={LONGEST_NAME}
        autocomplete="nickname"
        value={name}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </label>
  );
}

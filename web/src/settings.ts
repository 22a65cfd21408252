/** What the reader has chosen; stored in the browser. */
import { browserLanguage, setLanguage, type Language } from "./i18n.ts";

export interface Settings {
  language: Language | "auto";
  theme: "auto" | "light" | "dark";
  autoPass: boolean;
  pause: number;
}
const DEFAULT: Settings = { language: "auto", theme: "auto", autoPass: false, pause: 700 };

export function loadSettings(): Settings {
  try {
    return { ...DEFAULT, ...(JSON.parse(localStorage.getItem("settings") ?? "{}") as Partial<Settings>) };
  } catch {
    return DEFAULT;
  }
}

export function applySettings(settings: Settings): void {
  setLanguage(settings.language === "auto" ? browserLanguage() : settings.language);
  if (settings.theme === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = settings.theme;
  localStorage.setItem("settings", JSON.stringify(settings));
}

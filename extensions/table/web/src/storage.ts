/** The browser's storage. It may be blocked, full or spoilt: then the page remembers until it is closed. */
const remembered = new Map<string, string>();

/** What is stored under a key, as JSON; null if nothing is, or something else. */
export function readStored(key: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(key) ?? remembered.get(key) ?? "null") as unknown;
  } catch {
    return JSON.parse(remembered.get(key) ?? "null") as unknown;
  }
}

/** The text that is stored under a key; "" if there is none. */
export const storedText = (key: string): string => {
  const found = readStored(key);
  return typeof found === "string" ? found : "";
};

export function store(key: string, value: unknown): void {
  const text = JSON.stringify(value);
  try {
    localStorage.setItem(key, text);
    remembered.delete(key);
  } catch {
    remembered.set(key, text);
  }
}

export function removeStored(key: string): void {
  remembered.delete(key);
  try {
    localStorage.removeItem(key);
  } catch {
    // nothing can be stored here either
  }
}

/** The keys that begin with a text. */
export function storedKeys(begin: string): string[] {
  const all = [...remembered.keys()];
  try {
    all.push(...Object.keys(localStorage));
  } catch {
    // blocked
  }
  return [...new Set(all)].filter((key) => key.startsWith(begin)).sort();
}

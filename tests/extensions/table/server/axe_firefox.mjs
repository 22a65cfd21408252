// axe in Firefox over screens that were drawn in another browser: light, dark, with forced colours, and at 200 %.
// Arguments: puppeteer-core's folder, Firefox, the address of the drawn screens, axe, and their names. Prints JSON.
import fs from "node:fs";
import { createRequire } from "node:module";
import process from "node:process";
import { pathToFileURL } from "node:url";

const [folder, executablePath, address, axe, ...names] = process.argv.slice(2);
const puppeteer = (await import(pathToFileURL(createRequire(`${folder}/`).resolve("puppeteer-core")).href))
  .default;
const script = fs.readFileSync(axe, "utf8");

/** In the page: a dialog is modal again, the colours are chosen, and axe looks. */
const look = async (theme) => {
  document.documentElement.dataset.theme = theme;
  for (const dialog of document.querySelectorAll("dialog[open]")) {
    dialog.close();
    dialog.showModal();
  }
  const { violations } = await globalThis.axe.run(document, { resultTypes: ["violations"] });
  const wider = document.documentElement.scrollWidth - innerWidth;
  const found = violations.map(({ id, nodes }) => [id, nodes.map(({ target }) => target).slice(0, 3)]);
  return wider > 0 ? [...found, ["too wide", wider]] : found;
};

const found = [];
let looked = 0;
const LOOKS = [
  [["light", "dark"], {}],
  [["dark"], { "browser.display.document_color_use": 2 }],
  [["light"], { "layout.css.devPixelsPerPx": "2.0" }],
];
for (const [themes, extraPrefsFirefox] of LOOKS) {
  const browser = await puppeteer.launch({
    browser: "firefox",
    executablePath,
    headless: true,
    defaultViewport: null,
    args: ["--width=1280", "--height=900"],
    extraPrefsFirefox: { "ui.prefersReducedMotion": 1, ...extraPrefsFirefox },
  });
  try {
    const page = await browser.newPage();
    for (const name of names) {
      await page.goto(`${address}${name}`);
      await page.evaluate(script);
      for (const theme of themes) {
        looked++;
        const setting = JSON.stringify(extraPrefsFirefox);
        for (const one of await page.evaluate(look, theme)) found.push([name, theme, setting, ...one]);
      }
    }
  } finally {
    await browser.close();
  }
}
console.log(JSON.stringify({ looked, found }));

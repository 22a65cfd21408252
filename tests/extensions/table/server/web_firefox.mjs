// A whole game in Firefox by clicks, with WebDriver BiDi: passes where it can, else leads the lowest card.
// Arguments: puppeteer-core's folder, Firefox, the address, and the key of a game in hex. Prints JSON.
import { createRequire } from "node:module";
import process from "node:process";
import { pathToFileURL } from "node:url";

const [folder, executablePath, address, key] = process.argv.slice(2);
const puppeteer = (await import(pathToFileURL(createRequire(`${folder}/`).resolve("puppeteer-core")).href))
  .default;
// The window gets its size at the start: `setViewport` also sends commands that older Firefox does not know.
const size = ["--width=800", "--height=700"];
const browser = await puppeteer.launch({
  browser: "firefox",
  executablePath,
  headless: true,
  defaultViewport: null,
  args: size,
});
const found = { browser: await browser.version(), errors: [], rounds: [], scores: [], sideways: [] };
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(60_000);
  page.on("pageerror", (error) => found.errors.push(String(error)));
  const seats = ["human", "heuristic", "heuristic", "heuristic"];
  const round = { rules: "cardgames", num_players: 4, key, round: 0, leader: null, scores: null, plays: [] };
  const game = {
    config: { rules: "cardgames", seats, whole_game: true, pause: 0 },
    rounds: [round],
    roundsSeen: 0,
  };
  await page.goto(address);
  await page.evaluate((text) => localStorage.setItem("game:1", text), JSON.stringify(game));
  await page.goto(`${address}#table=1`);
  const states = ".my-turn, dialog .next, dialog .scores ~ .actions .main";
  const turn = () => page.$eval(".game", (element) => element.dataset.turn);
  for (;;) {
    await page.waitForSelector(states);
    found.sideways.push(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth));
    if (await page.$("dialog .next")) {
      await page.click("dialog .next");
      await page.waitForSelector("dialog", { hidden: true });
      continue;
    }
    if (await page.$("dialog .scores")) break;
    const before = await turn();
    if (await page.$(".controls .pass:not([disabled])")) {
      await page.click(".controls .pass");
    } else {
      await page.click(".hand .hold[data-card]");
      const played = `document.querySelector(".game")?.dataset.turn !== "${before}"`;
      await page.waitForFunction(`${played} || document.querySelector(".play:not([disabled])")`);
      if ((await turn()) === before) await page.click(".controls .play");
    }
    await page.waitForFunction((last) => document.querySelector(".game")?.dataset.turn !== last, {}, before);
  }
  found.rounds = JSON.parse(await page.evaluate(() => localStorage.getItem("game:1"))).rounds;
  found.scores = await page.$$eval("dialog .scores tbody tr td:last-child", (cells) =>
    cells.map((c) => c.innerText),
  );
} finally {
  await browser.close();
}
console.log(JSON.stringify(found));

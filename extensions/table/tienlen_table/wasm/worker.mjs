/** The Web Worker of `client.mjs`: answers its questions one after another, so that they can be cancelled. */
import { Agents } from "./agents.mjs";
import { Library } from "./rounds.mjs";

/** @type {{id: number, call: "choose" | "advise", data: object, agent: string, options: object}[]} */
const queue = [];
let isBusy = false;
let library;
let agents;
/** Reads a file; undefined: the worker fetches. @type {((name: string) => Promise<Uint8Array>) | undefined} */
let read;
const files = new Map(); // asked of the page and not answered yet

async function answer({ call, data, agent, options }) {
  library ??= Library.open(new URL("./", import.meta.url), read);
  agents ??= new Agents(await library);
  const game = await (await library).loadRules(data.rules);
  const round = game.fromData(data);
  try {
    await agents.prepare(round, agent);
    return agents[call](round, agent, options);
  } finally {
    round.free();
  }
}

async function work() {
  if (isBusy) return;
  isBusy = true;
  while (queue.length) {
    const question = queue.shift();
    try {
      globalThis.postMessage({ id: question.id, answer: await answer(question) });
    } catch (error) {
      library = agents ? library : undefined; // a file that could not be read is tried again
      globalThis.postMessage({
        id: question.id,
        error: error instanceof Error ? error.message : String(error),
      });
    }
    await new Promise((done) => setTimeout(done)); // let messages that cancel questions come in
  }
  isBusy = false;
}

globalThis.addEventListener("message", ({ data }) => {
  if (data.call === "serve") {
    read = (name) =>
      new Promise((resolve, reject) => {
        files.set(name, [...(files.get(name) ?? []), { resolve, reject }]);
        globalThis.postMessage({ read: name });
      });
    return;
  }
  if (data.call === "file") {
    for (const { resolve, reject } of files.get(data.name) ?? [])
      data.error === undefined ? resolve(data.bytes) : reject(new Error(data.error));
    files.delete(data.name);
    return;
  }
  if (data.call === "cancel") {
    const at = queue.findIndex((question) => question.id === data.id);
    if (at >= 0) queue.splice(at, 1);
    return;
  }
  queue.push(data);
  work();
});

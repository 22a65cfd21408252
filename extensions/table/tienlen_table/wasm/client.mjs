/** The agents in a Web Worker: the page asks and is never blocked. */
export class AgentClient {
  /**
   * @param {string | URL} base address of the folder with these files
   * @param {string} script the worker's file there; a bundler may have given it another name
   * @param {(name: string) => Promise<Uint8Array>} [read] reads a file of the folder; without it the worker fetches
   */
  constructor(base = new URL("./", import.meta.url), script = "worker.mjs", read = undefined) {
    this.waiting = new Map();
    this.number = 0;
    const address = new URL(script, new URL(base, globalThis.location?.href));
    this.worker = new Worker(address, { type: "module" });
    this.worker.addEventListener("message", ({ data }) =>
      data.read === undefined ? this.settle(data) : this.serve(data.read, read),
    );
    if (read) this.worker.postMessage({ call: "serve" });
    this.worker.addEventListener("error", (event) =>
      this.fail(new Error(event.message || "the worker has stopped")),
    );
  }

  async serve(name, read) {
    try {
      this.worker.postMessage({ call: "file", name, bytes: await read(name) });
    } catch (error) {
      this.worker.postMessage({
        call: "file",
        name,
        error: error instanceof Error ? error.message : String(error),
      });
    }
  }

  settle({ id, answer, error }) {
    const waiting = this.waiting.get(id);
    if (!waiting) return;
    this.waiting.delete(id);
    if (error === undefined) waiting.resolve(answer);
    else waiting.reject(new Error(error));
  }

  fail(error) {
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
  }

  ask(call, data, agent, { signal, ...options } = {}) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const id = ++this.number;
      this.waiting.set(id, { resolve, reject });
      signal?.addEventListener(
        "abort",
        () => {
          if (!this.waiting.delete(id)) return;
          this.worker.postMessage({ id, call: "cancel" });
          reject(signal.reason);
        },
        { once: true },
      );
      this.worker.postMessage({ id, call, data, agent, options });
    });
  }

  /** The choice of an agent. */
  choose(data, agent, options) {
    return this.ask("choose", data, agent, options);
  }

  /** All legal plays, scored by an agent. */
  advise(data, agent, options) {
    return this.ask("advise", data, agent, options);
  }

  /** Stop the worker; open questions are rejected. */
  close() {
    this.worker.terminate();
    this.fail(new Error("the client is closed"));
  }
}

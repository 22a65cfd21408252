/** A game on the server: one WebSocket, joined again whenever it is lost. */
import { t } from "./i18n.ts";
import { loadSettings } from "./settings.tsx";
import { removeStored, store, storedText } from "./storage.ts";
import type { GameEvent, HintPlay, Host, Selection, TableConfig, TableView } from "./model.ts";

/** `address`: of the server in the network; empty: only this machine reaches it. */
export interface Welcome {
  type: "welcome";
  agents: string[];
  rules: string[];
  address: string;
}
interface SeatToken {
  token: string;
  seat: number | null;
}
type Answer = { type: string; id?: number | null } & Record<string, unknown>;
type Wanted = { resolve: (answer: Answer) => void; reject: (error: Error) => void };

const VERSION = 1;
const RETRY = [300, 600, 1200, 2500, 5000];

const address = (): string => {
  const url = new URL("ws", document.baseURI);
  url.protocol = url.protocol.replace("http", "ws");
  return url.href;
};
/** The token of the address; else the last one that a server has let in. A wrong one is not kept. */
let given = "";
export const joinToken = (): string => {
  given = new URLSearchParams(location.hash.slice(1)).get("join") ?? given;
  return given || storedText("join");
};
const letIn = (): void => {
  if (given) store("join", given);
};

/** An answer of the server that is an error, in the reader's words where the page has them. */
class ServerError extends Error {
  constructor(
    readonly code: unknown,
    message: unknown,
  ) {
    super(code === "token" ? t("noSeat") : code === "join" ? t("noToken") : String(message));
  }
}

/** Ask a server for its agents and rules; null where the page has no server. A `ServerError`: it refuses the page. */
export async function findServer(): Promise<Welcome | null> {
  if (!("server" in document.documentElement.dataset)) return null; // a static host
  const answer = await once({ type: "hello", version: VERSION, join: joinToken() }, "welcome").catch(
    (error: unknown) => {
      if (error instanceof ServerError) throw error;
      return null;
    },
  );
  return answer as Welcome | null;
}

/** Make a table on the server: the tokens of its seats. */
export async function createTable(config: TableConfig): Promise<SeatToken[]> {
  const answer = await once({ type: "create", ...config, id: 1 }, "table");
  return answer["tokens"] as SeatToken[];
}

/** One question to the server, on a connection of its own. */
function once(message: Record<string, unknown>, wanted: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(address());
    const timer = setTimeout(() => socket.close(), 20_000);
    socket.onopen = () => {
      if (message["type"] !== "hello")
        socket.send(JSON.stringify({ type: "hello", version: VERSION, join: joinToken() }));
      socket.send(JSON.stringify(message));
    };
    socket.onmessage = ({ data }) => {
      const answer = JSON.parse(String(data)) as Answer;
      if (answer.type === "welcome") letIn();
      if (answer.type === wanted) resolve(answer);
      else if (answer.type === "error") reject(new ServerError(answer["code"], answer["message"]));
      else return;
      socket.close();
    };
    socket.onclose = () => {
      clearTimeout(timer);
      reject(new Error("no server"));
    };
  });
}

export class RemoteHost implements Host {
  view: TableView | null = null;
  isLost = false;
  error = "";
  onChange = () => {};
  private socket: WebSocket | null = null;
  private readonly wanted = new Map<number, Wanted>();
  private events: GameEvent[] = [];
  private id = 0;
  private tries = 0;
  private isClosed = false;
  /** The move that no view has confirmed yet; sent again after a lost connection. */
  private pending: { turn: number; play: string } | null = null;

  constructor(private readonly token: string) {
    this.connect();
  }

  private connect(): void {
    const socket = (this.socket = new WebSocket(address()));
    socket.onopen = () => {
      socket.send(JSON.stringify({ type: "hello", version: VERSION, join: joinToken() }));
      socket.send(
        JSON.stringify({
          type: "join",
          token: this.token,
          since: this.events.length,
          name: loadSettings().name,
        }),
      );
      if (this.pending) this.send({ type: "play", ...this.pending });
    };
    socket.onmessage = ({ data }) => this.read(JSON.parse(String(data)) as Answer);
    socket.onclose = () => {
      for (const { reject } of this.wanted.values()) reject(new Error("lost"));
      this.wanted.clear();
      if (this.isClosed) return;
      this.isLost = true;
      this.onChange();
      setTimeout(() => !this.isClosed && this.connect(), RETRY[Math.min(this.tries++, RETRY.length - 1)]);
    };
  }

  private read(answer: Answer): void {
    if (answer.type === "view") {
      const view = answer as unknown as TableView & { since: number };
      this.events = [...this.events.slice(0, view.since), ...view.events];
      this.view = { ...view, events: this.events };
      if (this.pending && view.turn > this.pending.turn) this.pending = null;
      this.isLost = false;
      this.tries = 0;
      if (view.seat !== null && this.view.seats.length) {
        if (this.view.result) removeStored("server");
        else store("server", this.token);
      }
      this.onChange();
      return;
    }
    if (answer.type === "welcome") letIn();
    const wanted = answer.id == null ? undefined : this.wanted.get(answer.id);
    if (answer.type === "error") {
      this.pending = null;
      const error = new ServerError(answer["code"], answer["message"]);
      if (wanted) wanted.reject(error);
      else {
        this.error = error.message;
        if (answer["code"] === "token") removeStored("server");
        if (["token", "agent", "join", "version"].includes(String(answer["code"]))) this.close(); // asking again changes nothing
        this.onChange();
      }
    } else wanted?.resolve(answer);
    if (answer.id != null) this.wanted.delete(answer.id);
  }

  private send(message: Record<string, unknown>): number {
    const id = ++this.id;
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify({ ...message, id }));
    return id;
  }

  private ask(message: Record<string, unknown>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.socket?.readyState !== WebSocket.OPEN) reject(new Error("lost"));
      else this.wanted.set(this.send(message), { resolve, reject });
    });
  }

  async select(cards: string[]): Promise<Selection> {
    const answer = await this.ask({ type: "select", turn: this.view?.turn ?? 0, cards: cards.join(" ") });
    return {
      legal: Boolean(answer["legal"]),
      more: Boolean(answer["more"]),
      why: Number(answer["why"] ?? -1),
    };
  }

  play(text: string): Promise<void> {
    const turn = this.view?.turn ?? 0;
    this.pending = { turn, play: text };
    const id = this.send({ type: "play", ...this.pending });
    return new Promise((resolve, reject) => {
      this.wanted.set(id, { resolve: () => resolve(), reject });
      resolve(); // a view follows; a refusal shows as an error of the table
    });
  }

  async undo(): Promise<void> {
    this.send({ type: "undo" });
  }

  async hint(): Promise<HintPlay[]> {
    const answer = await this.ask({ type: "hint", turn: this.view?.turn ?? 0 });
    return answer["plays"] as HintPlay[];
  }

  again = (): void => {
    this.send({ type: "again" });
  };

  async next(): Promise<void> {
    this.send({ type: "next" });
  }

  async end(): Promise<void> {
    this.send({ type: "end" });
  }

  async records(): Promise<string[]> {
    return (await this.ask({ type: "record" }))["lines"] as string[];
  }

  close(): void {
    this.isClosed = true;
    this.socket?.close();
  }
}

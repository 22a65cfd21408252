/** A game in the page: the compiled engine, and agents in a worker. It answers as the server does. */
import type { AgentInfo, LoadedGame, Round } from "./engine.ts";
import { adviserOf, agentsOf, openAgents, openLibrary, standInOf } from "./engine.ts";
import { Machine } from "./machine.ts";
import type { GameEvent, HintPlay, Host, SeatInfo, Selection, TableConfig, TableView } from "./model.ts";
import { messageOf, PERSON } from "./model.ts";
import { store } from "./storage.ts";
import { keyOf, storedGame, type LocalGame } from "./stored.ts";
import { Weights } from "./weights.ts";
import { Writer } from "./writer.ts";

const LINGER = 1500; // milliseconds in which watchers see the last play of a round before the next deal

/** The events of a round: its plays, and its end. */
function eventsOf(round: Round, number: number): GameEvent[] {
  const found: GameEvent[] = round
    .history()
    .map(({ seat, action, text }) => ({ type: "play", round: number, seat, id: action, text }));
  if (!round.isOver) return found;
  const before = round.data.scores ?? round.scores.map(() => 0);
  found.push({
    type: "round_over",
    round: number,
    places: round.places.map((place) => place ?? 0),
    scores: round.scores.map((score, seat) => score - before[seat]!),
    totals: round.scores,
    hands: round.hands(),
    ...(round.hasPayments ? { payments: round.payments } : {}),
  });
  return found;
}

export class LocalHost implements Host {
  view: TableView | null = null;
  readonly isLost = false;
  error = "";
  onChange = () => {};
  /** Milliseconds before an agent's play; null stops the agents. */
  pace: number | null;
  private game: LoadedGame | null = null;
  private rounds: Round[] = [];
  private machine!: Machine; // once `game` is there
  private holder: number | null = null; // of several people
  private version = 0; // of the position; what was asked for an older one is dropped
  private timer = 0;
  private abort = new AbortController();
  private adviser: AgentInfo | undefined;
  private standIn: string | undefined;
  private weights!: Weights; // once `game` is there
  private isIdle = true; // no agent is choosing
  private isHurried = false; // until the round is over agents do not wait
  private stoodIn: [number, number, string][];
  private readonly writer = new Writer();
  private past: GameEvent[][] = []; // of the rounds before this one

  constructor(
    private readonly stored: LocalGame,
    private readonly id: string | null,
    /** The seed of an agent's choice, by the number of plays before it; then no other agent stands in. */
    private readonly seedOf?: (plays: number) => number,
  ) {
    this.pace = stored.config.pause;
    this.stoodIn = stored.stoodIn ?? [];
    this.open().catch((error: unknown) => this.fail(error));
  }

  private get config(): TableConfig {
    return this.stored.config;
  }
  /** The seat whose hand is shown: of several people at this device, of the one who has it now. */
  private get seat(): number | null {
    const seat = this.holder ?? this.config.seats.indexOf(PERSON);
    return seat < 0 ? null : seat;
  }
  /** The seat of the person who has to take the device before a hand is shown; null: nobody has to. */
  private get handover(): number | null {
    if (this.config.seats.filter((name) => name === PERSON).length < 2) return null;
    const { player } = this.machine,
      turn = this.machine.get("TURN");
    if (player === "PERSON" && turn !== this.holder) return turn;
    return this.holder === null && player !== "NOBODY" ? this.seat : null;
  }
  /** The seats of people; all are at this device. */
  private get people(): number {
    return this.config.seats.reduce(
      (seats, name, seat) => (name === PERSON ? seats | (1 << seat) : seats),
      0,
    );
  }
  private get round(): Round {
    return this.rounds[this.rounds.length - 1]!;
  }

  private fail(error: unknown): void {
    this.error = messageOf(error);
    this.onChange();
  }

  private async open(): Promise<void> {
    const { rules, seats } = this.config;
    const library = await openLibrary();
    openAgents(); // a worker takes a frame to start: not while cards fly
    const [game, machine] = await Promise.all([library.loadRules(rules), Machine.load()]);
    this.game = game;
    this.machine = machine;
    this.adviser = adviserOf(agentsOf(library, rules, seats.length));
    this.take(this.stored);
    addEventListener("storage", this.follow);
    addEventListener("focus", this.takeOver);
    this.standIn = standInOf(agentsOf(library, rules, seats.length));
    const files = seats.map((name): [string, string | null] => [
      name,
      game.fileOf(name, rules, seats.length),
    ]);
    this.weights = new Weights(
      new Map(files.filter((one): one is [string, string] => one[1] !== null)),
      library.index.bytes,
      this.onLoaded,
      (error) => this.fail(error),
    );
    this.weights.load();
    if (!this.rounds.length)
      this.rounds = [game.round({ rules, num_players: seats.length, key: game.newKey() })];
    this.changed();
  }

  retry = (): void => {
    this.error = "";
    this.weights.load();
    this.changed();
  };
  private readonly onLoaded = (isDone: boolean): void => {
    if (isDone) this.error = "";
    if (!this.view) return;
    if (isDone && this.isIdle) {
      this.changed();
      return;
    }
    this.view = { ...this.view, loading: this.weights.part };
    this.onChange();
  };
  /** Who plays for a seat now. */
  private playerOf(seat: number): string {
    const name = this.config.seats[seat]!;
    return this.standIn && !this.seedOf && this.weights.waitFor(name) < 0 ? this.standIn : name;
  }

  /** Show a stored game: the state is the plays, and two numbers of the table. */
  private take({ rounds, roundsSeen, isEnded }: LocalGame): void {
    this.rounds = rounds.map((data) => this.game!.fromData(data));
    this.past = [];
    const own = { ROUNDS_SEEN: roundsSeen, IS_ENDED: Number(isEnded ?? false) };
    this.machine.look({ PEOPLE: this.people, HERE: this.people, ...own }, []);
  }

  /** Tell the state machine what has been played. */
  private look(): void {
    const { round, rounds, config } = this;
    const isOver = round.isOver && (!config.whole_game || round.gameIsOver(config.num_rounds));
    const given = {
      NUM_PLAYS: rounds.reduce((sum, one) => sum + one.numPlays, 0),
      NUM_ROUNDS: rounds.filter((one) => one.isOver).length,
      IS_OVER: Number(isOver),
      TURN: round.currentSeat,
    };
    this.machine.look(
      given,
      rounds.map((one) => one.plays.map(({ seat }) => seat)),
    );
  }

  private get isOver(): boolean {
    return this.machine.get("IS_OVER") === 1;
  }
  private get isWaiting(): boolean {
    return this.machine.get("IS_WAITING") === 1;
  }

  /** All events; those of the rounds before this one stay, and are asked for once: an evening has many rounds. */
  private events(): GameEvent[] {
    const last = this.rounds.length - 1;
    this.past.length = Math.min(last, this.past.length);
    while (this.past.length < last)
      this.past.push(eventsOf(this.rounds[this.past.length]!, this.past.length));
    return [...this.past.flat(), ...eventsOf(this.round, last)];
  }

  /** Show the position, store it, and let agents go on. */
  private changed(): void {
    this.version++;
    this.abort.abort();
    this.abort = new AbortController();
    const { config, seat } = this;
    this.look();
    if (this.round.isOver) this.isHurried = false;
    if (this.round.isOver && !this.isOver) this.dealNext();
    const { round, handover } = this;
    const isOpen = seat === null || config.is_open === true;
    const numPlays = this.rounds.reduce((sum, one) => sum + one.numPlays, 0);
    this.view = {
      ...round.view(handover === null ? seat : null),
      seat,
      handover,
      turn: numPlays,
      lead_at: numPlays - round.numPlays + round.leadAt,
      seats: config.seats.map((_, number) => this.seatInfo(number)),
      loading: this.weights.part,
      ...(round.hasPayments ? { balances: this.balances() } : {}),
      has_no_end: config.whole_game && config.num_rounds === 0,
      waiting: this.isWaiting,
      can_undo: this.machine.get("UNDO_TO") >= 0,
      has_hints: this.adviser !== undefined,
      notices: [],
      rules: { name: config.rules },
      round: this.rounds.length - 1,
      events: this.events(),
      result: this.isOver ? this.result() : null,
      ...(isOpen ? { hands: round.hands() } : {}),
    };
    this.save();
    this.onChange();
    this.drive();
  }

  private seatInfo(seat: number): SeatInfo {
    const name = this.config.seats[seat]!,
      player = this.playerOf(seat);
    const standsFor = player === name ? {} : { for: name };
    return { name: player, is_person: name === PERSON, is_here: true, ...standsFor };
  }

  private result(): NonNullable<TableView["result"]> {
    const { hasPayments, scores } = this.round;
    return { scores, winner: this.winner(), ...(hasPayments ? { balances: this.balances() } : {}) };
  }

  /** What each seat got in the game, less what it paid. */
  private balances(): number[] {
    return this.config.seats.map((_, seat) =>
      this.rounds.reduce((sum, round) => sum + round.balances[seat]!, 0),
    );
  }
  private winner(): number | null {
    const { whole_game, num_rounds } = this.config,
      { places, scores, hasPayments } = this.round;
    const standing = { places: places.map((place) => place ?? 0), points: scores, units: this.balances() };
    return this.machine.winner(standing, whole_game, num_rounds != null && hasPayments);
  }

  private save(): void {
    const result = this.view!.result;
    const game: LocalGame = {
      config: this.config,
      rounds: this.rounds.map(({ data }) => data),
      roundsSeen: this.machine.get("ROUNDS_SEEN"),
      stoodIn: this.stoodIn,
      isEnded: this.machine.get("IS_ENDED") === 1,
      writer: this.writer.id,
      ...(this.stored.begun === undefined ? {} : { begun: this.stored.begun }),
      ...(result ? { result } : {}),
    };
    if (this.id !== null && this.writer.isWriter) store(keyOf(this.id), game);
  }

  /** Another tab has played on in this game. */
  private readonly follow = ({ key }: StorageEvent): void => {
    const found = this.id !== null && key === keyOf(this.id) ? storedGame(this.id) : null;
    if (!found || !this.game) return;
    this.writer.follow(found);
    this.take(found);
    this.changed();
  };

  /** The person comes back to this tab, or acts in it: it plays on and stores. */
  private readonly takeOver = (): void => {
    if (this.writer.isWriter || !this.view) return;
    this.writer.take();
    this.changed();
  };

  private dealNext(): void {
    const { rules, seats } = this.config;
    const last = this.round;
    const key = last.data.hands ? this.game!.newKey() : last.data.key;
    this.rounds.push(
      this.game!.round({
        rules,
        num_players: seats.length,
        key,
        round: last.data.round + 1,
        leader: last.nextLeader,
        scores: last.scores,
      }),
    );
    this.look();
  }

  /** Whether watchers see the end of a round. */
  private get isLingering(): boolean {
    return this.isWaiting && this.people === 0;
  }

  private drive(): void {
    clearTimeout(this.timer);
    if (this.pace === null || !this.writer.isWriter) return;
    if (this.machine.player !== "AGENT" && !this.isLingering) return;
    const pause = this.isHurried
      ? 0
      : this.isLingering && this.pace
        ? Math.max(this.pace, LINGER)
        : this.pace;
    this.timer = window.setTimeout(() => void this.step(), pause);
  }

  /** Let the agent to act play; a round whose end was seen is closed. */
  async step(): Promise<void> {
    const { version, round } = this;
    if (this.isLingering) {
      this.machine.react("TIME", -1, this.machine.get("NUM_ROUNDS"));
      this.changed();
      return;
    }
    if (this.machine.player !== "AGENT") return;
    const wanted = this.config.seats[round.currentSeat]!,
      player = this.playerOf(round.currentSeat),
      wait = this.weights.waitFor(wanted);
    if (player === wanted && wait > 0) {
      this.timer = window.setTimeout(() => this.changed(), wait + 10); // what is loaded by then plays
      return;
    }
    try {
      this.isIdle = false;
      const agents = openAgents();
      const seed = this.seedOf?.(round.numPlays) ?? Math.floor(Math.random() * 2 ** 31);
      const choice = await agents.choose(round.data, player, { seed, signal: this.abort.signal });
      if (version !== this.version) return;
      if (player !== wanted) this.stoodIn.push([this.rounds.length - 1, round.numPlays, player]);
      round.play(round.find(choice.cards) ?? choice.action);
      this.changed();
    } catch (error) {
      if (version === this.version && !(error instanceof DOMException && error.name === "AbortError"))
        this.fail(error);
    } finally {
      this.isIdle = true;
    }
  }

  setPace(pace: number | null): void {
    this.pace = pace;
    if (pace === null) this.version++; // a paused table does not move: drop the choice that an agent is making now
    this.drive();
  }

  /** Let agents among themselves end the round without a pause. */
  hurry(): void {
    this.isHurried = true;
    this.drive();
  }

  private ids(cards: string[]): number[] {
    return cards.map((card) => this.game!.cards.indexOf(card)).sort((a, b) => a - b);
  }

  async select(cards: string[]): Promise<Selection> {
    const ids = this.ids(cards);
    const legal = ids.length > 0 && this.round.find(ids) !== null;
    return { legal, more: this.round.extensions(ids).length > 0, why: legal ? -1 : this.round.refusal(ids) };
  }

  async play(text: string): Promise<void> {
    const { round } = this;
    if (this.machine.react("PLAY", this.seat ?? -1, this.machine.get("NUM_PLAYS")) !== "NONE") return;
    const legal =
      round.legal().find((play) => play.text === text) ?? round.find(this.ids(text ? text.split(" ") : []));
    if (!legal) throw new Error("illegal");
    this.writer.take();
    round.play(legal);
    this.changed();
  }

  async undo(): Promise<void> {
    let left = this.machine.get("UNDO_TO");
    if (this.machine.react("UNDO", this.seat ?? -1) !== "NONE") return;
    this.writer.take();
    let number = 0;
    while (left >= this.rounds[number]!.numPlays) left -= this.rounds[number++]!.numPlays;
    this.rounds.length = number + 1;
    this.past.length = Math.min(number, this.past.length);
    this.round.undo(this.round.numPlays - left);
    this.changed();
  }

  /** The person whose turn it is has the device. */
  takeDevice(): void {
    this.holder = this.handover ?? this.holder;
    this.changed();
  }

  async hint(): Promise<HintPlay[]> {
    const agents = openAgents();
    const advice = await agents.advise(this.round.data, this.adviser!.name);
    return advice.plays.map(({ text, action, probability, points, half_width }) => ({
      text,
      id: action,
      probability,
      points,
      half_width,
    }));
  }

  async next(): Promise<void> {
    this.writer.take();
    this.config.seats.forEach((name, seat) => name === PERSON && this.machine.react("NEXT", seat));
    this.changed();
  }

  /** End the game after the last round that is over. */
  async end(): Promise<void> {
    if (this.machine.react("END", this.seat ?? -1) !== "NONE") return;
    this.writer.take();
    this.rounds = this.rounds.filter((round) => round.isOver);
    this.changed();
  }

  async records(): Promise<string[]> {
    return this.rounds.flatMap((round, number) => {
      const plays = this.stoodIn.filter(([other]) => other === number);
      const remark = plays.length
        ? [
            `# played by ${plays[0]![2]} for an agent that was not loaded yet: ${plays.map(([, play]) => play + 1).join(", ")}`,
          ]
        : [];
      return round.isOver ? [...remark, round.record()] : [];
    });
  }

  close(): void {
    removeEventListener("storage", this.follow);
    removeEventListener("focus", this.takeOver);
    this.version++;
    this.abort.abort();
    clearTimeout(this.timer);
    this.pace = null;
  }
}

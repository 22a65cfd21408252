/** The weights of the agents at a table, which are loaded while people look at their hands. */
import { readFile } from "./engine.ts";

const PATIENCE = 3000; // milliseconds that a table waits for an agent that is being loaded; then another one plays
const NUM_STEPS = 20; // that the loading is shown in

export class Weights {
  private readonly parts = new Map<string, number>(); // of the files, that are loaded
  private deadline = 0;

  /**
   * @param files of weights, by agent
   * @param sizes of the files, in bytes
   * @param onStep more is loaded; `isDone`: a file is
   */
  constructor(
    private readonly files: Map<string, string>,
    private readonly sizes: Record<string, number>,
    private readonly onStep: (isDone: boolean) => void,
    private readonly onFail: (error: unknown) => void,
  ) {}

  /** Load what is not there yet. */
  load(): void {
    for (const file of new Set(this.files.values())) {
      if (this.parts.get(file) === 1) continue;
      this.parts.set(file, 0);
      this.deadline = performance.now() + PATIENCE;
      const size = this.sizes[file] ?? Infinity;
      readFile(file, (bytes) => this.note(file, Math.min(0.99, bytes / size))).then(
        () => this.note(file, 1),
        (error: unknown) => {
          this.deadline = 0;
          this.onFail(error);
        },
      );
    }
  }

  private note(file: string, part: number): void {
    const before = this.parts.get(file) ?? 0;
    this.parts.set(file, part);
    if (Math.floor(NUM_STEPS * before) !== Math.floor(NUM_STEPS * part)) this.onStep(part === 1);
  }

  /** The part that is loaded; null: all is. */
  get part(): number | null {
    const parts = [...this.parts.values()];
    return parts.some((part) => part < 1) ? parts.reduce((a, b) => a + b) / parts.length : null;
  }

  /** Milliseconds that the table waits for an agent now; 0: it is there; -1: another one plays for it. */
  waitFor(agent: string): number {
    const file = this.files.get(agent);
    if (!file || this.parts.get(file) === 1) return 0;
    const left = this.deadline - performance.now();
    return left > 0 ? left : -1;
  }
}

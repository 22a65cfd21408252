/** Which of several tabs with one game plays it on and stores it: the last one that was opened or used. */

/** What is stored of a game beside the game. */
export interface Written {
  /** The tab that writes. */
  writer?: string;
}

export class Writer {
  readonly id: string;
  private current: string;

  constructor(id = Math.random().toString(36).slice(2)) {
    this.id = this.current = id;
  }

  /** Whether this tab plays on and stores. */
  get isWriter(): boolean {
    return this.current === this.id;
  }

  /** The person acts here: this tab writes from now on. */
  take(): void {
    this.current = this.id;
  }

  /** Another tab has stored the game. A tab ignores a message about what it wrote itself, and about an older state. */
  follow({ writer }: Written): void {
    if (writer !== undefined) this.current = writer;
  }
}

/** Which presses count: of a mouse, a finger or a key. */

/** The presses of a table: what a release means depends on when its press began, and on what was pressed before. */
export class Presses {
  private begun: { target: string; turn: number } | null = null;
  private last = "";

  /**
   * A mouse button, a finger or a key goes down. A key that repeats does not.
   *
   * @param turn the number of the turn, -1 where it is not one's own
   */
  begin(target: string, turn: number): void {
    this.begun = { target, turn };
  }

  /**
   * It goes up on its target.
   *
   * @param count how many clicks the browser takes this one for: 2 for the second one of a double click
   * @returns whether it counts, and whether it may play: a press that began before the turn only selects
   */
  end(target: string, turn: number, count: number): { counts: boolean; mayPlay: boolean } {
    const began = this.begun?.target === target ? this.begun.turn : turn;
    this.begun = null;
    // The second half of a double click hits what has moved to the place of the card that it was meant for.
    const counts = count < 2 || this.last === target;
    if (counts) this.last = target;
    return { counts, mayPlay: turn >= 0 && began === turn };
  }
}

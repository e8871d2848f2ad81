/** The totals of the store in memory: lines in the order in which they were added. A mark is how many there were. */

import { checkTotalsQuery, notAMark, type Tally, type Totals, type TotalsQuery } from "../../core/totals.ts";

export class MemoryTallies {
  readonly #tallies: Tally[] = [];

  add(tally: Tally): void {
    this.#tallies.push(tally);
  }

  read(query: TotalsQuery): Omit<Totals, "unended"> {
    const { after = "0", since, limit } = checkTotalsQuery(query);
    const tallies: Tally[] = [];
    let index = this.#indexOf(after);
    for (; index < this.#tallies.length && tallies.length < limit; index++) {
      const tally = this.#tallies[index];
      if (tally !== undefined && tally.startedAt >= since) tallies.push(tally);
    }
    return { tallies, mark: String(index), isComplete: index === this.#tallies.length };
  }

  #indexOf(mark: string): number {
    const index = Number(mark);
    const isOurs = Number.isSafeInteger(index) && index >= 0 && index <= this.#tallies.length;
    if (!isOurs || String(index) !== mark) throw notAMark(mark);
    return index;
  }
}

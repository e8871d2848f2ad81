/** Records what was looked at, line by line, and what was missed. */

export class Look {
  readonly missed: string[] = [];

  /** One fact that must hold; `seen` is said when it does not. */
  at(what: string, holds: boolean, seen?: unknown): void {
    if (holds) console.log(`reached ${what}`);
    else this.missed.push(`${what}: ${seen === undefined ? "not seen" : JSON.stringify(seen)}`);
    if (!holds) console.log(`        not: ${what}`);
  }

  /** What throws is a miss of its own, and the rest is still looked at. */
  async during(what: string, work: () => Promise<void>): Promise<void> {
    const begun = performance.now();
    try {
      await work();
    } catch (error) {
      this.missed.push(`${what}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    }
    if (process.env.SOUS_TIMES !== undefined)
      console.log(`        ${what}: ${Math.round(performance.now() - begun)} ms`);
  }
}

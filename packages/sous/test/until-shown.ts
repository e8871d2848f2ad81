/** How many rounds are made before a test says that they show nothing. */
const MAX_ROUNDS = 6;

/**
 * Makes rounds of a figure until they have shown what they are for.
 *
 * What a kill hits, or how many processes want the same budget at once, depends on the machine. A round in which nothing of it
 * happened is no proof and no failure: another one is made. `round` asserts what must hold in every round.
 */
export async function untilShown<Figure>(
  round: (number: number) => Promise<Figure>,
  isShown: (figures: readonly Figure[]) => boolean,
): Promise<void> {
  const figures: Figure[] = [];
  while (figures.length < MAX_ROUNDS) {
    figures.push(await round(figures.length + 1));
    if (isShown(figures)) return;
  }
  throw new Error(`${MAX_ROUNDS} rounds have not shown what they are for: ${JSON.stringify(figures)}`);
}

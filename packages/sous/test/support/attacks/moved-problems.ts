/** A target that moves at each moment between a question and its call; says when the call hits the new one. */

import { readFileSync } from "node:fs";
import { createRuntime } from "../../../src/runtime.ts";
import { answering, later, openPlace, type Place, park } from "./moved-place.ts";
import { FOLDER_BECOMES_LINK } from "./moved-targets.ts";

type Moment = { readonly name: string; readonly happens: (place: Place, move: () => void) => Promise<unknown> };

export const MOMENTS: readonly Moment[] = [
  { name: "while the person was asked", happens: (place, move) => place.process(answering(move).approve).run() },
  {
    name: "while the answer was stored",
    happens(place, move) {
      place.beforeStored("approval-end", move);
      return place.process(answering(() => {}).approve).run();
    },
  },
  {
    name: "before a later process answered",
    async happens(place, move) {
      const { id, keys } = await park(place);
      move();
      await place.process(later).resume(id, ...keys);
    },
  },
  {
    name: "while a later process stored the answer",
    async happens(place, move) {
      const { id, keys } = await park(place);
      place.beforeStored("approval-end", move);
      await place.process(later).resume(id, ...keys);
    },
  },
];

/** All moments at which a call that was allowed hit another file than the one that was asked about. */
export async function movedProblems(make = createRuntime): Promise<string[]> {
  const problems: string[] = [];
  for (const { name, happens } of MOMENTS) {
    const { call, ...variant } = FOLDER_BECOMES_LINK;
    await using place = await openPlace({ ...variant, calls: [call], make });
    await happens(place, () => variant.move(place.root));
    const isHit = readFileSync(place.path("deploy/prod.yaml"), "utf8") !== variant.files["deploy/prod.yaml"];
    if (isHit) problems.push(`wrote to a target that had moved ${name}`);
  }
  return problems;
}

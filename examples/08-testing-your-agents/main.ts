/** One tree under many orders of events: each seed is another order, and the same seed is always the same. */

import { createRuntime, type StoredEvent } from "sous";
import { after, calls, checkHistory, createWorld, fails, says, scriptedModel } from "sous/testing";
import { reviewLead } from "./review.ts";

async function runSeed(seed: number): Promise<{ problems: string[]; order: string }> {
  const world = createWorld({ seed });
  const events: StoredEvent[] = [];
  const model = scriptedModel(
    {
      lead: [
        [calls("subagent_reviewer", { task: "Review a.ts." }), calls("subagent_reviewer", { task: "Review b.ts." })],
        says("Merge it."),
      ],
      "lead/reviewer": [fails("overloaded"), says("a.ts is fine.")],
      "lead/reviewer#2": [[after(500), says("b.ts is fine.")]],
    },
    { clock: world.clock, schedule: (path) => world.turn(path) },
  );
  const runtime = createRuntime({ host: world.host });
  const { usage } = await world.run(() =>
    runtime.run(reviewLead(model), "Review this change.", {
      onEvent: (event) => event.seq !== undefined && events.push(event),
    }),
  );
  const problems = checkHistory(events, { providerUsage: model.reported, resultUsage: usage });
  return { problems, order: events.map(({ path, type }) => `${path} ${type}`).join("\n") };
}

const runs = await Promise.all(Array.from({ length: 50 }, (_, index) => runSeed(index + 1)));
const again = await runSeed(7);
console.log(`seeds: ${runs.length}, problems: ${runs.flatMap(({ problems }) => problems).length}`);
console.log(`several orders: ${new Set(runs.map(({ order }) => order)).size > 1}`);
console.log(`the same seed, the same order: ${again.order === runs[6]?.order}`);

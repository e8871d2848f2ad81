/** The same definitions for the process that begins a tree and the one that continues it. */

import { appendFileSync, existsSync } from "node:fs";
import { agent, tool } from "sous";
import { calls, says, scriptedModel } from "sous/testing";
import * as z from "zod";

/** The file in which the surveyors write down each visit: outside of the journal, as any effect is. */
export const visits: string = process.argv[3] ?? "visits.txt";

const visit = tool({
  name: "visit",
  description: "Goes there and looks.",
  effect: "idempotent",
  inputSchema: z.object({ place: z.string() }),
  async execute({ place }) {
    appendFileSync(visits, `${place}\n`);
    // The mill takes long: on the first visit it never comes to an end.
    if (place === "mill" && !existsSync(`${visits}.again`)) await new Promise(() => setTimeout(() => {}, 60_000));
    return `The ${place} still stands.`;
  },
});

const survey = (place: string) => ({ label: place, task_prompt: `Visit the ${place}.` });

const model = scriptedModel({
  lead: [calls("parallel_subagent", { tasks: [survey("barn"), survey("mill")] }), says("Both still stand.")],
  "lead/barn": [calls("visit", { place: "barn" }), says("The barn still stands.")],
  "lead/mill": [calls("visit", { place: "mill" }), says("The mill still stands.")],
});

export const lead = agent({ name: "lead", model, tools: [visit], delegate: true });

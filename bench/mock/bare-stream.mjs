/** The mock as the simplest stream there is, for the bare loops and for the model port of sous. */

import { createBrain, DELTA } from "./brain.mjs";

/**
 * @param {import("./brain.mjs").Plan} plan
 * @param {(messages: object[]) => number} countResults
 * @returns {(messages: object[]) => AsyncGenerator<{ type: string }>}
 */
export function createBareModel(plan, countResults = countToolMessages) {
  const brain = createBrain(plan, countResults);
  return async function* stream(messages) {
    const step = brain.next(messages);
    if (step.wait) await step.wait();
    for (let index = 0; index < step.deltas; index++) yield { type: "text", delta: DELTA };
    for (const call of step.calls) yield { type: "call", id: call.id, name: call.name, json: call.json };
    yield { type: "end" };
  };
}

function countToolMessages(messages) {
  let count = 0;
  for (const message of messages) if (message.role === "tool") count++;
  return count;
}

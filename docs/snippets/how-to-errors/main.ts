/** Endings of runs, and errors that are thrown: partial answers, failures with a result, and mistakes in the setup. */

import {
  type AgentDefinition,
  agent,
  fanOut,
  type Model,
  ModelError,
  openMemoryStore,
  RunError,
  run,
  type Store,
  StoreError,
  ToolFailure,
  tool,
  UserError,
} from "sous";
import { calls, fails, says, scriptedModel } from "sous/testing";

// #region ask
async function ask(lead: AgentDefinition, task: string): Promise<string> {
  try {
    const { status, text } = await run(lead, task);
    return status === "completed" ? text : `${status}, so far: ${text}`;
  } catch (error) {
    if (error instanceof RunError) {
      const { text, error: why } = error.result;
      return `failed (${why?.type}): ${why?.message}; so far: ${text || "nothing"}`;
    }
    if (error instanceof UserError) return `not started: ${error.message}`;
    throw error;
  }
}
// #endregion

const lead = agent({ name: "lead", maxTurns: 1 });
// With a key in ANTHROPIC_API_KEY: model: "anthropic/claude-sonnet-4-5"
const done = lead.with({ model: scriptedModel(says("All is well.")) });
const outOfTurns = lead.with({ model: scriptedModel([says("I look first."), calls("look")]) });
const broken = lead.with({ model: scriptedModel(fails("auth", { message: "The key was not accepted" })) });
const noKey = lead.with({ model: "anthropic/claude-sonnet-4-5" });
for (const each of [done, outOfTurns, broken, noKey]) console.log(await ask(each, "Look around."));

// #region result
const { status, error } = await run(broken, "Look around.").result;
console.log(status, error?.type, error?.kind);
// #endregion

// #region fan-out
for (const { status, text, error } of await fanOut(broken, ["Look here.", "Look there."]))
  console.log(status, text || error?.message);
// #endregion

// #region tool-failure
const open = tool({
  name: "open",
  description: "Opens a door.",
  inputSchema: { type: "object", properties: { door: { type: "string" } }, required: ["door"] },
  execute: () => {
    throw new ToolFailure("There is no such door. Use look to see the doors.");
  },
});
// #endregion
const opener = agent({
  name: "opener",
  model: scriptedModel(calls("open", { door: "third" }), says("There is no third door.")),
  tools: [open],
});
await run(opener, "Open the third door.", {
  onEvent: (event) => event.type === "tool-call-end" && console.log(`the model reads: ${event.output}`),
});

// #region model-error
const ownModel: Model = {
  id: "house/model",
  async answer() {
    const response = { status: 401, text: "Who are you?" }; // what your server answered
    if (response.status === 401) throw new ModelError("auth", response.text, { status: response.status });
    throw new ModelError("unknown", response.text, { status: response.status });
  },
};
// #endregion
console.log((await run(lead.with({ model: ownModel }), "Look around.").result).error?.kind);

// #region store-error
const memory = openMemoryStore();
const fullStore: Store = Object.create(memory, {
  append: {
    value: () => {
      throw new StoreError("The disk is full");
    },
  },
});
const unstored = await run(done, "Look around.", { store: fullStore }).result;
console.log(unstored.status, unstored.lost);
const required = await run(done, "Look around.", { store: fullStore, requireStore: true }).result;
console.log(required.status, required.error?.type);
// #endregion

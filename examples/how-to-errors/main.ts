/** How runs end, and what is thrown: partial answers, failures with a result, and mistakes in the setup. */

import { type AgentDefinition, agent, fanOut, RunError, run, UserError } from "sous";
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

// #region fan-out
for (const { status, text, error } of await fanOut(broken, ["Look here.", "Look there."]))
  console.log(status, text || error?.message);
// #endregion

/** One agent and one question. */

// #region all
import { agent, run } from "sous";
import { says, scriptedModel } from "sous/testing";

// With a key in ANTHROPIC_API_KEY: const model = "anthropic/claude-sonnet-4-5";
const model = scriptedModel(says("A run is one execution of an agent."));

const guide = agent({ name: "guide", model, instructions: "Answer in one sentence." });

const { text, status, turns } = await run(guide, "What is a run?");
console.log(text);
console.log(`${status}, turns: ${turns}`);
// #endregion

/** Limits on what a tree may spend: children, tokens and time. */

import { agent, fanOut, run, tool } from "sous";
import { calls, hangs, says, scriptedModel, uses } from "sous/testing";

const read = tool({
  name: "read",
  description: "Reads the next page.",
  effect: "read",
  inputSchema: { type: "object", properties: {} },
  execute: () => "A page of text.",
});

// #region executions
// With a key in ANTHROPIC_API_KEY: model: "anthropic/claude-sonnet-4-5"
const scout = agent({ name: "scout", model: scriptedModel(says("Done.")) });

const results = await fanOut(scout, ["one", "two", "three"], { budget: { executions: 2 } });
for (const { status, text, error } of results) console.log(`${status}: ${error?.message ?? text}`);
// #endregion

// #region tokens
const reader = agent({
  name: "reader",
  tools: [read],
  model: scriptedModel({
    // This reader would read for ever. In its last turn it may not call tools.
    reader: ({ mayCallTools }) =>
      mayCallTools
        ? [says("One page more."), calls("read"), uses({ input: 1_000, output: 100 })]
        : [says("Two pages, both about rights."), uses({ input: 1_000, output: 20 })],
  }),
});

const partial = await run(reader, "Sum up the book.", { budget: { tokens: 5_000 } });
console.log(`${partial.status}: ${partial.text}`);
console.log(`within the budget: ${partial.usage.totalTokens <= 5_000}`);
// #endregion

// #region time
const slow = agent({ name: "slow", model: scriptedModel([says("Half of it"), hangs()]) });

const late = await run(slow, "Count to a million.", { budget: { durationMs: 50 } });
console.log(`${late.status}: ${late.text}`);
// #endregion

// #region share
const greedy = agent({ name: "greedy", model: scriptedModel(says("Done.")), budget: { tokens: 50_000 } });

const [refused] = await fanOut(greedy, ["a task"], { budget: { tokens: 10_000 } });
console.log(`${refused?.status}: ${refused?.error?.type}`);
// #endregion

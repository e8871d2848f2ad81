/** Talking to a tree while it runs and after it: steering, stopping, background children, follow-ups. */

import { agent, run, tool } from "sous";
import { type Answer, calls, hangs, says, scriptedModel, streams } from "sous/testing";

const search = tool({
  name: "search",
  description: "Finds files.",
  effect: "read",
  inputSchema: { type: "object", properties: {} },
  execute: () => "src/login.test.ts, src/rights.test.ts, lib/old.test.ts",
});

/** The answers of the lead, each to the message it read last. */
const leadLines: [read: string, answer: Answer][] = [
  ["How many tests", calls("subagent_scout", { task: "Find the tests." })],
  [
    "Search twice",
    [calls("subagent_scout", { task: "Search here." }), calls("subagent_slow", { task: "Search there." })],
  ],
  ["Look around", calls("subagent", { label: "scout", agent: "scout", task_prompt: "Look.", background: true })],
  ["runs in the background", says("I wait.")],
  ["Report of the background", says("The scout is back.")],
  ["You must stop now", says("Two so far; lib/ is open.")],
  ["longest", says("login.test.ts.")],
  ["", says("Two tests.")],
];
const model = scriptedModel({
  lead({ messages }) {
    const last = JSON.stringify(messages.at(-1));
    return leadLines.find(([read]) => last.includes(read))?.[1] ?? [];
  },
  "lead/scout": [calls("search"), says("login.test.ts, rights.test.ts"), says("One under lib/.")],
  "lead/slow": [[streams("Half ", "of it"), hangs()]],
});

// #region agents
// With a key in ANTHROPIC_API_KEY: const model = "anthropic/claude-sonnet-4-5";
const scout = agent({ name: "scout", description: "Finds files.", tools: [search] });
const slow = agent({ name: "slow", description: "Searches everything.", tools: [search] });
const lead = agent({ name: "lead", model, subagents: [scout, slow], delegate: true });
// #endregion

// #region steer
const steered = run(lead, "How many tests are there?", {
  onEvent(event) {
    if (event.type === "tool-call-start" && event.path === "lead/scout") {
      console.log(`told: ${steered.steer("lead/scout", "Only look under src/.")}`);
    }
    if (event.type === "steer") console.log(`${event.path} reads: ${event.text}`);
  },
});
console.log((await steered).text);
console.log(`told: ${steered.steer("lead/scout", "Too late.")}`);
// #endregion

// #region stop
const searching = run(lead, "Search twice.", {
  onEvent({ type, path }) {
    if (type === "text-delta" && path === "lead/slow") searching.cancel("lead/slow");
  },
});
const { agents } = await searching;
for (const { path, status } of agents) console.log(`${path}: ${status}`);
// #endregion

// #region wrap-up
const ending = run(lead, "How many tests are there?", {
  onEvent({ type, path }) {
    if (type === "tool-call-start" && path === "lead/scout") ending.cancel(undefined, { mode: "wrap-up" });
  },
});
const partial = await ending;
console.log(`${partial.status}: ${partial.text}`);
// #endregion

// #region background
const looking = run(lead, "Look around.", {
  onEvent(event) {
    if (event.type === "report") console.log(event.text.split("\n").slice(0, 2).join(" "));
  },
});
console.log((await looking).text);
// #endregion

// #region follow-up
const next = steered.followUp("Which is the longest?");
console.log((await next).text);
// #endregion

// #region send
let answer: Promise<string> | undefined;
const asked = run(lead, "How many tests are there?", {
  onEvent({ type, path }) {
    // The scout has reported; the lead still has to answer.
    if (type === "tool-call-end" && path === "lead") answer = asked.send("lead/scout", "And under lib/?");
  },
});
await asked;
console.log(await answer);
await asked.send("lead/scout", "And now?").catch(({ message }) => console.log(message));
// #endregion

// #region progress
const index = tool({
  name: "index",
  description: "Reads all files into the index.",
  inputSchema: { type: "object", properties: {} },
  execute(_input, { progress }) {
    const files = ["login.ts", "rights.ts"];
    for (const [done, file] of files.entries()) {
      progress(`reads ${file}`, done, files.length);
      // … the work on this file
    }
    return `${files.length} files`;
  },
});
// #endregion
const builder = agent({ name: "builder", model: scriptedModel(calls("index"), says("Indexed.")), tools: [index] });
await run(builder, "Build the index.", {
  onEvent(event) {
    if (event.type === "tool-progress") console.log(`${event.toolName}: ${event.text} (${event.done}/${event.total})`);
  },
});

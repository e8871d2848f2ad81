/** Runs of the command line with agents of files are run again from their recording alone. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agentFile, agentStage, calls, DONE } from "../../../support/app/cli/agent-stage.ts";

const LOOK = { label: "look", task_prompt: "Look." };
const FILES = {
  "project/AGENTS.md": "Use tabs.",
  "config/sous/agents/scout.md": agentFile("scout", "tools: [read_file, list_files]\ndelegate: true"),
  "config/sous/agents/reviewer.md": agentFile("reviewer", "notes: false"),
};

suite("G6: a rerun of", () => {
  const cases: [what: string, script: object, ...options: string[]][] = [
    [
      "agents by their tool and by their name, in one run",
      {
        sous: [
          calls("subagent_scout", { task: "Look." }),
          calls("subagent", { ...LOOK, agent: "scout", max_turns: 4 }),
          calls("parallel_subagent", {
            tasks: [
              { ...LOOK, agent: "reviewer" },
              { ...LOOK, label: "plain" },
            ],
          }),
          ...DONE,
        ],
        "sous/scout": [calls("subagent", { ...LOOK, label: "below" }), ...DONE],
        "**": [calls("list_files", {}), ...DONE],
      },
    ],
    [
      "unknown agents and tools, without children",
      { sous: [calls("subagent", LOOK), calls("nothing", {}), ...DONE] },
      "--tools",
      "read_file",
    ],
    [
      "unknown agents, with some tools for children",
      {
        sous: [
          calls("subagent", { ...LOOK, agent: "reviewer" }),
          calls("subagent", { ...LOOK, agent: "skout" }),
          calls("subagent", { ...LOOK, agent: "scout" }),
          calls("parallel_subagent", { tasks: [LOOK] }),
          ...DONE,
        ],
        "**": [calls("nothing", {}), calls("subagent", { ...LOOK, agent: "nobody" }), ...DONE],
      },
      "--tools",
      "read_file,subagent,subagent_scout",
    ],
    [
      "an agent in the background",
      {
        sous: [calls("subagent", { ...LOOK, agent: "scout", background: true }), calls("subagent_wait", {}), ...DONE],
        "**": [calls("list_files", {}), ...DONE],
      },
    ],
  ];
  for (const [what, script, ...options] of cases) {
    test(`G6: a rerun is the same with ${what}`, async () => {
      await using here = await agentStage(FILES);
      await here.trust();
      assert.equal((await here.run(script, ...options)).result.status, "completed");
      const { code, stdout, stderr } = await here.command("replay", "--rerun", "--id", "last");
      assert.deepEqual([code, stderr], [0, ""], stdout);
    });
  }
});

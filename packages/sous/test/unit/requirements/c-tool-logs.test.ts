/** C3, C4: tool logs of the tools that come with sous, and of tools with a name for people. */

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { describeOutput } from "../../../src/app/cli/view/plain-lines.ts";
import { readOnlyTools } from "../../../src/app/tools/read-only.ts";
import { agent } from "../../../src/core/agent.ts";
import { type Tool, type ToolOptions, tool } from "../../../src/core/tool.ts";
import type { NamedAgentResult } from "../../../src/runtime/subagents/named-agent.ts";
import type { ToolLog } from "../../../src/runtime/subagents/tool-logs.ts";
import { calls, says } from "../../../src/testing/steps.ts";
import { runTree, type TreeTrial } from "../../support/requirements/run-tree.ts";

/** What one specialist with these tools did, as its caller reads it. */
async function logsOf(
  tools: readonly Tool[],
  made: readonly [name: string, input: object][],
): Promise<{ logs: ToolLog[]; stage: TreeTrial["stage"] }> {
  const { returned, stage } = await runTree({
    script: {
      lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")],
      "lead/scout": [...made.map(([name, input]) => calls(name, input)), says("Done.")],
    },
    lead: { delegate: false, subagents: [agent({ name: "scout", tools: [...tools] })] },
  });
  return { logs: (returned[0]?.result.data as NamedAgentResult).toolLogs, stage };
}

function plain(name: string, output: unknown, options: Partial<ToolOptions<{ type: "object" }>> = {}): Tool {
  const inputSchema = { type: "object" } as const;
  return tool({ name, description: name, effect: "read", inputSchema, ...options, execute: () => output }) as Tool;
}

suite("C3: the name for people", () => {
  test("C3: a tool's displayName is used; without one its name is made readable", async () => {
    const { logs } = await logsOf(
      [plain("echo", "a", { displayName: "Shout" }), plain("look_up", "b"), plain("odd", "c", { displayName: "" })],
      [
        ["echo", {}],
        ["look_up", {}],
        ["odd", {}],
        ["gone", {}],
      ],
    );
    assert.deepEqual(
      logs.map(({ name, displayName }) => [name, displayName]),
      [
        ["echo", "Shout"],
        ["look_up", "Look up"],
        ["odd", "Odd"],
        ["gone", "Gone"],
      ],
    );
  });

  test("C3: a specialist's own specialist is shown by the name of its tool", async () => {
    const { returned } = await runTree({
      script: {
        lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")],
        "lead/scout": [calls("subagent_deep", { task: "Look closer." }), says("Done.")],
        "lead/scout/deep": [says("One.\nTwo.")],
      },
      lead: { delegate: false, subagents: [agent({ name: "scout", subagents: [agent({ name: "deep" })] })] },
    });
    const [log] = (returned[0]?.result.data as NamedAgentResult).toolLogs;
    assert.deepEqual([log?.displayName, log?.context], ["Subagent: deep", "Look closer."]);
  });
});

suite("C4: counts are of what was found, never of notices, and the same as on the command line", () => {
  test("C4: read_file, grep, glob and list_files count what was found, cut and not", async () => {
    const folder = await mkdtemp(join(tmpdir(), "sous-logs-"));
    try {
      const lines = (count: number) => Array.from({ length: count }, (_, index) => `word ${index}\n`).join("");
      await writeFile(join(folder, "long.txt"), lines(3000));
      await writeFile(join(folder, "short.txt"), lines(3));
      await writeFile(join(folder, "empty.txt"), "");
      for (let index = 0; index < 1002; index++) await writeFile(join(folder, `f${index}.c`), "");
      const { logs, stage } = await logsOf(readOnlyTools({ root: folder }), [
        ["read_file", { path: "long.txt" }],
        ["read_file", { path: "short.txt" }],
        ["read_file", { path: "empty.txt" }],
        ["grep", { pattern: "word", path: "long.txt" }],
        ["grep", { pattern: "word 1", path: "short.txt" }],
        ["grep", { pattern: "nowhere" }],
        ["glob", { pattern: "*.txt" }],
        ["glob", { pattern: "*.md" }],
        ["glob", { pattern: "*.c" }],
        ["list_files", { path: "." }],
      ]);
      assert.deepEqual(
        logs.map(({ result }) => result),
        [
          "2000+ lines",
          "3 lines",
          "0 lines",
          "200+ matches",
          "1 match",
          "0 matches",
          "3 files",
          "0 files",
          "1000+ files",
          "1000+ files",
        ],
      );
      assert.deepEqual(
        logs.map(({ result }) => result),
        stage.eventsOf("tool-call-end", "lead/scout").map(describeOutput),
      );
    } finally {
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    }
  });

  test("C4: a text that was cut says so, and the line that says it is not counted", async () => {
    const long = `${"x".repeat(99)}\n`.repeat(2000);
    const notice = "[400 bytes of output were left out here; write it to a file to look at all of it]";
    const { logs } = await logsOf(
      [
        plain("read", long),
        plain("ponder", long),
        plain("bash", `a\n${notice}\nb`),
        plain("web_search", { success: true, output: "a\nb", metadata: { truncated: true } }),
        plain("counted", { success: true, output: "a\nb", metadata: { lines: 70, truncated: true } }),
        plain("sections", "[core]\nbare = true\n[remote origin]\n"),
      ],
      [
        ["read", {}],
        ["ponder", {}],
        ["bash", {}],
        ["web_search", {}],
        ["counted", {}],
        ["sections", {}],
      ],
    );
    const [read = "", ponder, ...others] = logs.map(({ result }) => result);
    // 100,000 bytes remain, 100 a line, and one line is cut in two.
    assert.match(read, /^(999|100[01])\+ lines$/);
    assert.equal(ponder, read);
    assert.deepEqual(others, ["2+ lines", "2+ lines", "70+ lines", "3 lines"]);
  });
});

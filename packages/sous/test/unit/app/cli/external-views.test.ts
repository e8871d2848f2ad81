/** Acts of an external agent are shown as the activity of its run: in the tree, as lines, in a stored run and in exports. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { readRun, showLines } from "../../../../src/app/cli/replay/show-lines.ts";
import { chooseStyle } from "../../../../src/app/cli/terminal/style.ts";
import { plainLine } from "../../../../src/app/cli/view/plain-lines.ts";
import { RunTree } from "../../../../src/app/cli/view/run-tree.ts";
import { foldRecording } from "../../../../src/storage/replay/recording.ts";
import { stepsOf } from "../../../../src/storage/replay/run-steps.ts";
import { exportTree } from "../../../../src/storage/store/export/tree.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { externalTree } from "../../../support/external-tree.ts";

const style = chooseStyle({ color: "never", isAscii: false, isTerminal: false, env: {} });

suite("D5: the calls of an external agent", () => {
  test("a call of an external agent is the activity of its run, with its result, and no tool call of ours", () => {
    const tree = new RunTree("→");
    const seen: string[] = [];
    for (const event of externalTree().events) {
      tree.apply(event);
      const node = tree.get("claude");
      if (node !== undefined && event.runId === "claude") seen.push(node.activity + node.result);
    }
    assert.deepEqual(seen, [
      "starts",
      "starts",
      "thinking",
      "Bash  npm test",
      "Bash  npm test  → failed: 3 failed",
      "edit  src/a.ts",
      "wants: write_file  src/a.ts",
      "edit  src/a.ts",
      "edit  src/a.ts  → edited",
      "edit  src/a.ts  → edited",
      "It works now.",
    ]);
    assert.equal(tree.get("claude")?.toolCount, 0);
  });

  test("a call of an external agent is told in plain lines", () => {
    const tree = new RunTree("→");
    const lines = externalTree().events.flatMap((event) => {
      tree.apply(event);
      return event.runId === "claude" ? (plainLine(event, tree, style) ?? []) : [];
    });
    assert.deepEqual(lines.slice(1, -1), [
      "lead/claude  works in a session of Claude Code",
      "lead/claude  Bash  npm test  → failed: 3 failed",
      "lead/claude  wants: write_file  src/a.ts",
      "lead/claude  allowed",
      "lead/claude  edit  src/a.ts  → edited",
    ]);
  });

  test("calls of an external agent are shown with the stored run", async () => {
    const store = openMemoryStore();
    await store.append("lead", externalTree().events);
    const record = await store.run("claude");
    assert.ok(record !== undefined);
    const shown = readRun(record, await store.read("lead", { runId: "claude" }), 0);
    const lines = showLines(shown, { style, columns: 100, isFull: false });
    assert.ok(lines.includes("  session  Claude Code · session-1"));
    assert.deepEqual(lines.slice(lines.indexOf("Done by itself")), [
      "Done by itself",
      "  → Bash  npm test failed",
      "    3 failed",
      "  → edit  src/a.ts",
      "    edited",
    ]);
  });

  test("calls of an external agent are in exports, with approval and result", async () => {
    const store = openMemoryStore();
    await store.append("lead", externalTree().events);
    const page = await exportTree(store, "lead", "md");
    assert.match(page, /Opened the session session-1 of Claude Code\./);
    assert.match(page, /→ `Bash: npm test` ✗ \*\*failed\*\*/);
    assert.match(page, /→ `edit` ✓, `allowed by a person`/);
    const html = await exportTree(store, "lead", "html");
    assert.match(html, /<code>Bash: npm test<\/code> <span class="state">✗ failed/);
    assert.match(html, /allowed by a person/);
    assert.deepEqual(JSON.parse(await exportTree(store, "lead", "json")).events.length, externalTree().events.length);
  });

  test("a comparison of two runs shows a call of an external agent as a step", () => {
    const run = foldRecording(externalTree().events)?.runs.get("claude");
    assert.ok(run !== undefined);
    const tools = stepsOf([run], (path) => path).filter(({ kind }) => kind === "tool");
    assert.deepEqual(tools, [
      {
        kind: "tool",
        toolName: "Bash",
        input: { command: "npm test" },
        output: "3 failed",
        isError: true,
        children: [],
      },
      { kind: "tool", toolName: "edit", input: { path: "src/a.ts" }, output: "edited", isError: false, children: [] },
    ]);
  });
});

/** The table of built-in tools: what every part says of each, and how many files a new tool needs. */

import assert from "node:assert/strict";
import { after, suite, test } from "node:test";
import type * as readAgents from "../../../src/app/config/agents/read.ts";
import { builtInTools } from "../../../src/app/tools/built-in.ts";
import { readOnlyTools } from "../../../src/app/tools/read-only.ts";
import * as editor from "../../../src/bridges/acp/serve-calls.ts";
import type { Programs } from "../../../src/core/process.ts";
import type { ToolLogEntry } from "../../../src/core/tool-log.ts";
import { TOOL_ROWS, toolRow } from "../../../src/core/words/tools.ts";
import type * as policy from "../../../src/runtime/rights/policy.ts";
import * as rulePattern from "../../../src/runtime/rights/rule-pattern.ts";
import * as toolLogs from "../../../src/runtime/subagents/tool-logs.ts";
import { ChangedSources } from "../../support/changed-sources.ts";
import { NEW_TOOL } from "../../support/core/new-words.ts";
import { requestFor, rulesFrom } from "../../support/runtime/rights/requests.ts";
import { sourceFiles } from "../../support/source-files.ts";

const OUR_TOOLS = TOOL_ROWS.map(([name]) => name);

test("the table and the tools of the command line are the same tools in the same order", () => {
  const tools = builtInTools({ programs: {} as Programs });
  assert.deepEqual(
    tools.map(({ name, displayName, category, tier, effect }) => ({ name, displayName, category, tier, effect })),
    TOOL_ROWS.map(([name, { displayName, category, tier, effect }]) => ({ name, displayName, category, tier, effect })),
  );
  const free = TOOL_ROWS.filter(([, { tier }]) => tier === "observe").map(([name]) => name);
  assert.deepEqual(
    readOnlyTools().map(({ name }) => name),
    free,
  );
});

test("a name that every object has is not a built-in tool, and its calls are logged by their input", () => {
  for (const name of ["constructor", "toString", "__proto__", "hasOwnProperty", ""]) {
    assert.equal(toolRow(name), undefined);
    assert.equal(editor.kindOf(name), "other");
    const { context, result } = toolLogs.toToolLog(logged(name, { any: "word" }, "one\ntwo"));
    assert.deepEqual([context, result], ["word", "2 lines"]);
  }
});

const sources = new ChangedSources(NEW_TOOL);
after(() => sources[Symbol.dispose]());

suite("a new tool is its module, its row and its place in the list of tools", async () => {
  const list = await sources.load<typeof import("../../../src/app/tools/built-in.ts")>("app/tools/built-in.ts");
  const doors = {
    ...(await sources.load<typeof readAgents>("app/config/agents/read.ts")),
    ...(await sources.load<typeof editor>("bridges/acp/serve-calls.ts")),
    ...(await sources.load<typeof policy>("runtime/rights/policy.ts")),
    ...(await sources.load<typeof rulePattern>("runtime/rights/rule-pattern.ts")),
    ...(await sources.load<typeof toolLogs>("runtime/subagents/tool-logs.ts")),
  };
  const input = { path: "src/../.env", patch: "+x" };

  test("it is among the tools of the command line, with the words of its row", () => {
    const tools = list.builtInTools({ programs: {} as Programs });
    const names = tools.map(({ name }) => name);
    assert.deepEqual(names, ["patch_file", ...OUR_TOOLS]);
    const { displayName, category, tier, effect } = tools[0] ?? {};
    assert.deepEqual([displayName, category, tier, effect], ["Patch file", "edit", "confirm", "idempotent"]);
  });

  test("a rule judges its path, and a file that is guarded is asked about although everything is allowed", () => {
    const rules = rulesFrom("deny patch_file(.env*)", "allow patch_file(src/**)");
    const effectOn = (path: string) =>
      doors.createPolicy({ rules }).decide(requestFor("patch_file", { path, patch: "" }))?.effect;
    assert.deepEqual(["src/../.env", "src/a.ts", "docs/a.md"].map(effectOn), ["deny", "allow", undefined]);
    const guards = { top: "/workspace", refused: [], asked: ["/workspace/run.sh"], homes: [], programFolders: [] };
    const guarded = doors.createPolicy({ rules: [], allowsAll: true, guards });
    assert.equal(guarded.decide(requestFor("patch_file", { path: "run.sh", patch: "" }))?.effect, "ask");
    // Without the row a rule cannot speak of its path.
    assert.notEqual(rulePattern.checkPattern("patch_file(.env*)"), undefined);
    assert.equal(doors.checkPattern("patch_file(.env*)"), undefined);
  });

  test("a log tells its path and what was done, also under the name that others have for it", () => {
    for (const name of ["patch_file", "Hunk"]) {
      const { context, result } = doors.toToolLog(logged(name, { patch: "+x", path: "a.ts" }, "one\ntwo"));
      assert.deepEqual([context, result], ["a.ts", "patched"]);
    }
    assert.deepEqual(toolLogs.toToolLog(logged("patch_file", { patch: "+x" }, "one\ntwo")).result, "2 lines");
  });

  test("an editor shows its title, its kind and its change", () => {
    const who = { depth: 1, path: "lead/scout" };
    assert.equal(doors.callTitle(who, "patch_file", input), "lead/scout · patch_file src/../.env");
    assert.equal(doors.kindOf("patch_file"), "edit");
    assert.deepEqual(doors.diffOf("patch_file", { path: "a.ts", patch: "+x" }, "/project"), {
      type: "diff",
      path: "/project/a.ts",
      oldText: null,
      newText: "+x",
    });
    assert.deepEqual(
      [editor.kindOf("patch_file"), editor.diffOf("patch_file", input, "/project")],
      ["other", undefined],
    );
  });

  test("agent files name it in each dialect, limit it to single calls, and take it away with all that edits", () => {
    const read = (dialect: "sous" | "claude" | "gemini" | "opencode", keys: string) => {
      const front = `---\nname: x\ndescription: X.\n${keys}\n---\nWork.\n`;
      const given = { file: "x.md", text: front, dialect, scope: "user", checkRule: doors.checkPattern } as const;
      const { agent, problems } = doors.readAgentFile(given);
      assert.deepEqual(problems, []);
      return agent;
    };
    const limited = read("claude", "tools: Patch(src/**)");
    assert.deepEqual(
      [limited?.tools, limited?.only.map(({ pattern }) => pattern)],
      [["patch_file"], ["patch_file(src/**)"]],
    );
    assert.deepEqual(read("sous", "tools: [patch_file, Patch]")?.tools, ["patch_file"]);
    assert.deepEqual(read("gemini", "tools: [patch]")?.tools, ["patch_file"]);
    const denied = read("opencode", "permission: { edit: deny }")?.deny;
    assert.deepEqual(denied, ["patch_file", "write_file", "edit_file"]);
  });
});

/** Files that name built-in tools besides the table and the folder of the tools, and which. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  // The demonstration plays a model that calls them.
  "app/cli/commands/demo-script.ts": ["read_file", "list_files", "glob", "grep"],
  // It judges what is given to it as a command; of doctor and of a kind of ACP only the words are the same.
  "app/cli/commands/permissions.ts": ["terminal"],
  "app/cli/doctor/machine.ts": ["terminal"],
  "bridges/acp/serve-calls.ts": ["fetch"],
  "bridges/acp/schema.ts": ["terminal"],
  // What an external agent does, and what it is lent, is judged as calls of our tools.
  "bridges/acp/external.ts": ["read_file", "write_file", "terminal"],
  "bridges/acp/lent-tools.ts": ["read_file", "write_file", "terminal"],
  "bridges/acp/permission.ts": ["read_file", "glob", "grep", "write_file", "terminal", "fetch"],
  "core/external-agent.ts": ["read_file", "write_file", "terminal"],
  "runtime/loop/external-host.ts": ["terminal"],
  // A file that a shell opens is judged as a call of our tools.
  "runtime/rights/action.ts": ["read_file", "write_file"],
  "runtime/rights/policy.ts": ["read_file", "write_file"],
};

test("a built-in tool is named in its module and in the table, and elsewhere only where this test says why", () => {
  const names = (text: string): string[] =>
    OUR_TOOLS.filter((name) => text.includes(`"${name}"`) || (name.includes("_") && text.includes(`${name}:`)));
  const others = sourceFiles().filter(({ path }) => !/^(?:app\/tools|core\/words|testing)\//.test(path));
  const found = others.map(({ path, text }) => [path, names(text)] as const).filter(([, named]) => named.length > 0);
  assert.deepEqual(Object.fromEntries(found), ELSEWHERE);
});

function logged(toolName: string, input: unknown, output: string): ToolLogEntry {
  const facts = { isDenied: false, durationMs: 1, displayName: undefined, counts: undefined };
  return { toolName, input, output, success: true, ...facts };
}

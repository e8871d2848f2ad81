/** The table of built-in tools: what every part says of each, and how many files a new tool needs. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { suite, test } from "node:test";
import { fileURLToPath } from "node:url";
import { builtInTools } from "../../../src/app/tools/built-in.ts";
import { readOnlyTools } from "../../../src/app/tools/read-only.ts";
import type { Programs } from "../../../src/core/process.ts";
import type { ToolLogEntry } from "../../../src/core/tool-log.ts";
import { TOOL_ROWS, toolRow } from "../../../src/core/words/tools.ts";
import { changedText } from "../../support/changed-sources.ts";
import { NEW_TOOL } from "../../support/core/new-words.ts";
import { importChanged } from "../../support/mutation.ts";
import { requestFor, rulesFrom } from "../../support/runtime/rights/requests.ts";
import { sourceFiles } from "../../support/source-files.ts";
import * as plainDoors from "./tool-doors.ts";

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
    assert.equal(plainDoors.kindOf(name), "other");
    const { context, result } = plainDoors.toToolLog(logged(name, { any: "word" }, "one\ntwo"));
    assert.deepEqual([context, result], ["word", "2 lines"]);
  }
});

suite("a row of the table is all that the parts need for a new tool", async () => {
  const fileUrl = import.meta.resolve("../../../src/core/words/tools.ts");
  const path = "core/words/tools.ts";
  const text = changedText(path, readFileSync(fileURLToPath(fileUrl), "utf8"), NEW_TOOL[path]);
  const doors = await importChanged<typeof plainDoors>(import.meta.resolve("./tool-doors.ts"), { fileUrl, text });
  const input = { path: "src/../.env", patch: "+x" };

  test("a rule judges its path, and a file that is guarded is asked about although everything is allowed", () => {
    const rules = rulesFrom("deny patch_file(.env*)", "allow patch_file(src/**)");
    const effectOn = (path: string) =>
      doors.createPolicy({ rules }).decide(requestFor("patch_file", { path, patch: "" }))?.effect;
    assert.deepEqual(["src/../.env", "src/a.ts", "docs/a.md"].map(effectOn), ["deny", "allow", undefined]);
    const guards = { top: "/workspace", refused: [], asked: ["/workspace/run.sh"], homes: [], programFolders: [] };
    const guarded = doors.createPolicy({ rules: [], allowsAll: true, guards });
    assert.equal(guarded.decide(requestFor("patch_file", { path: "run.sh", patch: "" }))?.effect, "ask");
    // Without the row a rule cannot speak of its path.
    assert.notEqual(plainDoors.checkPattern("patch_file(.env*)"), undefined);
    assert.equal(doors.checkPattern("patch_file(.env*)"), undefined);
  });

  test("a log tells its path and what was done, also under the name that others have for it", () => {
    for (const name of ["patch_file", "Hunk"]) {
      const { context, result } = doors.toToolLog(logged(name, { patch: "+x", path: "a.ts" }, "one\ntwo"));
      assert.deepEqual([context, result], ["a.ts", "patched"]);
    }
    assert.deepEqual(plainDoors.toToolLog(logged("patch_file", { patch: "+x" }, "one\ntwo")).result, "2 lines");
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
      [plainDoors.kindOf("patch_file"), plainDoors.diffOf("patch_file", input, "/project")],
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

suite("a tool is named in its module and in the table", () => {
  // The demonstration calls list_files; read_file, write_file and terminal also stand for redirections and for what is lent to other agents.
  const OWNERS: Readonly<Record<string, readonly string[]>> = {
    list_files: ["app/cli/commands/demo-script.ts", "app/tools/read-only.ts", "core/words/tools.ts"],
    edit_file: ["app/tools/edit-file.ts", "core/words/tools.ts"],
  };
  for (const [name, owners] of Object.entries(OWNERS)) {
    test(`${name} is a word in no other file`, () => {
      const naming = sourceFiles().filter(({ text }) => new RegExp(`"${name}"|\\b${name}:`).test(text));
      assert.deepEqual(naming.map(({ path }) => path).sort(), owners);
    });
  }
});

function logged(toolName: string, input: unknown, output: string): ToolLogEntry {
  const facts = { isDenied: false, durationMs: 1, displayName: undefined, counts: undefined };
  return { toolName, input, output, success: true, ...facts };
}

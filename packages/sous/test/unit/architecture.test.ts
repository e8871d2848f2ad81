/** ARCHITECTURE.md as a test: a star of rooms with `core/` in the middle, and a star of folders in each room. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { rootFolder, sourceFiles } from "../support/source-files.ts";
import { arrowsOf, brokenRules, importCycles, ROOMS, usedByOneRoom } from "../support/star.ts";

test("every import follows the picture", () => {
  assert.deepEqual(sourceFiles().flatMap(brokenRules), []);
});

test("every file is in a room with a known folder, or beside the rooms", () => {
  const known = [...Object.entries(ROOMS).flatMap(([room, folders]) => folders.map((folder) => `${room}/${folder}/`))];
  const alone = ["core/", "machine/", "rerun/", "engine/", "testing/"];
  const strays = sourceFiles()
    .map(({ path }) => path)
    .filter((path) => path.includes("/") && ![...known, ...alone].some((folder) => path.startsWith(folder)));
  assert.deepEqual(strays, []);
});

test("core/ holds nothing that one room alone uses", () => {
  // Both protocols read lines of JSON, and folders of a room may not import each other.
  assert.deepEqual(usedByOneRoom(sourceFiles()), ["core/json-lines.ts"]);
});

test("the architecture page counts the arrows between rooms as they are, give or take a tenth", () => {
  const page = readFileSync(join(rootFolder, "docs/explanation/architecture.md"), "utf8");
  const rows = [...page.matchAll(/^\| `(\w+)\/` \(([\d,]+) lines\) \| (\d+) \| (\d+) \| (.+) \|$/gm)];
  const isNear = (said: number, counted: number): boolean => Math.abs(said - counted) <= Math.max(2, counted / 10);
  for (const [row, room = "", lines = "", core, machine, others = ""] of rows) {
    const arrows = arrowsOf(room, sourceFiles());
    const toOthers = [...others.matchAll(/(\d+) to `(\w+)\/`/g)].map(([, count, to = ""]) => [to, Number(count)]);
    const said: Record<string, number> = {
      core: Number(core),
      machine: Number(machine),
      ...Object.fromEntries(toOthers),
    };
    assert.ok(isNear(Number(lines.replace(",", "")), arrows.lines), `${row}: ${arrows.lines} lines`);
    for (const to of new Set([...Object.keys(said), ...Object.keys(arrows.to)]))
      assert.ok(isNear(said[to] ?? 0, arrows.to[to] ?? 0), `${row}: ${arrows.to[to] ?? 0} to ${to}/`);
  }
  assert.deepEqual(rows.map(([, room]) => room).sort(), [...Object.keys(ROOMS), "rerun", "testing"].sort());
});

test("no files need each other to load", () => {
  assert.deepEqual(importCycles(sourceFiles()), []);
});

test("no two exported types have one name", () => {
  const owners = new Map<string, string[]>();
  for (const { path, text } of sourceFiles()) {
    for (const [, name = ""] of text.matchAll(/^export (?:abstract )?(?:type|interface|class) (\w+)/gm))
      owners.set(name, [...(owners.get(name) ?? []), path]);
  }
  assert.deepEqual(
    [...owners].filter(([, paths]) => paths.length > 1),
    [],
  );
});

test("no files of the tree need each other, not even for a type", () => {
  const ofTree = sourceFiles().filter(({ path }) => path.startsWith("runtime/tree/"));
  assert.deepEqual(importCycles(ofTree, { types: true }), []);
});

suite("what the picture refuses", () => {
  const planted: [rule: string, path: string, text: string, broken: string[]][] = [
    [
      "a folder that imports another folder",
      "runtime/loop/run-agent.ts",
      'import { reserve } from "../budget/ledger.ts";',
      ["runtime/loop/run-agent.ts: runtime/loop/ may import only itself and core/, not runtime/budget/ledger.ts"],
    ],
    [
      "a type from another folder",
      "runtime/loop/run-agent.ts",
      'import type { Ledger } from "../budget/ledger.ts";',
      ["runtime/loop/run-agent.ts: runtime/loop/ may import only itself and core/, not runtime/budget/ledger.ts"],
    ],
    [
      "an inline type from another folder",
      "runtime/loop/run-agent.ts",
      'export type Ledger = import("../budget/ledger.ts").Ledger;',
      ["runtime/loop/run-agent.ts: runtime/loop/ may import only itself and core/, not runtime/budget/ledger.ts"],
    ],
    [
      "a lazy import of another folder",
      "runtime/loop/run-agent.ts",
      'export const ledger = () => import("../budget/ledger.ts");',
      ["runtime/loop/run-agent.ts: runtime/loop/ may import only itself and core/, not runtime/budget/ledger.ts"],
    ],
    [
      "an export from another folder",
      "app/tools/grep.ts",
      'export { spawn } from "../process/spawn.ts";',
      ["app/tools/grep.ts: app/tools/ may import only itself and core/, not app/process/spawn.ts"],
    ],
    [
      "a room that imports another room",
      "storage/store/memory.ts",
      'import { createBus } from "../../runtime/events/bus.ts"; import "../../bridges/mcp/open.ts";',
      [
        "storage/store/memory.ts: storage/store/ may import only itself and core/, not runtime/events/bus.ts",
        "storage/store/memory.ts: storage/store/ may import only itself and core/, not bridges/mcp/open.ts",
      ],
    ],
    [
      "a recording in the tree of runs",
      "runtime/tree/spawn.ts",
      'import { play } from "../../storage/replay/playback.ts";',
      ["runtime/tree/spawn.ts: runtime/tree/ may import only itself and core/, not storage/replay/playback.ts"],
    ],
    [
      "a protocol or the application in a rerun",
      "rerun/stage.ts",
      'import "../bridges/mcp/open.ts"; import "../app/cli/main.ts";',
      [
        "rerun/stage.ts: rerun/ may import runtime/, storage/ and core/, not bridges/mcp/open.ts",
        "rerun/stage.ts: rerun/ may import runtime/, storage/ and core/, not app/cli/main.ts",
      ],
    ],
    [
      "the runtime below the command line and the tests",
      "runtime/subagents/spawn.ts",
      'import { createRuntime } from "../../runtime.ts";',
      ["runtime/subagents/spawn.ts: runtime/subagents/ may import only itself and core/, not runtime.ts"],
    ],
    [
      "the public door from inside",
      "app/cli/main.ts",
      'import { run } from "../../index.ts";',
      ["app/cli/main.ts: app/cli/ may not import index.ts"],
    ],
    [
      "the tree from a folder below it",
      "runtime/loop/run-agent.ts",
      'import { spawn } from "../tree/spawn.ts";',
      ["runtime/loop/run-agent.ts: runtime/loop/ may import only itself and core/, not runtime/tree/spawn.ts"],
    ],
    [
      "the runtime, the application or the tests from the tree",
      "runtime/tree/spawn.ts",
      'import "../../runtime.ts"; import "../../app/cli/main.ts"; import "../../testing/world.ts";',
      ["runtime.ts", "app/cli/main.ts", "testing/world.ts"].map(
        (to) => `runtime/tree/spawn.ts: runtime/tree/ may import only itself and core/, not ${to}`,
      ),
    ],
    [
      "anything but zod in the middle",
      "core/tool.ts",
      'import { z } from "zod"; import { run } from "../runtime/loop/run.ts"; import { join } from "node:path";',
      [
        "core/tool.ts: core/ may import only itself, not runtime/loop/run.ts",
        "core/tool.ts: core/ imports nothing but zod and re2js, not node:path",
      ],
    ],
    [
      "clocks, randomness and timers in the middle",
      "core/clock.ts",
      "Date.now(); new Date(); Math.random(); performance.now(); setTimeout(f, 1); globalThis.fetch; crypto.randomUUID();",
      [
        "core/clock.ts: core/ is pure, it may not use Date.now",
        "core/clock.ts: core/ is pure, it may not use new Date()",
        "core/clock.ts: core/ is pure, it may not use Math.random",
        "core/clock.ts: core/ is pure, it may not use performance.now",
        "core/clock.ts: core/ is pure, it may not use setTimeout",
        "core/clock.ts: core/ is pure, it may not use globalThis.fetch",
        "core/clock.ts: core/ is pure, it may not use crypto.randomUUID",
      ],
    ],
    [
      "a clock in runtime/secrets/",
      "runtime/secrets/redact.ts",
      'import "../../core/message.ts"; Date.now();',
      ["runtime/secrets/redact.ts: runtime/secrets/ is pure, it may not use Date.now"],
    ],
    [
      "runtime/secrets/ in a folder that does not need it",
      "runtime/loop/run-turn.ts",
      'import { createRedactor } from "../secrets/redact.ts";',
      ["runtime/loop/run-turn.ts: runtime/loop/ may import only itself and core/, not runtime/secrets/redact.ts"],
    ],
    [
      "the clock of the machine where it is an argument",
      "runtime/loop/run-turn.ts",
      'import { systemClock } from "../../machine/host.ts";',
      ["runtime/loop/run-turn.ts: runtime/loop/ may import only itself and core/, not machine/host.ts"],
    ],
    [
      "the AI SDK outside runtime/model/",
      "runtime/loop/run-turn.ts",
      'import type { LanguageModelV4 } from "@ai-sdk/provider";',
      ["runtime/loop/run-turn.ts: only runtime/model/ may import @ai-sdk/provider"],
    ],
    [
      "processes outside app/process/",
      "app/tools/terminal.ts",
      'import { spawn } from "node:child_process";',
      ["app/tools/terminal.ts: only app/process/ may import node:child_process"],
    ],
    [
      "a package nobody owns",
      "app/tools/read-only.ts",
      'import glob from "fast-glob";',
      ["app/tools/read-only.ts: fast-glob has no owner yet"],
    ],
    [
      "an import whose name is computed",
      "app/tools/read-only.ts",
      "export const load = (name: string) => import(name);",
      ["app/tools/read-only.ts: (computed) has no owner yet"],
    ],
    [
      "a file that is more than one thing",
      "app/tools/read-only.ts",
      "// line\n".repeat(301),
      ["app/tools/read-only.ts: 301 lines; past 300 it is more than one thing"],
    ],
  ];
  for (const [rule, path, text, broken] of planted) {
    test(`the picture refuses ${rule}`, () => assert.deepEqual(brokenRules({ path, text }), broken));
  }

  test("the picture refuses a file in core/ that one room alone uses", () => {
    const files = [
      { path: "core/state.ts", text: "" },
      { path: "runtime/loop/a.ts", text: 'import type { State } from "../../core/state.ts";' },
      { path: "index.ts", text: 'export type { State } from "./core/state.ts";' },
    ];
    assert.deepEqual(usedByOneRoom(files), ["core/state.ts"]);
    const used = { path: "storage/store/a.ts", text: 'import { state } from "../../core/state.ts";' };
    assert.deepEqual(usedByOneRoom([...files, used]), []);
  });

  test("the picture refuses files that need each other to load; types count when they are asked for, lazy imports never", () => {
    const files = [
      { path: "runtime/loop/a.ts", text: 'import { b } from "./b.ts"; import type { C } from "./c.ts";' },
      { path: "runtime/loop/b.ts", text: 'export { a } from "./a.ts"; export const c = () => import("./c.ts");' },
      { path: "runtime/loop/c.ts", text: 'import { b } from "./b.ts";' },
    ];
    assert.deepEqual(importCycles(files), ["runtime/loop/a.ts → runtime/loop/b.ts → runtime/loop/a.ts"]);
    const byType = [
      { path: "runtime/tree/a.ts", text: 'import type { B } from "./b.ts";' },
      { path: "runtime/tree/b.ts", text: 'import { a } from "./a.ts";' },
    ];
    assert.deepEqual(importCycles(byType), []);
    assert.deepEqual(importCycles(byType, { types: true }), [
      "runtime/tree/a.ts → runtime/tree/b.ts → runtime/tree/a.ts",
    ]);
  });
});

suite("the picture allows", () => {
  const allowed: [what: string, path: string, text: string][] = [
    [
      "its own folder and the middle",
      "runtime/loop/run.ts",
      'import "./turn.ts"; import type { A } from "../../core/agent.ts";',
    ],
    ["zod and Node anywhere else", "app/tools/grep.ts", 'import { z } from "zod"; import "node:fs/promises";'],
    [
      "a package in the folder that owns it",
      "runtime/model/ai-sdk.ts",
      'export const load = () => import("@ai-sdk/anthropic");',
    ],
    ["everything in the composition root", "runtime.ts", 'import "./loop/run.ts"; import "./budget/ledger.ts";'],
    [
      "everything in the tree of runs",
      "runtime/tree/spawn.ts",
      'import "../loop/run.ts"; import "../budget/ledger.ts";',
    ],
    ["everything in the application", "app/cli/main.ts", 'import "../config/load.ts"; import "../../runtime.ts";'],
    [
      "the runtime and the recordings in a rerun",
      "rerun/stage.ts",
      'import "../runtime/tree/tree.ts"; import "../storage/replay/playback.ts";',
    ],
    [
      "runtime/secrets/ in a folder that needs it",
      "app/tools/terminal.ts",
      'import { secretsOf } from "../../runtime/secrets/variables.ts";',
    ],
    [
      "the clock of the machine at a door",
      "storage/store/memory.ts",
      'import { systemClock } from "../../machine/host.ts";',
    ],
    [
      "the version in app/cli/",
      "app/cli/main.ts",
      'import manifest from "../../../package.json" with { type: "json" };',
    ],
    ["words that only look like clocks in the middle", "core/run.ts", 'const text = "Date.now()"; // Math.random()'],
  ];
  for (const [what, path, text] of allowed) test(what, () => assert.deepEqual(brokenRules({ path, text }), []));
});

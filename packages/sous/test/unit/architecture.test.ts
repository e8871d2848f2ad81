/** ARCHITECTURE.md as a test: a star with `core/` in the middle, `tree/` around it, `cli/` on top. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { sourceFiles } from "./source-files.ts";
import { brokenRules, importCycles } from "./star.ts";

test("every import follows the picture", () => {
  assert.deepEqual(sourceFiles().flatMap(brokenRules), []);
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
  const ofTree = sourceFiles().filter(({ path }) => path.startsWith("tree/"));
  assert.deepEqual(importCycles(ofTree, { types: true }), []);
});

suite("the picture refuses", () => {
  const planted: [rule: string, path: string, text: string, broken: string[]][] = [
    [
      "a folder that imports another folder",
      "loop/run-agent.ts",
      'import { reserve } from "../budget/ledger.ts";',
      ["loop/run-agent.ts: loop/ may import only itself and core/, not budget/ledger.ts"],
    ],
    [
      "a type from another folder",
      "loop/run-agent.ts",
      'import type { Ledger } from "../budget/ledger.ts";',
      ["loop/run-agent.ts: loop/ may import only itself and core/, not budget/ledger.ts"],
    ],
    [
      "an inline type from another folder",
      "loop/run-agent.ts",
      'export type Ledger = import("../budget/ledger.ts").Ledger;',
      ["loop/run-agent.ts: loop/ may import only itself and core/, not budget/ledger.ts"],
    ],
    [
      "a lazy import of another folder",
      "loop/run-agent.ts",
      'export const ledger = () => import("../budget/ledger.ts");',
      ["loop/run-agent.ts: loop/ may import only itself and core/, not budget/ledger.ts"],
    ],
    [
      "an export from another folder",
      "tools/grep.ts",
      'export { spawn } from "../process/spawn.ts";',
      ["tools/grep.ts: tools/ may import only itself and core/, not process/spawn.ts"],
    ],
    [
      "the runtime below the command line and the tests",
      "subagents/spawn.ts",
      'import { createRuntime } from "../runtime.ts";',
      ["subagents/spawn.ts: subagents/ may import only itself and core/, not runtime.ts"],
    ],
    [
      "the public door from inside",
      "cli/main.ts",
      'import { run } from "../index.ts";',
      ["cli/main.ts: cli/ may not import index.ts"],
    ],
    [
      "the tree from a folder below it",
      "loop/run-agent.ts",
      'import { spawn } from "../tree/spawn.ts";',
      ["loop/run-agent.ts: loop/ may import only itself and core/, not tree/spawn.ts"],
    ],
    [
      "the runtime, the application or the tests from the tree",
      "tree/spawn.ts",
      'import "../runtime.ts"; import "../cli/main.ts"; import "../testing/world.ts";',
      ["runtime.ts", "cli/main.ts", "testing/world.ts"].map(
        (to) => `tree/spawn.ts: tree/ may import only itself and core/, not ${to}`,
      ),
    ],
    [
      "anything but zod in the middle",
      "core/tool.ts",
      'import { z } from "zod"; import { run } from "../loop/run.ts"; import { join } from "node:path";',
      [
        "core/tool.ts: core/ may import only itself, not loop/run.ts",
        "core/tool.ts: core/ imports nothing but zod, not node:path",
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
      "a clock in secrets/",
      "secrets/redact.ts",
      'import "../core/message.ts"; Date.now();',
      ["secrets/redact.ts: secrets/ is pure, it may not use Date.now"],
    ],
    [
      "secrets/ in a folder that does not need it",
      "loop/run-turn.ts",
      'import { createRedactor } from "../secrets/redact.ts";',
      ["loop/run-turn.ts: loop/ may import only itself and core/, not secrets/redact.ts"],
    ],
    [
      "the clock of the machine where it is an argument",
      "loop/run-turn.ts",
      'import { systemClock } from "../host.ts";',
      ["loop/run-turn.ts: loop/ may import only itself and core/, not host.ts"],
    ],
    [
      "the AI SDK outside model/",
      "loop/run-turn.ts",
      'import type { LanguageModelV4 } from "@ai-sdk/provider";',
      ["loop/run-turn.ts: only model/ may import @ai-sdk/provider"],
    ],
    [
      "processes outside process/",
      "tools/terminal.ts",
      'import { spawn } from "node:child_process";',
      ["tools/terminal.ts: only process/ may import node:child_process"],
    ],
    [
      "a package nobody owns",
      "tools/glob.ts",
      'import glob from "fast-glob";',
      ["tools/glob.ts: fast-glob has no owner yet"],
    ],
    [
      "an import whose name is computed",
      "tools/glob.ts",
      "export const load = (name: string) => import(name);",
      ["tools/glob.ts: (computed) has no owner yet"],
    ],
    [
      "a file that is more than one thing",
      "tools/glob.ts",
      "// line\n".repeat(301),
      ["tools/glob.ts: 301 lines; past 300 it is more than one thing"],
    ],
  ];
  for (const [rule, path, text, broken] of planted) {
    test(rule, () => assert.deepEqual(brokenRules({ path, text }), broken));
  }

  test("files that need each other to load; types count when they are asked for, lazy imports never", () => {
    const files = [
      { path: "loop/a.ts", text: 'import { b } from "./b.ts"; import type { C } from "./c.ts";' },
      { path: "loop/b.ts", text: 'export { a } from "./a.ts"; export const c = () => import("./c.ts");' },
      { path: "loop/c.ts", text: 'import { b } from "./b.ts";' },
    ];
    assert.deepEqual(importCycles(files), ["loop/a.ts → loop/b.ts → loop/a.ts"]);
    const byType = [
      { path: "tree/a.ts", text: 'import type { B } from "./b.ts";' },
      { path: "tree/b.ts", text: 'import { a } from "./a.ts";' },
    ];
    assert.deepEqual(importCycles(byType), []);
    assert.deepEqual(importCycles(byType, { types: true }), ["tree/a.ts → tree/b.ts → tree/a.ts"]);
  });
});

suite("the picture allows", () => {
  const allowed: [what: string, path: string, text: string][] = [
    ["its own folder and the middle", "loop/run.ts", 'import "./turn.ts"; import type { A } from "../core/agent.ts";'],
    ["zod and Node anywhere else", "tools/grep.ts", 'import { z } from "zod"; import "node:fs/promises";'],
    [
      "a package in the folder that owns it",
      "model/ai-sdk.ts",
      'export const load = () => import("@ai-sdk/anthropic");',
    ],
    ["everything in the composition root", "runtime.ts", 'import "./loop/run.ts"; import "./budget/ledger.ts";'],
    ["everything in the tree of runs", "tree/spawn.ts", 'import "../loop/run.ts"; import "../budget/ledger.ts";'],
    ["everything in the application", "cli/main.ts", 'import "../config/load.ts"; import "../runtime.ts";'],
    ["secrets/ in a folder that needs it", "tools/terminal.ts", 'import { secretsOf } from "../secrets/variables.ts";'],
    ["the clock of the machine at a door", "store/memory.ts", 'import { systemClock } from "../host.ts";'],
    ["the runtime in testing/", "testing/world.ts", 'import { createRuntime } from "../runtime.ts";'],
    ["the version in cli/", "cli/main.ts", 'import manifest from "../../package.json" with { type: "json" };'],
    ["words that only look like clocks in the middle", "core/run.ts", 'const text = "Date.now()"; // Math.random()'],
  ];
  for (const [what, path, text] of allowed) test(what, () => assert.deepEqual(brokenRules({ path, text }), []));
});

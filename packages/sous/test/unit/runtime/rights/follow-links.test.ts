/** B5.1: where a path leads, also when its last part is not there yet. */

import assert from "node:assert/strict";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { ApprovalRequest } from "../../../../src/core/approval.ts";
import { followLinks } from "../../../../src/runtime/rights/follow-links.ts";
import { externalProblem } from "../../../../src/runtime/rights/target.ts";
import { temporaryTree } from "../../../support/app/tools/temporary-tree.ts";

test("B5.1: a path is followed as the kernel follows it: a link before going up from it", async () => {
  await using tree = await temporaryTree({ "work/": "", "outside/sub/": "" });
  const work = join(tree.path, "work");
  mkdirSync(join(work, "a/b"), { recursive: true });
  for (const [name, target] of [
    ["out", "../outside/sub"],
    ["new", "out/../new.txt"],
    ["loop", "./loop"],
    ["process", "/proc/self/cwd"],
    ["a/b/deep", "../../new"],
    ["root", `${tree.path}/outside/../work/a`],
  ] as const)
    symlinkSync(target, join(work, name));
  const rows: [path: string, leads: string][] = [
    ["new", "outside/new.txt"],
    ["a/b/deep", "outside/new.txt"],
    ["out/../x", "outside/x"],
    ["missing/../x", "work/x"],
    ["root/b/./x", "work/a/b/x"],
    ["loop", "work/loop"],
  ];
  for (const [path, leads] of rows) assert.equal(followLinks(`${work}/${path}`), join(tree.path, leads), path);
  assert.equal(followLinks(join(work, "process/x")), "/proc/self/cwd/x");
});

test("B6.4: an external agent is refused a path that each process sees in its own way", async () => {
  await using tree = await temporaryTree({});
  const cwd = process.cwd();
  const asked = (path: string): ApprovalRequest =>
    ({ toolName: "read_file", input: { path }, cwd, isExternal: true }) as unknown as ApprovalRequest;
  assert.equal(externalProblem(asked(join(cwd, "package.json"))), undefined);
  for (const path of [
    "/proc/self/cwd/package.json",
    `/proc/${process.pid}/cwd/package.json`,
    "/proc/thread-self/cwd/x",
  ])
    assert.equal(externalProblem(asked(path))?.effect, "refuse", path);
  symlinkSync("/proc/self/cwd", join(tree.path, "link"));
  assert.equal(externalProblem(asked(join(tree.path, "link/package.json")))?.effect, "refuse");
});

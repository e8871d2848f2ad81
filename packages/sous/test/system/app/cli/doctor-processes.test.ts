/** `sous doctor` and the processes that a run left behind. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { examine } from "../../../../src/app/cli/commands/doctor.ts";
import { bootOf } from "../../../../src/app/process/process-table.ts";
import { temporaryTree } from "../../../support/app/tools/temporary-tree.ts";

test("processes that an earlier run left are counted and left alone", async () => {
  await using home = await temporaryTree();
  const state = join(home.path, ".local/state/sous");
  const mark = `${"a1".repeat(16)}-`;
  const left = spawn("sleep", ["300"], {
    detached: true,
    stdio: "ignore",
    env: { PATH: process.env.PATH, MARK: mark },
  });
  try {
    await once(left, "spawn");
    mkdirSync(join(state, "programs"), { recursive: true, mode: 0o700 });
    const owner = { boot: bootOf(), pid: 2 ** 22 + 1, start: "1", mark };
    writeFileSync(join(state, "programs", `${mark}groups`), `${JSON.stringify(owner)}\n+ ${left.pid} 1\n`);
    const checks = await examine({
      cwd: home.path,
      env: { HOME: home.path, PATH: "/nonexistent" },
      flags: { model: undefined, config: undefined, "db-path": undefined, online: false },
      terminal: { isTerminal: false, columns: undefined, rows: undefined },
      versions: { node: process.versions.node, sous: "0.1.0" },
    });
    const { state: judged, found } = checks.find(({ name }) => name === "processes") ?? {};
    assert.match(`${judged}: ${found}`, /^warning: 1 left by runs/);
    assert.equal(left.exitCode, null);
    assert.equal(process.kill(left.pid ?? 0, 0), true);
  } finally {
    left.kill("SIGKILL");
  }
});

/** R14 by effect: nothing of a repository is read or run before it is trusted. The trace is in `npm run interop`. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import {
  beginnings,
  hostileEnvironment,
  hostilePackage,
  hostileRepository,
} from "../../figures/r14-hostile-repository.ts";
import { compiled, MAIN, sous } from "../../support/app/cli/sous-process.ts";

test("R14: no command hangs on a pipe of an untrusted repository or starts one of its programs", async () => {
  using hostile = hostileRepository({ asPipes: true });
  const env = hostileEnvironment(hostile);
  // Those that look at a project most; all of them are in the trace.
  const some = beginnings(hostile.script).filter(([name = ""]) => ["run", "chat", "agents", "doctor"].includes(name));
  const ended = await Promise.all(
    some.map(async (parameters) => {
      const { code } = await sous(parameters, { cwd: hostile.folder, env });
      return [parameters[0], code];
    }),
  );
  assert.deepEqual(
    ended.filter(([, code]) => code === null),
    [],
    "a command waited for a pipe until it was killed",
  );
  assert.deepEqual(ended.slice(0, 3), [
    ["run", 0],
    ["chat", 0],
    ["agents", 0],
  ]);
  assert.deepEqual(hostile.markers(), []);
});

test("R14: the canaries are seen: the same repository, once it is trusted, is read", async () => {
  using hostile = hostileRepository({ asPipes: false });
  const env = hostileEnvironment(hostile);
  await sous(["trust", "--yes"], { cwd: hostile.folder, env });
  const { code, stderr } = await sous(["run", "Hello", "--model", `script/${hostile.script}`], {
    cwd: hostile.folder,
    env,
  });
  assert.equal(code, 3, stderr);
  assert.match(stderr, /\.sous\/config\.yaml/);
});

test("R14: with the PATH that npm run and npx really make, no program of the repository is started", async () => {
  const command = [process.execPath, "--conditions=sous-source", MAIN];
  const started = await Promise.all(
    ["npm", "npx"].map(async (program) => {
      using hostile = hostilePackage(command);
      const args = program === "npm" ? ["run", "--silent", "look"] : ["--no", "-c", hostile.script];
      const env = { PATH: process.env.PATH, HOME: hostile.home, NODE_COMPILE_CACHE: compiled, TERM: "dumb" };
      const place = { cwd: hostile.folder, env, timeout: 60_000 };
      const { stdout, stderr } = await promisify(execFile)(program, args, place);
      assert.match(stdout, /Looked\./);
      // It was in PATH, and a command was run without it.
      assert.match(stderr, /commands do not find the programs in .*repository\/node_modules\/\.bin/);
      return hostile.markers();
    }),
  );
  assert.deepEqual(started, [[], []]);
});

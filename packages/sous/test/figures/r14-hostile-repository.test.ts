/** R14 by effect: nothing of a repository is read or run before it is trusted. The trace is in `npm run interop`. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { sous } from "../cli/sous-process.ts";
import { beginnings, hostileEnvironment, hostileRepository } from "./r14-hostile-repository.ts";

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

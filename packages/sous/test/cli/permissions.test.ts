/** `sous permissions test` says of a command what the rules would do with it. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryTree } from "../tools/temporary-tree.ts";
import { sous } from "./sous-process.ts";

test("B5.3: permissions test names the answer, the rule that decides and what is not understood", async () => {
  await using tree = await temporaryTree({
    "config/sous/config.yaml": 'permissions:\n  - deny: "terminal(git push*)"\n  - allow: "terminal(npm test*)"\n',
    "work/": "",
  });
  const env = { XDG_CONFIG_HOME: join(tree.path, "config"), HOME: tree.path };
  const ask = async (...parameters: string[]) => {
    const { stdout, code } = await sous(["permissions", "test", ...parameters, "--json"], {
      cwd: join(tree.path, "work"),
      env,
    });
    assert.equal(code, 0);
    const { answer, decided_by, understood, problem } = JSON.parse(stdout);
    return { answer, by: /^\w+ [^ ]*(?: [^ ]*\))?/.exec(decided_by)?.[0], understood, problem };
  };
  assert.deepEqual(await ask("npm test -- x"), {
    answer: "allow",
    by: "allow terminal(npm test*)",
    understood: true,
    problem: null,
  });
  assert.deepEqual(await ask("timeout 9 git push"), {
    answer: "deny",
    by: "deny terminal(git push*)",
    understood: true,
    problem: null,
  });
  const problem = "$ is expanded; only $HOME and $? are understood, and any $ in single quotes";
  assert.deepEqual(await ask("echo $X"), { answer: "ask", by: "deny terminal(git push*)", understood: false, problem });
  assert.deepEqual(await ask("echo $X", "--yes"), {
    answer: "deny",
    by: "deny terminal(git push*)",
    understood: false,
    problem,
  });
});

/** What a worker of the command line may be made to do by what is in the database, and what no run inside of another may do. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { engineOf, withoutForeignModels } from "../../../../src/app/cli/application/placing.ts";
import { databaseFile, databaseSecrets, isAddress, shownDatabase } from "../../../../src/app/cli/files/paths.ts";
import type { ModelChoice } from "../../../../src/core/agent.ts";
import { UserError } from "../../../../src/core/errors.ts";
import type { Model } from "../../../../src/core/model.ts";
import { encodeWithin, WITHIN_VARIABLE } from "../../../../src/core/within.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { scriptFolder } from "../../../support/app/cli/run-process.ts";

suite("the models of a worker", () => {
  const asked: ModelChoice[] = [];
  const resolve = withoutForeignModels(
    (choice) => {
      asked.push(choice);
      return {} as Model;
    },
    {
      model: "anthropic/one",
      models: { allow: ["openai/cheap"] },
      files: [{ model: "google/named" }, { model: "inherit" }],
    },
  );
  for (const model of ["anthropic/one", "anthropic/two", "openai/cheap", "google/named"])
    test(`a run on ${model} is continued`, () => {
      resolve(model);
      assert.equal(asked.at(-1), model);
    });
  for (const model of ["openai/dear", "google/other", "script//tmp/answers.json", "external/claude"])
    test(`a run on ${model}, which no one has named here, is not`, () => {
      assert.throws(() => resolve(model), UserError);
      assert.notEqual(asked.at(-1), model);
    });
});

test("an engine needs a store that can place, and only a command that must place says so", () => {
  assert.equal(engineOf(openMemoryStore(), undefined)?.sharesWorkspace, true);
  assert.equal(engineOf(undefined, undefined), undefined);
  assert.throws(() => engineOf(undefined, "roots"), /Runs are not stored here/);
});

test("sous inside of another run leaves nothing to workers, and is none itself", async () => {
  await using folder = await scriptFolder({ answers: { sous: [{ text: "Done." }] } });
  const { path } = folder;
  const env = {
    ...{ XDG_DATA_HOME: path, XDG_CONFIG_HOME: path, XDG_STATE_HOME: path, SOUS_MODEL: "script/answers.json" },
    [WITHIN_VARIABLE]: encodeWithin({ depth: 1, maxDepth: 3, tokens: 1000, costUsd: undefined, durationMs: undefined }),
  };
  for (const words of [["run", "Go.", "--detach"], ["worker"]]) {
    const { code, stdout, stderr } = await inProcess(words, { cwd: path, env });
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, /This sous runs inside of another run, whose limits do not hold on workers/);
  }
});

suite("the address of a database", () => {
  const address = "postgres://sous:correct-horse-battery@db.example:5432/runs";

  test("is taken as it is, and a path is made absolute", () => {
    assert.equal(databaseFile(address, {}), address);
    assert.deepEqual(["postgresql://x/y", "./postgres://x", "sous.db"].map(isAddress), [true, false, false]);
  });

  test("is shown without its password, which is hidden wherever it stands", () => {
    assert.equal(shownDatabase(address), "postgres://sous@db.example:5432/runs");
    assert.deepEqual(Object.values(databaseSecrets(address)), ["correct-horse-battery"]);
    assert.deepEqual(databaseSecrets("/home/me/sous.db"), {});
  });
});

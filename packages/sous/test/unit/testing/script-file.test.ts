/** Scripts as JSON files. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ModelError } from "../../../src/core/errors.ts";
import { MODEL_ERROR_KINDS } from "../../../src/core/words/model-errors.ts";
import { parseScript } from "../../../src/testing/script-file.ts";

test("a script file can play every way in which a model fails, and no other", () => {
  const parse = (kind: string) => parseScript(JSON.stringify({ "*": [{ error: { kind } }] }), "answers.json");
  for (const kind of MODEL_ERROR_KINDS) {
    const error = new ModelError(kind, `The script fails with ${kind}`);
    assert.deepEqual(parse(kind), { "*": [[{ step: "fail", error }]] });
  }
  assert.throws(() => parse("tired"), /^UserError: answers\.json is not a script: \*\.0\.error\.kind: /);
});

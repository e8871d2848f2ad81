/** The signatures of the package: a user can name every type in them, and every time is in one unit. */

import assert from "node:assert/strict";
import { relative } from "node:path";
import { test } from "node:test";
import { mentionedTypes, numberFields, type PublicName, publicNames } from "../support/public-types.ts";
import { packageFolder, readManifest } from "../support/source-files.ts";

test("every type in a public signature can be imported from a door", () => {
  const exported = new Set(allNames().map(({ name, source }) => `${source.file}#${name}`));
  const missing = allNames().flatMap((each) =>
    mentionedTypes(each)
      .filter((type) => !exported.has(type))
      .map((type) => `${each.name}: ${relative(packageFolder, type)}`),
  );
  assert.deepEqual(missing, []);
});

test("every time in a public type is in milliseconds, and its name ends in Ms", () => {
  const wrong = allNames().flatMap((each) =>
    numberFields(each)
      .filter((field) => TIME.test(field) && !/(?:Ms|_ms)$/.test(field) && !OTHERS.has(`${each.name}.${field}`))
      .map((field) => `${each.name}.${field}`),
  );
  assert.deepEqual(wrong, []);
});

/** Names for a length of time. */
const TIME = /seconds|minutes|hours|days|timeout|duration|delay|interval|elapsed|patience|older|age$|ttl|lease/i;

/** Fields of stored events keep the unit that they are stored in; the third is a name of `pg`, the last takes texts too. */
const OTHERS = new Set([...["StoredBody.seconds", "StoredBudget.seconds", "PostgresQuery.query_timeout"]]);

function allNames(): PublicName[] {
  return Object.values(readManifest().exports).flatMap((conditions) =>
    typeof conditions === "string" ? [] : publicNames((conditions["sous-source"] ?? "").replace("./src/", "")),
  );
}

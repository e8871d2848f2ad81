/** The file of `sous agents new` shows every key of an agent file, each below a comment. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { agentTemplate } from "../../../../src/app/cli/commands/agent-template.ts";
import { DIALECT_KEYS } from "../../../../src/app/config/agents/dialects.ts";

/** Taken from other programs: without effect here, or another word for a key that is shown. */
const NOT_SHOWN = ["color", "mcpServers"];

const lines = agentTemplate("scout").split("\n");
/** A key at the beginning of a line, or of one that is commented out. */
const keys = lines.flatMap((line, index) => {
  const [, name] = /^(?:# )?([a-z_]+):(?: |$)/.exec(line) ?? [];
  return name === undefined || !Object.hasOwn(DIALECT_KEYS.sous, name) ? [] : [{ name, above: lines[index - 1] ?? "" }];
});

test("C1: the template has every key that an agent file may have, once", () => {
  const known = Object.keys(DIALECT_KEYS.sous).filter((key) => !NOT_SHOWN.includes(key));
  assert.deepEqual(keys.map(({ name }) => name).sort(), known.sort());
});

test("C1: every key of the template stands below a sentence about it", () => {
  assert.deepEqual(
    keys.filter(({ above }) => !/^# \w.*\.$/.test(above)).map(({ name }) => name),
    [],
  );
});

/** The words that sous trust shows are the words that bash reads there, with the real bash. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import fc from "fast-check";
import { shownWords } from "../../../../src/app/cli/terminal/shown-words.ts";

const env = { LC_ALL: "C.UTF-8", PATH: "/usr/bin:/bin" };
const isNew = spawnSync("bash", ["-c", "printf %s $'\\u00e9'"], { env }).stdout?.toString() === "é";

test("B4.2: bash reads the words that are shown as the words that are started", {
  skip: !isNew && "an old bash",
}, () => {
  const character = fc.oneof(
    fc.constantFrom(..."ab '\"\\$`!*?~#&;|<>(){}[]=\n\t\r\u0007\u001b\u007f"),
    fc.constantFrom("\u00a0", "\u200b", "\u202e", "\u0430", "\ufeff", "\u{1f600}", "\u{e0041}", "\\x20", "$'", "$A{"),
    fc.string({ unit: "grapheme", minLength: 1, maxLength: 1 }).filter((text) => text.isWellFormed() && text !== "\0"),
  );
  const word = fc.array(character, { maxLength: 12 }).map((characters) => characters.join(""));
  const lists = fc.sample(fc.array(word, { minLength: 1, maxLength: 5 }), 500);
  const script = lists.map((words) => `printf '%s\\0' ${shownWords(words)}; printf '\\1\\0'`).join("\n");
  const { stdout } = spawnSync("bash", ["--norc", "-c", script], { env });
  const read = stdout.toString().split("\u0001\0").slice(0, -1);
  assert.deepEqual(
    read,
    lists.map((words) => words.map((each) => `${each}\0`).join("")),
  );
});

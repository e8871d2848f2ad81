/** The page of troubleshooting shows no message that sous does not have. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { rootFolder, sourceFiles } from "../../support/source-files.ts";

const page = readFileSync(join(rootFolder, "docs/how-to/troubleshooting.md"), "utf8");

/** What stands in the first column, each with its fixed parts. */
const messages = page
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .flatMap((line) => [...(line.split(/(?<!\\)\|/)[1] ?? "").matchAll(/`([^`]+)`/g)].map(([, text = ""]) => text));

test("K1: every message on the page of troubleshooting is one that the sources have", () => {
  const sources = sourceFiles()
    .map(({ text }) => text)
    .join("\n");
  const invented = messages.filter((message) => partsOf(message).some((part) => !sources.includes(part)));
  assert.ok(messages.length > 80, `${messages.length} messages`);
  assert.deepEqual(invented, []);
});

function partsOf(message: string): string[] {
  return message.split("…").map((part) => part.trim());
}

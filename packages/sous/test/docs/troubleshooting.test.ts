/** The page of messages has every sentence that sous can say to a person, and no sentence that it does not. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { rootFolder, sourceFiles } from "../source-files.ts";
import { sentencesInSources } from "./sentences.ts";

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

test("K1: every sentence that is thrown at a person on the command line is on the page", () => {
  const parts = messages.map(partsOf);
  const missing = sentencesInSources()
    .filter(({ pieces }) => {
      const text = pieces.join(" … ");
      return !parts.some((each) => each.every((part) => text.includes(part)));
    })
    .map(({ file, pieces }) => `${file}: ${pieces.join(" … ")}`);
  assert.deepEqual(missing, []);
});

function partsOf(message: string): string[] {
  return message.split("…").map((part) => part.trim());
}

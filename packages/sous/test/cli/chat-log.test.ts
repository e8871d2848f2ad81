import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { runProcess, scriptFolder } from "./run-process.ts";

test("F1: a chat writes the life of its children to the file it is given", async () => {
  await using place = await scriptFolder({
    script: {
      sous: [
        { calls: [{ tool: "subagent", input: { label: "scout", task_prompt: "Look." } }] },
        { text: "Seen." },
        { text: "Again." },
      ],
      "sous/scout": [{ text: "Here." }],
    },
  });
  const log = join(place.path, "life.log");
  const { code, stdout } = await runProcess({
    cwd: place.path,
    parameters: ["chat", "--model", "script/script.json", "--quiet", "--log-file", log, "--log-format", "json"],
    input: "Look around\nOnce more\n",
  });
  assert.deepEqual([code, stdout], [0, "Seen.\nAgain.\n"]);
  const lines = (await readFile(log, "utf8")).trimEnd().split("\n");
  assert.deepEqual(
    lines.map((line) => [JSON.parse(line).event, JSON.parse(line).label]),
    [
      ["subagent.spawn", "scout"],
      ["subagent.complete", "scout"],
    ],
  );
});

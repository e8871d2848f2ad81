/** J3 headless: the four sentences against a fake provider that nobody here wrote, in the words of Anthropic and OpenAI. */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { Fixture } from "@copilotkit/aimock";
import { assertGolden } from "../../../support/app/cli/golden.ts";
import { runInProcess } from "../../../support/app/cli/in-process.ts";
import { runProcess, scriptFolder } from "../../../support/app/cli/run-process.ts";
import { startAimock, usage } from "../../../support/runtime/model/aimock.ts";

const SENTENCES = [
  "Use a subagent to research X, label it async_research",
  "Use a subagent with only the grep tool to search for retries",
  "Create a subagent that creates a subagent that creates a subagent that creates a subagent",
  "Use a subagent to analyse Z, summarise as bullet points",
] as const;
const [RESEARCH, SEARCH, NEST, ANALYSE] = SENTENCES;

/** Somebody who was told `said` calls a tool, and then says something. */
function turn(said: string, [name, input]: [tool: string, input: object], then: string): Fixture[] {
  // Exactly this: the tasks of the children are parts of the sentence.
  const isTold = (request: { messages: { role: string; content?: unknown }[] }): boolean =>
    textOf(request.messages.findLast(({ role }) => role === "user")?.content) === said;
  return [
    {
      match: { predicate: isTold, hasToolResult: false },
      response: { toolCalls: [{ name, arguments: JSON.stringify(input) }], usage: usage(900, 30) },
    },
    { match: { predicate: isTold, hasToolResult: true }, response: { content: then, usage: usage(1000, 10) } },
  ];
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map((part: { text?: string }) => part.text ?? "").join("") : "";
}

function says(said: string, answer: string): Fixture {
  return { match: { userMessage: said }, response: { content: answer, usage: usage(300, 9) } };
}

const child = (label: string, task_prompt: string, more: object = {}): [string, object] => [
  "subagent",
  { label, task_prompt, ...more },
];

const FIXTURES: Fixture[] = [
  ...turn(RESEARCH, child("async_research", "Find out about X."), "X is known now."),
  says("Find out about X.", "X was found."),
  ...turn(SEARCH, child("search", "Find retries.", { allowed_tools: ["grep"] }), "It is in pay.ts."),
  ...turn("Find retries.", ["grep", { pattern: "retries" }], "pay.ts:1"),
  ...turn(NEST, child("one", "Create three more."), "Three deep is as far as it goes."),
  ...turn("Create three more.", child("two", "Create two more."), "two is done"),
  ...turn("Create two more.", child("three", "Create one more."), "three is done"),
  ...turn("Create one more.", child("four", "Say hello."), "A fourth is not allowed."),
  ...turn(ANALYSE, child("analysis", "Analyse Z.", { summary_prompt: "As bullet points." }), "- Z is small"),
  says("As bullet points.", "- Z is small\n- Z is fast"),
  says("Analyse Z.", "Z is small and fast."),
];

const MODELS = ["anthropic/claude-sonnet-4-5", "openai/gpt-5.5"] as const;

for (const model of MODELS) {
  test(`J3: the four sentences work headless with ${model}`, async () => {
    await using server = await startAimock(FIXTURES);
    await using place = await scriptFolder({});
    await writeFile(join(place.path, "pay.ts"), "export const retries = 3;\n");
    const transcript: string[] = [];
    for (const sentence of SENTENCES) {
      const start = sentence === NEST && model === MODELS[0] ? runProcess : runInProcess;
      const { code, stdout, stderr } = await start({
        cwd: place.path,
        parameters: ["run", sentence, "--model", model, "--ephemeral"],
        env: server.environment,
      });
      assert.equal(code, 0, stderr);
      transcript.push(`$ sous run "${sentence}"`, ...stderr.split("\n").slice(0, -1), ...stdout.split("\n"));
    }
    const text = transcript.join("\n");
    assert.match(text, /Maximum subagent recursion depth \(3\) exceeded/);
    // Only the grep tool: the request of that child says so.
    const asked = server.requests().find(({ body }) => JSON.stringify(body).includes("Find retries."));
    const { tools } = (asked?.body ?? {}) as { tools?: { function?: { name: string } }[] };
    assert.deepEqual(
      tools?.map((each) => each.function?.name),
      ["grep"],
    );
    const steady = text.replaceAll(/\b\d+(?:\.\d)?s\b/g, "#.#s").replaceAll(/<?\$\d\.\d\d/g, "$#.##");
    // The same words, whoever answers.
    assertGolden("four-sentences-headless.txt", steady.split("\n"));
  });
}

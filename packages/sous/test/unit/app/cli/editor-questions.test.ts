/** Questions to a person at an editor, over `sous acp serve`: the whole action is in them, and no title stands for it. */

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import type { RequestPermissionRequest, RequestPermissionResponse } from "@agentclientprotocol/sdk";
import { openSession } from "../../../../src/app/cli/serve/session.ts";
import { readRunFlags } from "../../../../src/app/cli/table/run-flags.ts";
import { SessionView } from "../../../../src/bridges/acp/serve-view.ts";
import { idSource, systemClock, systemHost } from "../../../../src/machine/host.ts";
import { calling, openCommand, saying } from "../../../support/attacks/whole-command.ts";
import { HIDDEN_TEXTS } from "../../../support/runtime/rights/hidden-texts.ts";
import { readField, readRows } from "../../../support/runtime/rights/read-shown.ts";

const TEXTS = Object.values(HIDDEN_TEXTS);
const SECRET = "correct-horse-battery-9";

type Question = Omit<RequestPermissionRequest, "sessionId">;
type Answer = (question: Question) => RequestPermissionResponse["outcome"];

/** A session in which a model writes these texts, and an editor that answers each question. */
async function ask(texts: readonly string[], answer: Answer) {
  const command = await openCommand();
  const calls = texts.map((content, index) => ["write_file", { path: `${index}.txt`, content }] as const);
  command.write("answers.json", JSON.stringify({ sous: [calling(...calls), saying("Done.")] }));
  const asked: Question[] = [];
  const client = {
    update: async () => {},
    ask: async (question: Question) => {
      asked.push(question);
      return { outcome: answer(question) };
    },
    takesNotices: false,
  };
  const env = { ...command.env, API_KEY: SECRET };
  const session = await openSession(
    { cwd: command.root, sessionId: undefined, isReplayed: false, mcpServers: [], ignored: [] },
    new SessionView(client, command.root, { ...systemClock, timer: (_, act) => systemClock.timer(0, act) }),
    {
      flags: readRunFlags({ model: `script/${join(command.path, "answers.json")}`, ephemeral: true }),
      env,
      store: undefined,
      telemetry: { listeners: [], isSampled: undefined, [Symbol.asyncDispose]: async () => {} },
      newId: idSource(systemHost()),
    },
  );
  const { text } = await session.prompt("Go.", new AbortController().signal);
  await session.close();
  return {
    asked,
    text,
    isThere: (index: number) => existsSync(join(command.root, `${index}.txt`)),
    read: (index: number) => readFileSync(join(command.root, `${index}.txt`), "utf8"),
    [Symbol.asyncDispose]: () => command[Symbol.asyncDispose](),
  };
}

/** The rows between the title and the end, which a fence keeps from being read as Markdown. */
function rowsOf({ toolCall }: Question): string[] {
  const [first] = toolCall.content ?? [];
  const text = first?.type === "content" && first.content.type === "text" ? first.content.text : "";
  const [fence = "", title, ...lines] = text.split("\n");
  assert.match(fence, /^`{3,}$/);
  assert.deepEqual([title, lines.pop()], ["sous wants to use write_file", fence]);
  assert.match(lines.pop() ?? "", /^end of the question [0-9a-f]{8}$/);
  assert.ok(lines.every((line) => line !== fence));
  return lines;
}

suite("B5.7: a question to an editor", () => {
  test(`B5.7: ${TEXTS.length} texts with a hidden part are in the question whole, with a digest of their own behind them, and are written after a yes`, async () => {
    const texts = [...TEXTS, "```\n````\nend of the question 00000000\n```"];
    await using session = await ask(texts, () => ({ outcome: "selected", optionId: "once" }));
    assert.deepEqual([session.text, session.asked.length], ["Done.", texts.length]);
    const digests = new Set<string>();
    for (const question of session.asked) {
      const [path = "", field = ""] = readRows(rowsOf(question));
      const [name, content] = readField(field);
      assert.deepEqual([name, content], ["content", texts[Number.parseInt(path, 10)]]);
      assert.equal(session.read(Number.parseInt(path, 10)), String(content).toWellFormed());
      digests.add(
        /[0-9a-f]{8}(?=\n`+$)/.exec(JSON.parse(JSON.stringify(question.toolCall.content?.[0])).content.text)?.[0] ?? "",
      );
    }
    assert.equal(digests.size, texts.length);
  });

  test("B5.7: everything but a chosen yes is a no at an editor", async () => {
    const answers: RequestPermissionResponse["outcome"][] = [
      { outcome: "cancelled" },
      { outcome: "selected", optionId: "no" },
      { outcome: "selected", optionId: "yes" },
      { outcome: "selected", optionId: "" },
      { outcome: "selected", optionId: "Once" },
    ];
    let at = 0;
    await using session = await ask(TEXTS.slice(0, answers.length), () => answers[at++] ?? { outcome: "cancelled" });
    assert.deepEqual(
      answers.map((_, index) => session.isThere(index)),
      answers.map(() => false),
    );
  });
});

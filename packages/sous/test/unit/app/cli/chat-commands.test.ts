/** Lines of a chat that are not messages: other models, exports, agents, shell lines, attached files. */

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { agent } from "../../../../src/core/agent.ts";
import { ToolFailure } from "../../../../src/core/errors.ts";
import { textOf } from "../../../../src/core/message.ts";
import type { Programs } from "../../../../src/core/process.ts";
import { says } from "../../../../src/testing/steps.ts";
import { openStage, type Stage } from "../../../support/app/cli/chat-stage.ts";

async function folder() {
  const path = await mkdtemp(join(tmpdir(), "sous-chat-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, maxRetries: 5 }) };
}

const saidLast = ({ model }: Stage): string => textOf(model.requests.at(-1)?.messages.at(-1) ?? { content: [] });

/** Shell lines are run by this from now on. */
function runsBy({ application }: Stage, run: Programs["run"]): void {
  Object.assign(application, { programs: { ...application.programs, run } });
}

suite("/model", () => {
  test("/model takes another model, and after a message continues in a copy", async () => {
    await using stage = openStage({ "**": [[says("One.")]] });
    const { conversation } = stage.chat.chat;
    stage.type("/model other/model-1\r");
    await stage.screen.until("From the next message on the model is other/model-1.");
    assert.deepEqual([conversation.agent.model, conversation.isCopying], ["other/model-1", false]);
    stage.type("/model\r");
    await stage.screen.until("The model is other/model-1.");
    conversation.agent = stage.application.agent;
    stage.type("hello\r");
    await stage.screen.until("One.");
    await stage.chat.chat.settled();
    stage.type("/model other/model-2\r");
    await stage.screen.until("From the next message on the model is other/model-2.");
    assert.deepEqual([conversation.agent.model, conversation.isCopying], ["other/model-2", true]);
    stage.type("/model other\r");
    await stage.screen.until("error: A model is named provider/model");
  });
});

suite("/export", () => {
  test("/export writes the format of the file's ending, privately, and over no file", async () => {
    await using place = await folder();
    await using stage = openStage({ "**": [[says("An answer.")]] }, { columns: 200 });
    const file = (ending: string): string => join(place.path, `chat.${ending}`);
    stage.type(`/export ${file("md")}\r`);
    await stage.screen.until("error: Nothing has been stored yet that could be exported");
    stage.type("hello\r");
    await stage.screen.until("An answer.");
    await stage.chat.chat.settled();
    for (const ending of ["md", "html", "json"]) {
      stage.type(`/export ${file(ending)}\r`);
      await stage.screen.until(`Written to ${file(ending)}.`);
      assert.equal((await stat(file(ending))).mode & 0o777, 0o600);
    }
    stage.type(`/export ${file("md")}\r`);
    await stage.screen.until(`error: ${file("md")} already exists: give another name`);
    const [md = "", html = "", json = ""] = await Promise.all(
      ["md", "html", "json"].map((ending) => readFile(file(ending), "utf8")),
    );
    for (const text of [md, html, json]) assert.ok(text.includes("An answer."), text.slice(0, 200));
    assert.match(md, /^# /);
    assert.match(html, /^<!doctype html>/i);
    assert.equal(typeof JSON.parse(json), "object");
  });
});

suite("named agents", () => {
  test("/agents lists named agents with what they do", async () => {
    const agents = [agent({ name: "scout", description: "Finds things." }), agent({ name: "silent" })];
    await using stage = openStage({ "**": [[says("One.")]] }, { agents });
    stage.type("/agents\r");
    const text = await stage.screen.until("@silent");
    assert.match(text, /^ {2}@scout +Finds things\.\n {2}@silent *$/m);
  });

  test("only the beginning of a named agent's long answer joins what is said next", async () => {
    const agents = [agent({ name: "scout", description: "Finds things." })];
    const long = "x".repeat(70_000);
    await using stage = openStage({ sous: [[says("Read it.")]], scout: [[says(long)]] }, { agents });
    await stage.chat.submit("@scout Where?");
    await stage.chat.submit("And now?");
    const head = "I asked the agent scout: Where?\n\nIt answered: ";
    assert.equal(saidLast(stage), `${(head + long).slice(0, 64 * 1024)}\n[cut]\n\nAnd now?`);
  });
});

suite("a shell line", () => {
  test("a running shell line lets commands through, and nothing that is said", async () => {
    await using stage = openStage({ "**": [[says("One.")]] });
    const { promise, resolve } = Promise.withResolvers<void>();
    const { run } = stage.application.programs;
    runsBy(stage, (request) => promise.then(() => run(request)));
    stage.type("!make\r");
    await stage.screen.until("the shell line is running; Ctrl-C stops it");
    stage.type("hello\r");
    await stage.screen.until("error: A shell line is still running; Ctrl-C stops it");
    stage.type("/tree\r");
    await stage.screen.until("Nothing has run yet.");
    resolve();
    await stage.screen.until("ran make");
    stage.type("hello\r");
    await stage.screen.until("One.");
    assert.equal(stage.model.requestCount, 1);
  });

  test("a shell line that cannot be run says why, and a mistake of ours is not hidden", async () => {
    await using stage = openStage({ "**": [[says("One.")]] });
    runsBy(stage, () => Promise.reject(new ToolFailure("There is no program sh.")));
    stage.type("!make\r");
    await stage.screen.until("error: There is no program sh.");
    const mistake = new Error("a mistake");
    runsBy(stage, () => Promise.reject(mistake));
    await assert.rejects(stage.chat.submit("!make"), mistake);
    assert.equal(stage.chat.chat.isInShell, false);
  });
});

test("a file with fences of its own is attached in longer ones", async () => {
  await using place = await folder();
  await writeFile(join(place.path, "notes.md"), "````\ncode\n````\n```\nmore\n```\n");
  await using stage = openStage({ "**": [[says("One.")]] }, { cwd: place.path });
  await stage.chat.submit("See @notes.md");
  const fence = "`".repeat(5);
  const content = "````\ncode\n````\n```\nmore\n```\n";
  assert.equal(saidLast(stage), `See @notes.md\n\nnotes.md:\n${fence}\n${content}${fence}`);
});

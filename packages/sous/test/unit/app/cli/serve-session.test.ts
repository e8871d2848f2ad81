/** A session of an editor: a prompt that is over is not cancelled by the signal of its request. */

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { openSession } from "../../../../src/app/cli/serve/session.ts";
import { readOptions } from "../../../../src/app/cli/table/options.ts";
import { RUN } from "../../../../src/app/cli/table/run-entries.ts";
import { readRunFlags } from "../../../../src/app/cli/table/run-flags.ts";
import { SessionView } from "../../../../src/bridges/acp/serve-view.ts";
import { systemClock } from "../../../../src/machine/host.ts";
import { agentStage, DONE } from "../../../support/app/cli/agent-stage.ts";

test("a prompt of an editor that is over leaves no listener on the signal of its request", async () => {
  await using stage = await agentStage();
  const file = join(stage.path, "answers.json");
  await writeFile(file, JSON.stringify({ "**": DONE }));
  const { values } = readOptions(RUN, ["--model", `script/${file}`, "--ephemeral"]);
  const client = { update: async () => {}, ask: () => assert.fail("nothing is asked"), takesNotices: false };
  const session = await openSession(
    { cwd: stage.root, sessionId: undefined, isReplayed: false, mcpServers: [], ignored: [] },
    new SessionView(client, stage.root, systemClock),
    {
      flags: readRunFlags(values),
      env: stage.env,
      store: undefined,
      telemetry: { listeners: [], isSampled: undefined, [Symbol.asyncDispose]: async () => {} },
      newId: () => "01K2F8Q6ZV0000000000000001",
    },
  );
  const { signal } = new AbortController();
  const prompt = session.prompt("Go.", signal);
  assert.equal(getEventListeners(signal, "abort").length, 1);
  assert.equal((await prompt).text, "Done.");
  assert.equal(getEventListeners(signal, "abort").length, 0);
  await session.close();
});

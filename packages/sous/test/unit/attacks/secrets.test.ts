/** B3.3: a secret that a tool prints, a model says or a person types is in no event, no stored byte and no later request. */

import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, type TestContext, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { agent } from "../../../src/core/agent.ts";
import { ToolFailure } from "../../../src/core/errors.ts";
import type { StoredEvent } from "../../../src/core/event.ts";
import type { Store } from "../../../src/core/store.ts";
import { MAX_RESULT_BYTES } from "../../../src/core/truncate.ts";
import { createRuntime } from "../../../src/runtime.ts";
import { openMemoryStore } from "../../../src/storage/store/memory.ts";
import { openSqliteStore } from "../../../src/storage/store/sqlite/store.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { calls, fails, type Script, says, streams, thinks } from "../../../src/testing/steps.ts";
import { openStage, type Stage, simpleTool } from "../../support/requirements/support.ts";
import { randomText } from "../../support/runtime/secrets/made-up-keys.ts";
import { goOn, live, resultsOf, type Scenario } from "../../support/runtime/tree/restore/crash-points.ts";

const KEY = randomText("the key of the provider", 48);
/** Known by its shape alone. */
const TOKEN = `ghp_${randomText("a token", 36)}`;
const MARK = "[redacted: ANTHROPIC_API_KEY]";
const environment = { ANTHROPIC_API_KEY: KEY, PATH: "/usr/bin:/bin", MY_LIMIT: "100000" };

function stageOn(script: Script, store: Store = openMemoryStore()): Stage {
  return openStage(script, { runtime: { host: { environment }, store, limits: { summary: "never" } } });
}

/** Of eight letters in a row nobody can say that they are there by chance. */
function hasPieceOfKey(text: string): boolean {
  for (let start = 0; start + 8 <= KEY.length; start++) if (text.includes(KEY.slice(start, start + 8))) return true;
  return ["", "u", "us"].some((before) => text.includes(btoa(before + KEY).slice(4, 24)));
}

async function assertNotKept({ events, store }: Stage): Promise<void> {
  assert.ok(events.length > 0);
  for (const event of events) assert.ok(!hasPieceOfKey(JSON.stringify(event)), event.type);
  const [{ runId = "" } = {}] = events;
  for (const event of await store.read(runId)) assert.ok(!hasPieceOfKey(JSON.stringify(event)), event.type);
  for (const run of await store.tree(runId)) assert.ok(!hasPieceOfKey(JSON.stringify(run)), run.path);
}

function assertNotAsked({ model }: Stage): void {
  for (const { messages } of model.requests) assert.ok(!hasPieceOfKey(JSON.stringify(messages)));
}

/** What a tool may do with a secret, and what the model should read of it. */
const LEAKS: Record<string, { execute: () => unknown; reads: string }> = {
  "prints it": { execute: () => `key: ${KEY}`, reads: `key: ${MARK}` },
  "returns it in an object": { execute: () => ({ env: { key: KEY } }), reads: `{"env":{"key":"${MARK}"}}` },
  "throws it": {
    execute: () => {
      throw new Error(`401: ${KEY} is wrong`);
    },
    reads: `401: ${MARK} is wrong`,
  },
  "fails with it": {
    execute: () => {
      throw new ToolFailure(`Try another key than ${KEY}`);
    },
    reads: `Try another key than ${MARK}`,
  },
  "says it in an error and in an output": {
    execute: () => ({ success: false, output: `partly ${KEY}`, error: `no ${KEY}` }),
    reads: `no ${MARK}\npartly ${MARK}`,
  },
  "keeps it in its metadata": {
    execute: () => ({ success: true, output: "done", metadata: { headers: { [KEY]: [KEY] } } }),
    reads: "done",
  },
  "prints it as base64": { execute: () => btoa(`user:${KEY}`).slice(0, -4), reads: `dXNlcjp${MARK}` },
};

suite("B3.3: a tool that has got hold of a key", () => {
  for (const [what, { execute, reads }] of Object.entries(LEAKS)) {
    test(`a tool that has got hold of the provider's key and ${what} never shows it`, async () => {
      const stage = stageOn({ lead: [calls("leak"), says("Seen.")] });
      await stage.run(stage.lead({ tools: [simpleTool("leak", execute)] }));
      await assertNotKept(stage);
      assertNotAsked(stage);
      assert.deepEqual(
        stage.resultsOf("lead").map(({ output }) => output),
        [reads],
      );
    });
  }

  test("a tool that puts the provider's key into a document gives the model a mark instead of the document", async () => {
    const stage = stageOn({ lead: [calls("leak"), says("Seen.")] });
    const documents = [{ type: "file", mediaType: "application/pdf", data: btoa(`%PDF ${KEY}`) }];
    await stage.run(stage.lead({ tools: [simpleTool("leak", () => ({ success: true, output: "see", documents }))] }));
    await assertNotKept(stage);
    assertNotAsked(stage);
    assert.deepEqual(stage.resultsOf("lead")[0]?.files, [
      { type: "file", mediaType: "text/plain", data: btoa("[redacted: a file that holds a secret]") },
    ]);
  });

  test("a tool whose hook puts the provider's key back into the answer is redacted all the same", async () => {
    const stage = stageOn({ lead: [calls("leak"), says("Seen.")] });
    const hooks = { afterToolCall: () => ({ success: true, output: `hooked ${KEY}` }) };
    await stage.run(stage.lead({ tools: [simpleTool("leak")], hooks }));
    await assertNotKept(stage);
    assertNotAsked(stage);
  });

  test("a tool that prints the provider's key where its result is cut leaves no piece of it, wherever the cut is", async () => {
    const offsets = Array.from({ length: KEY.length + 20 }, (_, index) => index - 10);
    const [half, length] = [MAX_RESULT_BYTES / 2, MAX_RESULT_BYTES + 2_000];
    // The mark is shorter than the key, so the tail is measured from the end.
    const places = offsets.flatMap((offset) => [half - offset, length - half - KEY.length + offset]);
    const lead = [places.map((place) => calls("leak", { place })), says("Seen.")];
    const stage = stageOn({ lead });
    const leak = simpleTool("leak", (input) => {
      const { place } = input as { place: number };
      return ".".repeat(place) + KEY + ".".repeat(length - place - KEY.length);
    });
    await stage.run(stage.lead({ tools: [leak] }));
    await assertNotKept(stage);
    assertNotAsked(stage);
    assert.equal(stage.eventsOf("truncation").length, places.length, "all of them were cut");
    assert.ok(
      stage.resultsOf("lead").some(({ output }) => output.includes(`${MARK}\n[Notice: `)),
      "some at the mark",
    );
  });
});

suite("B3.3: a child that was told a secret", () => {
  test("a child that was told a secret reports it to its parent as a mark, wherever the report is cut", async () => {
    const offsets = Array.from({ length: KEY.length + 20 }, (_, index) => index - 10);
    const children = offsets.map((offset) =>
      calls("subagent", { label: `at${offset + 10}`, task_prompt: `Say ${KEY}.` }),
    );
    const stage = openStage(
      {
        lead: [children, says("Heard.")],
        "lead/*": ({ caller }) => {
          const offset = Number(caller.path.replace("lead/at", "")) - 10;
          return says(`${".".repeat(1_024 - offset)}${KEY}${".".repeat(2_000)}`);
        },
      },
      { runtime: { host: { environment }, limits: { summary: "never", outputMaxSize: 1_024 } } },
    );
    await stage.run(stage.lead());
    await assertNotKept(stage);
    for (const { messages } of stage.requestsOf("lead"))
      for (const message of messages) if (message.role === "tool") assert.ok(!hasPieceOfKey(JSON.stringify(message)));
    assert.equal(stage.eventsOf("truncation").length, children.length, "all of them were cut");
    const reports = stage.resultsOf("lead").map(({ output }) => output);
    assert.ok(
      reports.some((report) => report.includes(`${MARK}\n[Notice: cut after`)),
      "some at the mark",
    );
  });

  test("a child that was told a secret fails with a mark when its provider complains about it", async () => {
    const message = `Incorrect API key provided: ${KEY}`;
    const stage = stageOn({
      lead: [calls("subagent", { label: "scout", task_prompt: "Look." }), says("Pity.")],
      "lead/scout": [fails("auth", { message })],
    });
    await stage.run(stage.lead());
    await assertNotKept(stage);
    assertNotAsked(stage);
    assert.match(
      stage.resultsOf("lead")[0]?.output ?? "",
      /Incorrect API key provided: \[redacted: ANTHROPIC_API_KEY\]/,
    );
  });
});

test("B3.3: the report of a background child that failed over a secret has a mark in its place", async () => {
  const message = `Incorrect API key provided: ${KEY}`;
  const stage = stageOn({
    lead: [
      calls("subagent", { label: "scout", task_prompt: "Look.", background: true }),
      says("Waiting."),
      says("Pity."),
    ],
    "lead/scout": [fails("auth", { message })],
  });
  await stage.run(stage.lead());
  await assertNotKept(stage);
  assertNotAsked(stage);
  assert.match(stage.eventsOf("report")[0]?.text ?? "", /provided: \[redacted: ANTHROPIC_API_KEY\]/);
});

/** Everything a person and a model can say a secret in. */
function chattyStage(store: Store): { stage: Stage; inputs: unknown[]; run: () => Promise<void> } {
  const inputs: unknown[] = [];
  const stage = stageOn(
    {
      lead: [
        [thinks(`It is ${KEY}`), says(`I use ${KEY}`), calls("use", { header: `x: ${KEY}`, [KEY]: { deep: [KEY] } })],
        [calls(`use_${KEY}`, {}), calls("use", `{"cut": "${KEY}`)],
        [calls("subagent", { label: KEY, task_prompt: `Try ${KEY}.` })],
        streams(`{"answer": "`, KEY, `"}`),
      ],
      "**": [says(`It was ${KEY}`)],
    },
    store,
  );
  const use = simpleTool("use", (input) => {
    inputs.push(input);
    return "a plain result that is kept";
  });
  const outputSchema = { type: "object", properties: { answer: { type: "string" } }, required: ["answer"] } as const;
  const lead = stage.lead({ tools: [use], instructions: `The key is ${KEY}.`, outputSchema });
  const run = async () => {
    const handle = stage.start(lead, [{ type: "text", text: `Use ${KEY}.` }]);
    stage.when(
      ({ type }) => type === "tool-call-end",
      () => assert.ok(handle.steer("lead", `Or rather ${KEY}!`)),
    );
    const { status, text, output } = await stage.end(handle);
    assert.deepEqual(
      { status, text, output },
      { status: "completed", text: `{"answer": "${KEY}"}`, output: { answer: KEY } },
    );
  };
  return { stage, inputs, run };
}

suite("B3.3: a secret that a person or a model says", () => {
  test("a secret that is said is in no event, and is not kept from the live model nor from its tools", async () => {
    const { stage, inputs, run } = chattyStage(openMemoryStore());
    await run();
    await assertNotKept({ ...stage, events: stage.events.filter(({ seq }) => seq !== undefined) });
    assert.deepEqual(inputs, [{ header: `x: ${KEY}`, [KEY]: { deep: [KEY] } }], "the tool got the real value");
    const [first] = stage.requestsOf("lead");
    assert.deepEqual(first?.messages, [{ role: "user", content: [{ type: "text", text: `Use ${KEY}.` }] }]);
    assert.deepEqual(stage.eventsOf("tool-call-start")[0]?.input, { header: `x: ${MARK}`, [MARK]: { deep: [MARK] } });
    assert.deepEqual(stage.eventsOf("steer")[0]?.text, `Or rather ${MARK}!`);
  });

  test("a secret that is said is shown to the person who is asked, and not kept with the question", async () => {
    const asked: unknown[] = [];
    const stage = openStage(
      { lead: [calls("use", { key: KEY }), says("Done.")] },
      {
        runtime: {
          host: { environment },
          approve: async ({ input }) => {
            asked.push(input);
            return { allow: false, reason: `not with ${KEY}` };
          },
        },
      },
    );
    await stage.run(stage.lead({ tools: [simpleTool("use", undefined, { tier: "confirm" })] }));
    assert.deepEqual(asked, [{ key: KEY }]);
    await assertNotKept(stage);
  });

  test("a secret that is said is looked for by default among the variables of the process, as they were 20 ms ago", async () => {
    await createRuntime().run(agent({ name: "lead", model: scriptedModel(says("Done.")) }), "Go.");
    await pause(21);
    process.env.SOUS_TEST_ONLY_TOKEN = KEY;
    try {
      const model = scriptedModel(calls("leak"), says("Done."));
      const events: unknown[] = [];
      const lead = agent({ name: "lead", model, tools: [simpleTool("leak", () => KEY)] });
      await createRuntime().run(lead, "Go.", { onEvent: (event) => events.push(event) });
      assert.ok(!hasPieceOfKey(JSON.stringify([events, model.requests])));
      assert.match(JSON.stringify(events), /\[redacted: SOUS_TEST_ONLY_TOKEN\]/);
    } finally {
      delete process.env.SOUS_TEST_ONLY_TOKEN;
    }
  });
});

async function temporaryFolder(context: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "sous-secrets-"));
  context.after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

async function bytesIn(folder: string): Promise<string> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const contents = files
    .filter((file) => file.isFile())
    .map((file) => readFile(join(file.parentPath, file.name), "latin1"));
  return (await Promise.all(contents)).join("\n");
}

test("B3.3: no byte of a database or of its log holds a secret, while it is open and after", async (context) => {
  const folder = await temporaryFolder(context);
  const store = await openSqliteStore(join(folder, "runs.db"));
  const { run } = chattyStage(store);
  await run();
  const leaking = stageOn(
    { lead: [...Object.keys(LEAKS).map((what) => calls(what.replaceAll(" ", "_"))), says("Seen.")] },
    store,
  );
  const tools = Object.entries(LEAKS).map(([what, { execute }]) => simpleTool(what.replaceAll(" ", "_"), execute));
  await leaking.run(leaking.lead({ tools }));
  const open = await bytesIn(folder);
  await store[Symbol.asyncDispose]();
  for (const bytes of [open, await bytesIn(folder)]) {
    assert.match(bytes, /a plain result that is kept/, "texts can be found in it");
    assert.match(bytes, /\[redacted: ANTHROPIC_API_KEY\]/);
    assert.ok(!hasPieceOfKey(bytes));
  }
});

suite("B3.3, G5: after a restart a call whose input had a secret", () => {
  const transfer = (effect: "read" | "idempotent" | "unsafe"): Scenario => ({
    script: {
      lead: (request) =>
        resultsOf(request, "transfer").length === 0 ? calls("transfer", { token: TOKEN }) : says("Good."),
    },
    tools: (note) => [simpleTool("transfer", (_input, { callId }) => note(callId) ?? "sent", { effect })],
  });

  function upTo(events: readonly StoredEvent[], type: StoredEvent["type"]): StoredEvent[] {
    return events.slice(0, events.findIndex((event) => event.type === type) + 1);
  }

  for (const effect of ["read", "idempotent", "unsafe"] as const) {
    for (const [type, sentence] of [
      [
        "message-end",
        "This call was not made: the run was interrupted before it, and a secret in its input was not kept. Continue without it.",
      ],
      [
        "tool-call-start",
        "The outcome of this call is unknown: the run was interrupted before it was recorded. Look before you make it again.",
      ],
    ] as const) {
      test(`a call whose input had a secret is not made with a mark in its place: ${effect}, cut behind ${type}`, async () => {
        const scenario = transfer(effect);
        const { events, ran } = await live(scenario);
        assert.equal(ran.length, 1);
        const second = await goOn(scenario, upTo(events, type));
        assert.deepEqual(second.ran, []);
        const ends = second.events.filter((event) => event.type === "tool-call-end");
        assert.deepEqual(
          ends.map(({ output }) => output),
          [sentence],
        );
      });
    }
  }
});

test("B3.3: a variable that is set after the runtime was made is a secret for every tree after that", async () => {
  const variables: Record<string, string> = {};
  const stage = openStage({ lead: [calls("leak"), says("Seen.")] }, { runtime: { host: { environment: variables } } });
  const lead = stage.lead({ tools: [simpleTool("leak", () => KEY)] });
  variables.ANTHROPIC_API_KEY = KEY;
  await stage.run(lead);
  await assertNotKept(stage);
  assertNotAsked(stage);
});

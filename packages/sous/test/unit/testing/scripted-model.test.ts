/** The scripted model by itself: the words of a script, whose answer it is, and what is recorded. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { ModelError } from "../../../src/core/errors.ts";
import { type Message, userMessage } from "../../../src/core/message.ts";
import type { ModelAnswer } from "../../../src/core/model.ts";
import { type ScriptedModel, scriptedModel } from "../../../src/testing/scripted-model.ts";
import {
  after,
  beginsCall,
  calls,
  cuts,
  fails,
  hangs,
  refuses,
  reportsNoUsage,
  type Script,
  says,
  stopsAtLength,
  streams,
  thinks,
  thinksUnseen,
  uses,
} from "../../../src/testing/steps.ts";
import { VirtualClock } from "../../../src/testing/world.ts";
import { requestOf } from "./request.ts";

const ignore = () => {};

async function texts(model: ScriptedModel, ...paths: string[]): Promise<string[]> {
  const found: string[] = [];
  for (const path of paths) {
    const { message } = await model.answer(requestOf({ path }), ignore);
    found.push(message.content.map((part) => (part.type === "text" ? part.text : part.type)).join());
  }
  return found;
}

suite("A4: a scripted model needs no network", () => {
  test("an answer is made of its steps, in their order", async () => {
    const model = scriptedModel([
      thinks("Hm."),
      streams("Let ", "me ", "look."),
      calls("grep", { pattern: "x" }),
      calls("glob"),
      uses({ input: 10, output: 5, cached: 4, cacheWrite: 2 }),
    ]);
    const deltas: [string, string][] = [];
    const answer = await model.answer(requestOf(), (kind, text) => deltas.push([kind, text]));
    assert.deepEqual(answer, {
      message: {
        role: "assistant",
        content: [
          { type: "reasoning", text: "Hm." },
          { type: "text", text: "Let me look." },
          { type: "tool-call", callId: "call_lead_1", toolName: "grep", input: { pattern: "x" } },
          { type: "tool-call", callId: "call_lead_2", toolName: "glob", input: {} },
        ],
      },
      finish: "tool-calls",
      usage: {
        inputTokens: 10,
        outputTokens: 5,
        cachedInputTokens: 4,
        cacheWriteTokens: 2,
        totalTokens: 15,
        estimated: false,
      },
    } satisfies ModelAnswer);
    assert.deepEqual(deltas, [
      ["reasoning", "Hm."],
      ["text", "Let "],
      ["text", "me "],
      ["text", "look."],
      ["tool-input", 'grep{"pattern":"x"}'],
      ["tool-input", "glob{}"],
    ]);
  });

  test("an answer is cut in the arguments of a call, or behind thoughts that do not show", async () => {
    const model = scriptedModel(
      [beginsCall("grep", '{"pat'), cuts()],
      [thinksUnseen(), cuts()],
      [thinksUnseen(), says("Yes.")],
    );
    const deltas: [string, string][] = [];
    const answer = () => model.answer(requestOf(), (kind, text) => deltas.push([kind, text]));
    await assert.rejects(answer(), ModelError);
    await assert.rejects(answer(), ModelError);
    const { message } = await answer();
    assert.deepEqual(deltas, [
      ["tool-input", 'grep{"pat'],
      ["hidden", ""],
      ["hidden", ""],
      ["text", "Yes."],
    ]);
    assert.deepEqual(message.content, [{ type: "text", text: "Yes." }]);
  });

  test("each argument is one answer, and a single step needs no list", async () => {
    assert.deepEqual(await texts(scriptedModel([says("one")], says("two")), "lead", "lead"), ["one", "two"]);
  });

  test("every agent begins with the first answer", async () => {
    const model = scriptedModel(says("one"), says("two"));
    assert.deepEqual(await texts(model, "lead", "lead/a", "lead/a", "lead"), ["one", "one", "two", "two"]);
  });

  test("an agent that runs again from the start, under the same path, begins with the first answer", async () => {
    const model = scriptedModel(says("one"), says("two"));
    const ask = async (agentId: string) => (await model.answer(requestOf({ agentId }), ignore)).message.content;
    assert.deepEqual(await ask("first"), [{ type: "text", text: "one" }]);
    assert.deepEqual(await ask("second"), [{ type: "text", text: "one" }]);
    // A follow-up keeps the agent id and goes on where the run before it stopped.
    assert.deepEqual(await ask("first"), [{ type: "text", text: "two" }]);
  });

  test("an answer can depend on the request", async () => {
    const count = scriptedModel({ lead: ({ messages }) => says(`${messages.length} messages`) });
    assert.deepEqual(await texts(count, "lead", "lead"), ["1 messages", "1 messages"]);
    const mixed = scriptedModel(says("first"), ({ caller }) => [says(caller.path)]);
    assert.deepEqual(await texts(mixed, "lead", "lead"), ["first", "lead"]);
  });

  test("a script that has run out says whose it is and which answer is missing", async () => {
    const model = scriptedModel({ "lead/*": [says("one"), says("two")] });
    await texts(model, "lead/scout", "lead/scout");
    await assert.rejects(texts(model, "lead/scout"), {
      name: "ModelError",
      kind: "invalid_request",
      message: "The script for lead/scout has no answer 3",
    });
    await assert.rejects(texts(model, "lead"), {
      message: "The script has no answers for lead; it has them for lead/*",
    });
  });
});

suite("the answers of an agent are found", () => {
  const script: Script = {
    lead: [says("lead")],
    "lead/scout": [says("lead/scout")],
    "lead/*": [says("lead/*")],
    "lead/scout*": [says("lead/scout*")],
    "lead/**": [says("lead/**")],
    "*": [says("*")],
    "**/grepper": [says("**/grepper")],
  };
  const cases: [path: string, pattern: string][] = [
    ["lead", "lead"],
    ["lead/scout", "lead/scout"],
    ["lead/scout#2", "lead/scout*"],
    ["lead/writer", "lead/*"],
    ["lead/writer/helper", "lead/**"],
    ["lead/scout/grepper", "**/grepper"],
    ["other", "*"],
  ];
  for (const [path, pattern] of cases) {
    test(`the answers for ${path} are found under ${pattern}`, async () => {
      assert.deepEqual(await texts(scriptedModel(script), path), [pattern]);
    });
  }

  test("signs in a key mean themselves", async () => {
    const model = scriptedModel({ "a.b+(c)/*": [says("signs")], "**": [says("rest")] });
    assert.deepEqual(await texts(model, "a.b+(c)/d", "aXbb(c)/d"), ["signs", "rest"]);
  });
});

suite("a scripted model fails as providers do", () => {
  test("a scripted model fails with an error of a kind, and the next call takes the next answer", async () => {
    const model = scriptedModel(fails("rate_limit", { retryAfterMs: 2_000, status: 429 }), says("now"));
    await assert.rejects(model.answer(requestOf(), ignore), (error) => {
      assert.ok(error instanceof ModelError);
      assert.deepEqual([error.kind, error.retryAfterMs, error.status], ["rate_limit", 2_000, 429]);
      return true;
    });
    assert.deepEqual(await texts(model, "lead"), ["now"]);
  });

  test("a scripted model fails with any error, as it is", async () => {
    const crash = new TypeError("cannot read x");
    await assert.rejects(scriptedModel(fails(crash)).answer(requestOf(), ignore), (error) => error === crash);
  });

  test("a scripted model fails with a stream that is cut after a part of the text", async () => {
    const deltas: string[] = [];
    const model = scriptedModel([says("Half an ans"), cuts()]);
    await assert.rejects(
      model.answer(requestOf(), (_, text) => deltas.push(text)),
      { kind: "interrupted", message: "The stream was cut" },
    );
    assert.deepEqual(deltas, ["Half an ans"]);
  });

  test("a scripted model fails with a refusal and with an answer that is too long", async () => {
    const model = scriptedModel([says("No."), refuses()], [says("Once upon"), stopsAtLength()]);
    assert.equal((await model.answer(requestOf(), ignore)).finish, "content-filter");
    assert.equal((await model.answer(requestOf(), ignore)).finish, "length");
  });

  test("a scripted model is silent until the run is stopped", async () => {
    const stop = new AbortController();
    const answer = scriptedModel([says("I"), hangs()]).answer(requestOf({ signal: stop.signal }), ignore);
    stop.abort(new Error("enough"));
    await assert.rejects(answer, { message: "enough" });
  });
});

suite("a scripted model waits", () => {
  test("a scripted model waits on its clock, and no timer is left when it is stopped meanwhile", async () => {
    const clock = new VirtualClock(0);
    const model = scriptedModel({ lead: [[after(500), says("late")], after(500)] }, { clock });
    const first = model.answer(requestOf({ signal: new AbortController().signal }), ignore);
    clock.fireNext(() => 0);
    assert.deepEqual((await first).message.content, [{ type: "text", text: "late" }]);
    assert.equal(clock.monotonic(), 500);

    const stop = new AbortController();
    const second = model.answer(requestOf({ signal: stop.signal }), ignore);
    assert.equal(clock.liveTimers, 1);
    stop.abort(new Error("enough"));
    await assert.rejects(second, { message: "enough" });
    assert.equal(clock.liveTimers, 0);
  });

  test("a scripted model waits on the machine's clock when it has none of its own", async () => {
    const answer = scriptedModel([after(1), says("soon")]).answer(
      requestOf({ signal: new AbortController().signal }),
      ignore,
    );
    assert.deepEqual((await answer).message.content, [{ type: "text", text: "soon" }]);
  });

  test("a scripted model waits for its schedule before every part, and stops waiting when stopped", async () => {
    const gates: PromiseWithResolvers<void>[] = [];
    const schedule = () => {
      const gate = Promise.withResolvers<void>();
      gates.push(gate);
      return gate.promise;
    };
    const deltas: string[] = [];
    const model = scriptedModel({ "**": [[streams("a", "b"), calls("grep")]] }, { schedule });
    const stop = new AbortController();
    const answer = model.answer(requestOf({ signal: stop.signal }), (_, text) => deltas.push(text));
    const seen: string[] = [];
    for (let part = 0; part < 2; part++) {
      gates[part]?.resolve();
      await new Promise((resolve) => setImmediate(resolve));
      seen.push(deltas.join(""));
    }
    assert.deepEqual(seen, ["a", "ab"]);
    assert.equal(gates.length, 3);
    stop.abort(new Error("enough"));
    await assert.rejects(answer, { message: "enough" });
  });
});

suite("the usage of a scripted model", () => {
  test("usage is bytes ÷ 3 of everything sent and answered, and grows with the history", async () => {
    const model = scriptedModel(says("x".repeat(18)), says("y".repeat(18)));
    const messages: Message[] = [userMessage("z".repeat(288))];
    const first = await model.answer(requestOf({ messages }), ignore);
    assert.deepEqual([first.usage?.inputTokens, first.usage?.outputTokens], [101, 10]);
    messages.push(first.message, userMessage("w".repeat(18)));
    const second = await model.answer(requestOf({ messages }), ignore);
    assert.deepEqual([second.usage?.inputTokens, second.usage?.totalTokens], [121, 131]);
    assert.deepEqual(model.reported.totalTokens, 111 + 131);
  });

  test("usage counts instructions and tools", async () => {
    const model = scriptedModel(says(""));
    const tools = [{ name: "grep", description: "Search", inputSchema: {} }];
    const { usage } = await model.answer(requestOf({ messages: [], changes: { instructions: "abc", tools } }), ignore);
    assert.equal(usage?.inputTokens, Math.ceil((3 + JSON.stringify(tools).length) / 3));
  });

  test("usage is unknown when the script says so", async () => {
    const model = scriptedModel([says("x"), reportsNoUsage()]);
    assert.equal((await model.answer(requestOf(), ignore)).usage, undefined);
    assert.equal(model.reported.totalTokens, 0);
  });
});

test("a scripted model records its requests as they were, also when the history has grown since", async () => {
  const model = scriptedModel({ "**": () => says("ok") }, { id: "fake/one", contextWindow: 1_000 });
  const messages: Message[] = [userMessage("one")];
  const tools = [{ name: "grep", description: "Search", inputSchema: {} }];
  await model.answer(requestOf({ messages, changes: { tools, instructions: "Be brief." } }), ignore);
  messages.push(userMessage("two"));
  await model.answer(requestOf({ messages, changes: { mayCallTools: false } }), ignore);
  assert.deepEqual(
    model.requests.map((request) => ({ ...request })),
    [
      {
        path: "lead",
        runId: "lead",
        turn: 1,
        instructions: "Be brief.",
        mayCallTools: true,
        tools: ["grep"],
        messages: [userMessage("one")],
      },
      {
        path: "lead",
        runId: "lead",
        turn: 2,
        instructions: undefined,
        mayCallTools: false,
        tools: [],
        messages: [userMessage("one"), userMessage("two")],
      },
    ],
  );
  assert.deepEqual([model.id, model.contextWindow, model.requestCount], ["fake/one", 1_000, 2]);
});

test("calls of different agents have different ids, so that a fork can hold both", async () => {
  const model = scriptedModel([calls("grep")]);
  const ids = ["lead", "lead/scout", "lead/scout#2"].map(async (path) => {
    const { message } = await model.answer(requestOf({ path }), ignore);
    return message.content.map((part) => (part.type === "tool-call" ? part.callId : ""))[0];
  });
  assert.deepEqual(await Promise.all(ids), ["call_lead_1", "call_lead_scout_1", "call_lead_scout_2_1"]);
});

suite("a run that continues in another process, where the model is a new one,", () => {
  const history: Message[] = [
    userMessage("Look around."),
    {
      role: "assistant",
      content: [
        { type: "tool-call", callId: "call_lead_scout_9", toolName: "grep", input: {} },
        { type: "tool-call", callId: "call_lead_3", toolName: "grep", input: {} },
      ],
    },
  ];
  const ask = async (path: string, turn: number, mayCallTools = true): Promise<unknown> => {
    const model = scriptedModel([says("one"), calls("grep")], [says("two"), calls("grep")], says("three"));
    const caller = { ...requestOf({ path }).caller, turn };
    const changes = { caller, mayCallTools };
    const { message } = await model.answer(requestOf({ messages: history, changes }), ignore);
    return message.content.map((part) => (part.type === "tool-call" ? part.callId : "text" in part && part.text));
  };

  test("a continued run gets the answer of its turn, and ids that its calls have not had", async () => {
    assert.deepEqual(await ask("lead", 2), ["two", "call_lead_4"]);
    assert.deepEqual(await ask("lead/scout", 1), ["one", "call_lead_scout_10"]);
    assert.deepEqual(await ask("lead/other", 1), ["one", "call_lead_other_1"]);
  });

  test("a continued run gets the answer behind its last turn when it is to close", async () => {
    assert.deepEqual(await ask("lead", 2, false), ["three"]);
  });
});

/** Cassettes: a run saved once and played for ever, without a key and without network. */

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import { cassetteModel, saveCassette, scriptFromCassette } from "../../../src/cassette.ts";
import { type AgentDefinition, agent } from "../../../src/core/agent.ts";
import type { Model } from "../../../src/core/model.ts";
import type { RunResult } from "../../../src/core/runtime.ts";
import { resolveModel } from "../../../src/runtime/model/resolve.ts";
import { run } from "../../../src/runtime.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { calls, fails, says, thinks } from "../../../src/testing/steps.ts";
import { openStage, simpleTool } from "../../support/requirements/support.ts";
import { startAimock, usage } from "../../support/runtime/model/aimock.ts";

const folder = mkdtempSync(join(tmpdir(), "sous-cassette-"));
after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

let files = 0;
const newFile = (): string => join(folder, "deep", `${++files}.json`);
const LOCAL = {};
const CI = { CI: "true" };

const look = simpleTool("look", () => "A view.");

/** A lead that starts a child, speaks to it again by its id, and has a failed attempt on the way. */
const SCRIPT = {
  lead: [
    [thinks("Hm."), calls("subagent", { label: "scout", task_prompt: "Find it." })],
    fails("overloaded"),
    ({ messages }: { messages: readonly unknown[] }) =>
      calls("subagent_send", { subagent_id: idIn(messages), message: "Where else?" }),
    [calls("look"), calls("look")],
    says("Found it twice."),
  ],
  "lead/scout": [calls("look"), says("src/a.ts:1"), says("src/b.ts:2")],
};

async function savedRun(): Promise<{ file: string; recorded: RunResult }> {
  const stage = openStage(SCRIPT);
  const recorded = await stage.run(stage.lead({ tools: [look] }), "Where is it?");
  const file = newFile();
  await saveCassette(stage.store, recorded.runId, file);
  return { file, recorded };
}

function leadOn(model: Model, changes: Partial<AgentDefinition> = {}): AgentDefinition {
  return agent({ name: "lead", model, delegate: true, tools: [look], ...changes });
}

/** A run that failed gives its result too. */
async function play(definition: AgentDefinition, task = "Where is it?"): Promise<RunResult> {
  return run(definition, task).result;
}

suite("G6: a stored run saved as a cassette", () => {
  test("a cassette keeps that a provider refused the schema of the output, and the repair", async () => {
    const outputSchema = { type: "object", properties: { hits: { type: "number" } }, required: ["hits"] };
    const stage = openStage({ lead: [fails("output_schema"), says("Three."), says('{"hits":3}')] });
    const recorded = await stage.run(stage.lead({ outputSchema, delegate: false }), "Where is it?");
    const file = newFile();
    await saveCassette(stage.store, recorded.runId, file);
    const kinds: string[] = [];
    const definition = leadOn(scriptedModel(scriptFromCassette(file)), { outputSchema, delegate: false, tools: [] });
    const played = await run(definition, "Where is it?", {
      onEvent: (event) => event.type === "retry" && kinds.push(event.kind),
    });
    assert.deepEqual([played.output, played.turns, kinds], [recorded.output, recorded.turns, ["output_schema"]]);
  });

  test("a cassette is played by the scripted model, with the recorded answers, thoughts, failures and usage", async () => {
    const { file, recorded } = await savedRun();
    const model = scriptedModel(scriptFromCassette(file));
    const played = await play(leadOn(model));
    assert.equal(played.status, "completed");
    assert.equal(played.text, recorded.text);
    assert.deepEqual(played.usage, recorded.usage);
    assert.deepEqual(
      played.agents.map(({ path, turns, toolCount }) => [path, turns, toolCount]),
      recorded.agents.map(({ path, turns, toolCount }) => [path, turns, toolCount]),
    );
    assert.equal(model.requestCount, 8);
  });

  test("a cassette is played again and again by one model: ids are those of each run", async () => {
    const { file } = await savedRun();
    const model = cassetteModel(file, { environment: CI });
    assert.equal((await play(leadOn(model))).text, "Found it twice.");
    assert.equal((await play(leadOn(model))).text, "Found it twice.");
  });

  test("a cassette reports a changed prompt, and plays it all the same when only turns must match", async () => {
    const { file } = await savedRun();
    const changed = await play(leadOn(cassetteModel(file, { environment: LOCAL })), "Where was it?");
    assert.equal(changed.status, "failed");
    assert.equal(
      changed.error?.message,
      `${file}, request 1 of lead: the prompt is not the recorded one: message 1 (content[0].text): ` +
        'expected "Where is it?", found "Where was it?". ' +
        "To record it again, save a stored run with saveCassette.",
    );
    const loose = await play(leadOn(cassetteModel(file, { environment: LOCAL, match: "turn" })), "Where was it?");
    assert.equal(loose.text, "Found it twice.");
  });

  test("a cassette reports changed instructions, and a tool that gave something else", async () => {
    const { file } = await savedRun();
    const model = cassetteModel(file, { environment: CI });
    const again = cassetteModel(file, { record: scriptedModel(says("x")), environment: CI });
    const failed = await play(leadOn(again), "Where was it?");
    assert.match(
      failed.error?.message ?? "",
      /\. To record it again, delete the file and run it where CI is not set\.$/,
    );
    const told = await play(leadOn(model, { instructions: "Be brief." }));
    assert.match(
      told.error?.message ?? "",
      /the instructions are not the recorded ones: expected nothing, found "Be brief."/,
    );
    const blind = await play(leadOn(model, { tools: [simpleTool("look", () => "Nothing.")] }));
    assert.match(
      blind.error?.message ?? "",
      /request 2 of lead: the prompt is not the recorded one: message 3 \(content\[0\]\.output\)/,
    );
  });

  test("a child that was saved is played as a root", async () => {
    const stage = openStage(SCRIPT);
    const { agents } = await stage.run(stage.lead({ tools: [look] }), "Where is it?");
    const file = newFile();
    await saveCassette(stage.store, agents.find(({ path }) => path === "lead/scout")?.id ?? "", file);
    const { agents: paths, agent: name } = JSON.parse(readFileSync(file, "utf8"));
    assert.deepEqual([name, Object.keys(paths)], ["subagent", ["subagent"]]);
  });

  test("the error for an unknown run, or a place that cannot be written, is one sentence", async () => {
    const stage = openStage({ lead: [says("Hello.")] });
    const { runId } = await stage.run(stage.lead());
    await assert.rejects(saveCassette(stage.store, "01ARZ3NDEKTSV4RRFFQ69G5FAV", newFile()), {
      name: "UserError",
      message: "No run with the id 01ARZ3NDEKTSV4RRFFQ69G5FAV",
    });
    const taken = newFile();
    await saveCassette(stage.store, runId, taken);
    await assert.rejects(saveCassette(stage.store, runId, join(taken, "below.json")), {
      name: "UserError",
      message: /^The cassette .*below\.json cannot be written: /,
    });
  });
});

suite("G6: a cassette that is recorded while it is missing", () => {
  test("a cassette is made from a real model's answers and then played without it", async () => {
    const file = newFile();
    const instructions = "You are the lead";
    {
      await using server = await startAimock([
        {
          match: { systemMessage: "You are the lead", hasToolResult: false },
          response: { toolCalls: [{ name: "subagent_scout", arguments: '{"task":"auth"}' }], usage: usage(900, 40) },
        },
        {
          match: { systemMessage: "You are the lead", hasToolResult: true },
          response: { content: "It is there.", usage: usage(990, 12) },
        },
        { match: { systemMessage: "You are a scout" }, response: { content: "src/auth.ts:3", usage: usage(300, 9) } },
      ]);
      const record = await resolveModel("anthropic/claude-sonnet-4-5", server.environment);
      await using model = cassetteModel(file, { record, environment: LOCAL });
      const scout = agent({ name: "scout", instructions: "You are a scout" });
      const { text } = await run(agent({ name: "lead", model, instructions, subagents: [scout] }), "Where is it?");
      assert.equal(text, "It is there.");
      assert.equal(server.requests().length, 3);
      assert.equal(existsSync(file), false, "it is written when the model is disposed");
    }
    const model = cassetteModel(file, { record: "anthropic/claude-sonnet-4-5", environment: CI });
    assert.equal(model.id, "anthropic/claude-sonnet-4-5");
    const scout = agent({ name: "scout", instructions: "You are a scout" });
    const played = await run(agent({ name: "lead", model, instructions, subagents: [scout] }), "Where is it?");
    assert.equal(played.text, "It is there.");
    assert.deepEqual([played.usage.inputTokens, played.usage.outputTokens], [900 + 990 + 300, 40 + 12 + 9]);
    assert.ok((played.costUsd ?? 0) > 0);
  });

  test("a cassette grows by what a longer run asks", async () => {
    const file = newFile();
    const real = scriptedModel({ lead: [calls("look"), says("One."), says("Two.")] });
    {
      await using model = cassetteModel(file, { record: real, environment: LOCAL });
      await run(leadOn(model), "Begin.");
    }
    {
      await using model = cassetteModel(file, { record: scriptedModel(says("Two.")), environment: LOCAL });
      const first = run(leadOn(model), "Begin.");
      await first;
      assert.equal((await first.followUp("And?")).text, "Two.");
    }
    const model = cassetteModel(file, { environment: CI });
    const first = run(leadOn(model), "Begin.");
    assert.equal((await first).text, "One.");
    assert.equal((await first.followUp("And?")).text, "Two.");
    assert.equal(real.requestCount, 2);
  });

  test("a cassette keeps the failures of the real model too", async () => {
    const file = newFile();
    {
      await using model = cassetteModel(file, {
        record: scriptedModel(fails("rate_limit", { retryAfterMs: 0, message: "Slow down." }), says("Hello.")),
        environment: LOCAL,
      });
      assert.equal((await run(leadOn(model), "Begin.")).text, "Hello.");
    }
    const events: string[] = [];
    const model = cassetteModel(file, { environment: CI });
    const { text } = await run(leadOn(model), "Begin.", { onEvent: ({ type }) => void events.push(type) });
    assert.equal(text, "Hello.");
    assert.ok(events.includes("retry"));
  });

  test("a cassette holds no secret of the process that made it, and is played where the secret is another", async () => {
    const file = newFile();
    const secret = "hunter2-hunter2-hunter2";
    {
      await using model = cassetteModel(file, {
        record: scriptedModel(says("I will keep it.")),
        environment: { SERVICE_TOKEN: secret },
      });
      await run(leadOn(model), `The token is ${secret}.`);
    }
    assert.ok(!readFileSync(file, "utf8").includes(secret));
    const model = cassetteModel(file, { environment: { CI: "1", SERVICE_TOKEN: "correct-horse-battery" } });
    assert.equal((await run(leadOn(model), "The token is correct-horse-battery.")).text, "I will keep it.");
  });
});

suite("G6: CI only plays", () => {
  test("a missing cassette is an error that says how to record it", () => {
    const file = newFile();
    assert.throws(() => cassetteModel(file, { record: scriptedModel(says("x")), environment: CI }), {
      name: "UserError",
      message: `There is no cassette at ${file}. CI only plays: run it once where CI is not set, and commit the file.`,
    });
    assert.throws(() => cassetteModel(file, { environment: LOCAL }), {
      name: "UserError",
      message:
        `There is no cassette at ${file}. ` +
        "Give cassetteModel a model to record, or save a stored run with saveCassette.",
    });
  });

  test("a cassette that is too short is an error, and the real model is not asked", async () => {
    const { file } = await savedRun();
    const before = readFileSync(file, "utf8");
    const real = scriptedModel(says("Never."));
    {
      await using model = cassetteModel(file, { record: real, environment: CI });
      const first = run(leadOn(model), "Where is it?");
      await first;
      await assert.rejects(Promise.resolve(first.followUp("And then?")), {
        message: `${file} has no answer 6 for lead. CI only plays: run it once where CI is not set, and commit the file.`,
      });
    }
    assert.equal(real.requestCount, 0);
    assert.equal(readFileSync(file, "utf8"), before);
  });

  test("CI=false and an empty CI are not CI", () => {
    for (const value of ["", "0", "false"]) {
      const model = cassetteModel(newFile(), { record: scriptedModel(says("x")), environment: { CI: value } });
      assert.equal(model.id, "scripted/model");
    }
  });
});

suite("G6: a file that is not a cassette is refused", () => {
  const refused: [what: string, text: string, message: RegExp][] = [
    ["not JSON", "{", /is not a cassette: /],
    ["something else", '{"format":"other"}', /is not a cassette: it does not say that it is one/],
    ["null", "null", /is not a cassette: it does not say that it is one/],
    [
      "a later version",
      '{"format":"sous-cassette","version":2}',
      /is a cassette of version 2, and this sous plays version 1: record it again/,
    ],
    [
      "a damaged one",
      '{"format":"sous-cassette","version":1,"agent":"a","model":"m","task":"t","agents":{"a":[{"keeps":-1}]}}',
      /is damaged at agents\.a\.0\.keeps: .*; record it again/,
    ],
    [
      "one that knows more",
      '{"format":"sous-cassette","version":1,"agent":"a","model":"m","task":"t","agents":{},"extra":1}',
      /is damaged at : .*extra.*; record it again/,
    ],
  ];
  for (const [what, text, message] of refused) {
    test(`a file with the text of ${what} is refused`, () => {
      const file = join(folder, `${what.replaceAll(" ", "-")}.json`);
      writeFileSync(file, text);
      assert.throws(() => cassetteModel(file, { environment: CI }), { name: "UserError", message });
      assert.throws(() => scriptFromCassette(file), { name: "UserError", message });
    });
  }

  test("a folder is refused as a cassette", () => {
    assert.throws(() => cassetteModel(folder, { environment: CI }), {
      name: "UserError",
      message: /^The cassette .* cannot be read: /,
    });
  });
});

/** The id of the child that the history speaks of. */
function idIn(messages: readonly unknown[]): string {
  return /subagent_id: ([0-9A-Z]{26})/.exec(JSON.stringify(messages))?.[1] ?? "";
}

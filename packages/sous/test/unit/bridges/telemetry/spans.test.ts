/** F2: the spans of real trees, drawn whole; what they say, what they leave out, and what cannot disturb a run. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { suite, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import {
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import {
  AlwaysOffSampler,
  ParentBasedSampler,
  RandomIdGenerator,
  type ReadableSpan,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { runIdGenerator } from "../../../../src/bridges/telemetry/run-ids.ts";
import { MAX_CONTENT_BYTES } from "../../../../src/bridges/telemetry/span-content.ts";
import { ATTRIBUTES, SPAN_EVENTS } from "../../../../src/bridges/telemetry/span-names.ts";
import { traceRuns } from "../../../../src/bridges/telemetry/spans.ts";
import { MAX_EVENTS } from "../../../../src/bridges/telemetry/traced-run.ts";
import type { EventListener, StoredBody, StoredEvent } from "../../../../src/core/event.ts";
import type { Message } from "../../../../src/core/message.ts";
import type { RunOutcome } from "../../../../src/core/outcome.ts";
import type { RunHandle } from "../../../../src/core/runtime.ts";
import { parseTraceparent, spanIdOf, traceIdOf } from "../../../../src/core/trace-context.ts";
import { noUsage } from "../../../../src/core/usage.ts";
import { sampleTree } from "../../../../src/testing/sample-tree.ts";
import {
  type Answer,
  after,
  calls,
  fails,
  hangs,
  refuses,
  says,
  stopsAtLength,
  uses,
} from "../../../../src/testing/steps.ts";
import { assertGolden } from "../../../support/app/cli/golden.ts";
import {
  drawSpans,
  spansOf,
  type Traced,
  tracedProcess,
  traceProblems,
} from "../../../support/bridges/telemetry/traced.ts";
import { externalTree } from "../../../support/external-tree.ts";
import { openStage, type Stage, simpleTool } from "../../../support/requirements/support.ts";

const GIVEN = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

const child = (label: string, more: object = {}) =>
  calls("subagent", { label, task_prompt: `Do ${label}.`, ...more }, `call ${label}`);

/** The id in the last report that the model has read. */
function idIn(messages: readonly Message[]): string {
  return JSON.stringify(messages).match(/.*subagent_id: (\w+)/)?.[1] ?? "";
}

/** A tree in which nearly everything happens. */
function richStage(): Stage {
  return openStage(
    {
      lead: [
        [uses({ input: 100, output: 10, cached: 40, cacheWrite: 5 }), calls("look", {}, "call look")],
        [uses({ input: 10, output: 1 }), fails("overloaded")],
        calls("deny_me", {}, "call deny"),
        calls(
          "parallel_subagent",
          { tasks: ["a", "b", "c"].map((label) => ({ label, task_prompt: `Look at ${label}.` })), max_concurrent: 2 },
          "call parallel",
        ),
        child("scout"),
        ({ messages }) =>
          calls("subagent_send", { subagent_id: idIn(messages), message: "And behind it?" }, "call send"),
        child("twin", { context: "fork" }),
        child("slow", { background: true }),
        child("refused", { allowed_tools: ["no_such_tool"] }),
        says("All done."),
        says("Now with the report."),
      ],
      "lead/a": [child("deeper"), says("Closer.")],
      "lead/b": [[says("Half a th"), fails("invalid_request")]],
      "lead/slow": [[after(5000), says("Took long.")]],
      "lead/**": [says("Seen."), says("Seen again.")],
    },
    { runtime: { approve: async ({ toolName }) => ({ allow: toolName !== "deny_me", reason: "a secret reason" }) } },
  );
}

const TOOLS = [
  simpleTool("look", () => "seen", { tier: "confirm" }),
  simpleTool("deny_me", () => "", { tier: "confirm" }),
];

async function richRun(traced: Traced): Promise<Stage> {
  const stage = richStage();
  const result = await stage.run(stage.lead({ tools: TOOLS }), "Look around.", { onEvent: traced.onEvent });
  assert.equal(result.status, "completed", result.text);
  return stage;
}

function stored(stage: Stage): StoredEvent[] {
  return stage.events.filter((event): event is StoredEvent => event.seq !== undefined);
}

function named(spans: readonly ReadableSpan[], name: string): ReadableSpan {
  return spans.find((span) => span.name === name) ?? assert.fail(`There is no span ${name}`);
}

suite("F2: the spans of a tree", () => {
  test("F2: the spans of a tree form the tree of its runs, turns and calls, with what happened as events", async () => {
    const traced = tracedProcess();
    const stage = await richRun(traced);
    assert.deepEqual(traceProblems(traced.spans, stored(stage)), []);
    assertGolden(
      "spans.txt",
      drawSpans(traced.spans).split("\n"),
      join(import.meta.dirname, "../../../support/bridges/telemetry/golden"),
    );
    const traces = new Set(traced.spans.map((span) => span.spanContext().traceId));
    assert.deepEqual([...traces], [traceIdOf(stage.events[0]?.runId ?? "")]);
  });

  test("F2: the spans of a tree use no name that the table lacks, and no text of people or models unless content is captured", async () => {
    const seen = { off: tracedProcess(), on: tracedProcess({ captureContent: true, observationType: true }) };
    for (const traced of Object.values(seen)) await richRun(traced);
    const tree = externalTree();
    for (const event of tree.events) for (const { onEvent } of Object.values(seen)) onEvent(event);
    for (const span of [...seen.off.spans, ...seen.on.spans]) {
      for (const name of Object.keys(span.attributes)) assert.ok(Object.hasOwn(ATTRIBUTES, name), name);
      const operation = String(span.attributes["gen_ai.operation.name"]);
      for (const name of Object.keys(span.attributes) as (keyof typeof ATTRIBUTES)[])
        assert.ok((ATTRIBUTES[name].on as readonly string[]).includes(operation), `${name} on ${operation}`);
      for (const { name, attributes = {} } of span.events) {
        const allowed: readonly string[] = SPAN_EVENTS[name as keyof typeof SPAN_EVENTS]?.attributes ?? [];
        assert.deepEqual(
          Object.keys(attributes).filter((each) => !allowed.includes(each)),
          [],
          name,
        );
      }
    }
    const text = (spans: readonly ReadableSpan[]) =>
      JSON.stringify(spans.map(({ attributes, events, status, name }) => ({ attributes, events, status, name })));
    const said = ["Look around.", "Look at a.", "Seen again.", "Half a th", "a secret reason", "npm test", "3 failed"];
    for (const words of said) {
      assert.ok(!text(seen.off.spans).includes(words), `${words} is shown`);
      if (words !== "Half a th") assert.ok(text(seen.on.spans).includes(words), `${words} is not shown`);
    }
    const used = new Set(seen.on.spans.flatMap(({ attributes }) => Object.keys(attributes)));
    const rare = [
      "sous.events.left_out",
      "sous.unanswered",
      "sous.stop_reason",
      "sous.usage.estimated",
      "sous.cost_usd",
      // Of placed runs: placed.test.ts has them.
      "sous.worker",
      "sous.attempt",
    ];
    assert.deepEqual(
      Object.keys(ATTRIBUTES).filter((name) => !used.has(name) && !rare.includes(name)),
      [],
    );
  });

  test("F2: the span of a run names its stop reason when the run is incomplete, and with no other ending", () => {
    const reasonOf = (outcome: Partial<RunOutcome>) => {
      const tree = sampleTree("lead");
      tree.start("lead");
      tree.end("lead", outcome);
      return spansOf(tree.events)[0]?.attributes["sous.stop_reason"];
    };
    assert.equal(reasonOf({ status: "incomplete", stopReason: "turns" }), "turns");
    assert.equal(reasonOf({ status: "timeout", stopReason: "turns" }), undefined);
  });

  test("F2: an external agent is a client span, and what it does by itself lies under it", () => {
    const { events } = externalTree();
    assertGolden(
      "spans-external.txt",
      drawSpans(spansOf(events)).split("\n"),
      join(import.meta.dirname, "../../../support/bridges/telemetry/golden"),
    );
    assert.deepEqual(traceProblems(spansOf(events), events), []);
  });

  test("F2: a root that continues is a new trace, linked to the run before it; a branch is linked to another tree", async () => {
    const traced = tracedProcess();
    const { onEvent } = traced;
    const stage = openStage({ lead: [says("One."), says("Two."), says("Three.")] });
    const first = stage.start(stage.lead(), "Go.", { onEvent });
    await stage.end(first);
    const second = first.followUp("More.");
    await stage.world.run(() => second.result);
    const third = stage.runtime.fork(first.id, { agent: stage.lead(), message: "Otherwise.", onEvent });
    await stage.world.run(() => third.result);
    const runs = traced.spans.filter(({ attributes }) => attributes["gen_ai.operation.name"] === "invoke_agent");
    const ids = [first.id, second.id, third.id];
    assert.deepEqual(
      runs.map((span) => span.spanContext().traceId),
      ids.map((id) => traceIdOf(id)),
    );
    assert.deepEqual(
      runs.map(({ links }) =>
        links.map((link) => [link.attributes?.["sous.link"], link.context.traceId, link.context.spanId]),
      ),
      [[], ...["follow-up", "branch"].map((kind) => [[kind, traceIdOf(first.id), spanIdOf(first.id)]])],
    );
  });

  test("F2: a root that continues in another process is linked to its earlier run in the trace of the caller", async () => {
    const traceId = "0af7651916cd43dd8448eb211c80319c";
    const environment = { TRACEPARENT: `00-${traceId}-b7ad6b7169203331-01` };
    const stage = openStage(
      { lead: [says("One."), says("Two."), says("Three.")] },
      { runtime: { host: { environment } } },
    );
    const first = stage.start(stage.lead(), "Go.");
    await stage.end(first);
    const linksOf = async (start: (onEvent: EventListener) => RunHandle): Promise<unknown[]> => {
      const traced = tracedProcess();
      await stage.world.run(() => start(traced.onEvent).result);
      const [run] = traced.spans.filter(({ attributes }) => attributes["gen_ai.operation.name"] === "invoke_agent");
      return run?.links.map(({ context }) => [context.traceId, context.spanId]) ?? [];
    };
    const about = { agent: stage.lead(), message: "More." };
    const expected = [[traceId, spanIdOf(first.id)]];
    assert.deepEqual(await linksOf((onEvent) => stage.runtime.fork(first.id, { ...about, onEvent })), expected);
    assert.deepEqual(await linksOf((onEvent) => stage.runtime.resume(first.id, { ...about, onEvent })), expected);
  });

  test("F2: a turn that never ends is an error with what it has spent, and so is an open call", async () => {
    const traced = tracedProcess();
    const stage = openStage({ lead: [calls("wait", {}, "call wait"), says("never")] });
    const wait = simpleTool(
      "wait",
      (_input, { signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    );
    const handle = stage.start(stage.lead({ tools: [wait] }), "Go.", { onEvent: traced.onEvent });
    stage.when(
      ({ type }) => type === "tool-call-start",
      () => handle.cancel(),
    );
    await stage.end(handle);
    const hung = openStage({ lead: [[says("Half"), hangs()]] }, { seed: 2 });
    const other = hung.start(hung.lead(), "Go.", { onEvent: traced.onEvent });
    hung.when(
      ({ type }) => type === "text-delta",
      () => other.cancel(),
    );
    await hung.end(other);
    assert.deepEqual(traceProblems(traced.spans, [...stored(stage), ...stored(hung)]), []);
    assertGolden(
      "spans-cancelled.txt",
      drawSpans(traced.spans).split("\n"),
      join(import.meta.dirname, "../../../support/bridges/telemetry/golden"),
    );
  });

  test("F2: tokens that only the end of a run knows are on its open turn, else on a span that says so", () => {
    const usage = { ...noUsage(), inputTokens: 70, outputTokens: 7, totalTokens: 77 };
    const tree = sampleTree("lead");
    tree.start("lead");
    tree.turn("lead", "Seen.", { inputTokens: 10, outputTokens: 2, totalTokens: 12 });
    tree.end("lead", { usage });
    const spans = spansOf(tree.events);
    assert.deepEqual(traceProblems(spans, tree.events), []);
    assert.deepEqual(
      spans
        .filter(({ attributes }) => attributes["sous.unanswered"] === true)
        .map(({ attributes }) => attributes["gen_ai.usage.input_tokens"]),
      [60],
    );
    const open = sampleTree("open");
    open.start("open");
    open.add("open", { type: "turn-start", turn: 1, promptTokens: 1, reserved: 1 });
    open.end("open", { usage, status: "failed", fault: { type: "model", message: "It broke." } });
    const [chat] = spansOf(open.events);
    const { "gen_ai.usage.input_tokens": input, "error.type": type } = chat?.attributes ?? {};
    assert.deepEqual([chat?.name, chat?.status.message, input, type], ["chat model", "It broke.", 70, "model"]);
  });
});

suite("F2: a tree that two processes worked on", () => {
  const file = join(import.meta.dirname, "../../../golden/traced-1.json");
  const journal: StoredEvent[] = JSON.parse(readFileSync(file, "utf8")).events;
  const restart = journal.findIndex(({ type }) => type === "resume");
  const lives = [journal.slice(0, restart), journal.slice(restart)];

  test("F2: a tree of two processes is one trace without orphans, and what the first left open is exported by the second", () => {
    const [first = [], second = []] = lives.map((events) => spansOf(events));
    const spans = [...first, ...second];
    assert.deepEqual(traceProblems(spans, journal), []);
    assert.deepEqual(
      new Set(spans.map((span) => span.spanContext().traceId)),
      new Set([parseTraceparent(GIVEN)?.traceId]),
    );
    assertGolden(
      "spans-resumed.txt",
      drawSpans(spans).split("\n"),
      join(import.meta.dirname, "../../../support/bridges/telemetry/golden"),
    );
    const runs = (of: readonly ReadableSpan[]) => of.filter(({ name }) => name.startsWith("invoke_agent")).length;
    assert.deepEqual([runs(first), runs(second)], [0, 2]);
  });

  test("F2: a tree of two processes is whole in each of them when the provider chooses the ids", () => {
    for (const events of lives) {
      const traced = tracedProcess({}, { idGenerator: new RandomIdGenerator() });
      for (const event of events) traced.onEvent(event);
      const ids = new Set(traced.spans.map((span) => span.spanContext().spanId));
      assert.equal(ids.size, traced.spans.length);
      if (events === lives[1])
        for (const { parentSpanContext: parent } of traced.spans)
          assert.ok(parent?.isRemote === true || ids.has(parent?.spanId ?? ""), "an orphan");
    }
  });

  test("F2: a tree recorded by an earlier version, without a word about the run, has a span for it all the same", () => {
    const old = lives[1]?.map((event) => (event.type === "resume" ? { ...event, run: undefined } : event)) ?? [];
    const spans = spansOf(old);
    assert.deepEqual(
      spans.filter(({ name }) => name.startsWith("invoke_agent")).map(({ name }) => name),
      ["invoke_agent slow", "invoke_agent lead"],
    );
  });
});

suite("F2: where a trace begins", () => {
  const started = (traceparent?: string) => {
    const tree = sampleTree("lead");
    tree.start("lead", { details: { traceparent } });
    tree.turn("lead", "Seen.");
    tree.end("lead");
    return tree.events;
  };
  const root = (spans: readonly ReadableSpan[]) => named(spans, "invoke_agent lead");
  const other = { traceId: "1".repeat(32), spanId: "2".repeat(16), traceFlags: 1 };

  test("F2: a trace begins under the TRACEPARENT that the root was started with", () => {
    const span = root(spansOf(started(GIVEN)));
    const place = parseTraceparent(GIVEN);
    assert.equal(span.spanContext().traceId, place?.traceId);
    assert.equal(span.parentSpanContext?.spanId, place?.spanId);
  });

  test("F2: a trace begins under the context that the caller names, before anything else", () => {
    const parent = trace.setSpanContext(ROOT_CONTEXT, other);
    const span = root(spansOf(started(GIVEN), { parent }));
    assert.deepEqual([span.spanContext().traceId, span.parentSpanContext?.spanId], [other.traceId, other.spanId]);
  });

  test("F2: a TRACEPARENT that was not sampled leaves the tree out", () => {
    const traced = tracedProcess({}, { sampler: new ParentBasedSampler({ root: new AlwaysOffSampler() }) });
    for (const event of started(GIVEN.replace(/01$/, "00"))) traced.onEvent(event);
    assert.equal(traced.spans.length, 0);
    for (const event of started(GIVEN)) traced.onEvent(event);
    assert.equal(traced.spans.length, 2);
  });

  test("F2: entries of baggage are attributes of every span, bounded, and never take a name of ours", () => {
    const baggage = `user.id=a%20b;secret=1,bad,=x,%,broken=%E0%A4%A,sous.run.id=fake,long=${"x".repeat(500)}`;
    for (const { attributes } of spansOf(started(), { baggage })) {
      assert.equal(attributes["user.id"], "a b");
      assert.equal(attributes["sous.run.id"], "lead");
      assert.equal(String(attributes.long).length, 256);
      assert.equal(attributes.broken, undefined);
    }
    const many = Array.from({ length: 100 }, (_, index) => `key${index}=1`).join(",");
    const [span] = spansOf(started(), { baggage: many });
    assert.equal(Object.keys(span?.attributes ?? {}).filter((name) => name.startsWith("key")).length, 16);
    const parent = propagation.setBaggage(ROOT_CONTEXT, propagation.createBaggage({ team: { value: "blue" } }));
    assert.equal(root(spansOf(started(), { parent })).attributes.team, "blue");
  });

  test("F2: the listener does nothing without a provider and a parent", () => {
    const onEvent = traceRuns();
    for (const event of started()) onEvent(event);
    assert.equal(trace.getSpan(context.active()), undefined);
  });
});

suite("F2: any provider", () => {
  test("F2: the spans of one process are nested with random ids all the same, background children too", async () => {
    const traced = tracedProcess({}, { idGenerator: new RandomIdGenerator() });
    const stage = await richRun(traced);
    assert.deepEqual(traceProblems(traced.spans, stored(stage)), []);
    const ids = new Set(stored(stage).map(({ runId }) => spanIdOf(runId)));
    assert.ok(traced.spans.every((span) => !ids.has(span.spanContext().spanId)));
  });

  test("F2: spans of others get random ids from our generator", () => {
    const { provider } = tracedProcess();
    const tracer = provider.getTracer("another");
    const ids = Array.from({ length: 3 }, () => tracer.startSpan("other", {}, ROOT_CONTEXT).spanContext());
    assert.equal(new Set(ids.flatMap(({ traceId, spanId }) => [traceId, spanId])).size, 6);
    for (const each of ids) assert.ok(trace.isSpanContextValid(each));
  });

  test("F2: sous/otel can be required, as a program in CommonJS does", () => {
    const { traceRuns: required } = createRequire(import.meta.url)("../../../../src/otel.ts");
    assert.equal(required, traceRuns);
  });

  test("F2: a provider that throws disturbs no run", async () => {
    const broken = () => {
      throw new Error("broken");
    };
    const stage = openStage({ lead: [child("scout"), says("Done.")], "lead/*": [says("Seen.")] });
    const tracerProvider = { getTracer: () => ({ startSpan: broken, startActiveSpan: broken }) };
    const result = await stage.run(stage.lead(), "Go.", { onEvent: traceRuns({ tracerProvider }) });
    assert.equal(result.status, "completed");
  });
});

suite("F2: content", () => {
  const long = (bytes: number) => "é".repeat(bytes / 2);

  function contentOf(body: StoredBody[], options = {}): ReadableSpan[] {
    const tree = sampleTree("lead");
    tree.start("lead", { details: { instructions: "Be brief." } });
    for (const each of body) tree.add("lead", each);
    tree.end("lead", { text: "The end." });
    return [...spansOf(tree.events, { captureContent: true, ...options })];
  }

  const call = (input: unknown, output: string): StoredBody[] => [
    { type: "tool-call-start", callId: "c", toolName: "look", input },
    { type: "tool-call-end", callId: "c", toolName: "look", output, isError: false, durationMs: 1 },
  ];

  test("F2: a turn shows what is new to the model, and the run its task and its answer", async () => {
    const traced = tracedProcess({ captureContent: true });
    const stage = openStage({ lead: [calls("look", { at: "x" }, "call look"), says("Done.")] });
    await stage.run(stage.lead({ tools: [simpleTool("look", () => "seen")], instructions: "Be brief." }), "Look.", {
      onEvent: traced.onEvent,
    });
    const of = (name: string) =>
      traced.spans
        .filter((span) => span.name.startsWith(name))
        .map(({ attributes }) =>
          Object.fromEntries(
            Object.entries(attributes)
              .filter(([key]) => "isContent" in ATTRIBUTES[key as keyof typeof ATTRIBUTES])
              .map(([key, value]) => [key, value]),
          ),
        );
    const task = JSON.stringify([{ role: "user", parts: [{ type: "text", content: "Look." }] }]);
    const asked = { type: "tool_call", id: "call look", name: "look", arguments: { at: "x" } };
    const done = { role: "assistant", parts: [{ type: "text", content: "Done." }] };
    assert.deepEqual(of("chat"), [
      {
        "gen_ai.input.messages": task,
        "gen_ai.output.messages": JSON.stringify([{ role: "assistant", parts: [asked], finish_reason: "tool_call" }]),
      },
      {
        "gen_ai.input.messages": JSON.stringify([
          { role: "tool", parts: [{ type: "tool_call_response", id: "call look", response: "seen" }] },
        ]),
        "gen_ai.output.messages": JSON.stringify([{ ...done, finish_reason: "stop" }]),
      },
    ]);
    assert.deepEqual(of("execute_tool"), [
      { "gen_ai.tool.call.arguments": '{"at":"x"}', "gen_ai.tool.call.result": "seen" },
    ]);
    assert.deepEqual(of("invoke_agent"), [
      {
        "gen_ai.input.messages": task,
        "gen_ai.system_instructions": JSON.stringify([{ type: "text", content: "Be brief." }]),
        "gen_ai.output.messages": JSON.stringify([{ ...done, finish_reason: "stop" }]),
      },
    ]);
  });

  test("F2: every answer names its reason in the words of the conventions, that of a run too", async () => {
    const told: [Answer[], string, string][] = [
      [
        [
          [says("Half"), stopsAtLength()],
          [says("Half"), stopsAtLength()],
        ],
        "length",
        "turns",
      ],
      [[[says("No."), refuses()]], "content_filter", "error"],
      [[fails("auth")], "", "error"],
      [[calls("look", {}), calls("look", {})], "tool_call", "turns"],
    ];
    for (const [lead, ofModel, ofRun] of told) {
      const traced = tracedProcess({ captureContent: true });
      const stage = openStage({ lead });
      const tools = [simpleTool("look", () => "seen")];
      await stage.run(stage.lead({ tools, maxTurns: 2 }), "Look.", { onEvent: traced.onEvent });
      const reasonOf = (name: string) => {
        const { attributes } = named([...traced.spans], name);
        const [message] = JSON.parse(String(attributes["gen_ai.output.messages"] ?? "[{}]"));
        return [message.finish_reason ?? "", attributes["gen_ai.response.finish_reasons"] ?? []];
      };
      assert.deepEqual(reasonOf("chat model"), [ofModel, ofModel === "" ? [] : [ofModel]]);
      assert.deepEqual(reasonOf("invoke_agent lead"), [ofRun, []]);
      assert.equal(named([...traced.spans], "chat model").attributes["gen_ai.request.stream"], true);
    }
  });

  test("F2: each attribute is cut to 8 KB between two characters, says so, and stays JSON", () => {
    const spans = contentOf(call({ a: long(20_000), list: Array(50).fill(long(1000)) }, long(20_000)));
    const { attributes } = named(spans, "execute_tool look");
    const input = String(attributes["gen_ai.tool.call.arguments"]);
    const output = String(attributes["gen_ai.tool.call.result"]);
    for (const each of [input, output]) {
      assert.ok(Buffer.byteLength(each) <= MAX_CONTENT_BYTES, String(Buffer.byteLength(each)));
      assert.match(each, /… \[\d+ bytes left out\]/);
      assert.doesNotMatch(each, /\uFFFD/);
    }
    assert.ok(Buffer.byteLength(output) > MAX_CONTENT_BYTES - 100);
    assert.deepEqual(Object.keys(JSON.parse(input)), ["a", "list"]);
    const numbers = contentOf(call(Array(10_000).fill(12_345), ""));
    const cut = String(named(numbers, "execute_tool look").attributes["gen_ai.tool.call.arguments"]);
    assert.ok(Buffer.byteLength(cut) <= MAX_CONTENT_BYTES);
    assert.match(cut, /bytes left out\]$/);
  });

  test("F2: the redaction of the caller comes before the cut", () => {
    const redact = (text: string) => text.replaceAll("hunter2", "***");
    const secret = `${"x".repeat(MAX_CONTENT_BYTES - 43)}hunter2${"y".repeat(MAX_CONTENT_BYTES)}`;
    const spans = contentOf(call({ password: "hunter2" }, secret), { redact });
    const { attributes } = named(spans, "execute_tool look");
    assert.equal(attributes["gen_ai.tool.call.arguments"], '{"password":"***"}');
    assert.doesNotMatch(String(attributes["gen_ai.tool.call.result"]), /hunt/);
  });

  test("F2: secrets of the environment are in no span", async () => {
    const key = "sk-very-secret-0123456789";
    const traced = tracedProcess({ captureContent: true });
    const stage = openStage(
      { lead: [calls("look", { key }, "call look"), says(`It is ${key}.`)] },
      { runtime: { host: { environment: { OPENAI_API_KEY: key } } } },
    );
    const look = simpleTool("look", () => `found ${key}`);
    await stage.run(stage.lead({ tools: [look] }), `Use ${key}.`, { onEvent: traced.onEvent });
    const all = JSON.stringify(
      traced.spans.map(({ attributes, events, status, name }) => [attributes, events, status, name]),
    );
    assert.match(all, /Use /);
    assert.ok(!all.includes(key));
  });
});

suite("F2: bounds", () => {
  test("F2: a span has at most 100 events and says how many are missing", () => {
    const tree = sampleTree("lead");
    tree.start("lead");
    for (let index = 0; index < MAX_EVENTS + 20; index++) tree.add("lead", { type: "steer", text: "Faster." });
    tree.end("lead");
    const [span] = spansOf(tree.events);
    assert.equal(span?.events.length, MAX_EVENTS);
    assert.equal(span?.attributes["sous.events.left_out"], 20);
  });

  test("F2: nothing is left of 2,500 children that have ended but where 1,000 of them lie", async () => {
    setFlagsFromString("--expose-gc");
    const gc: () => void = runInNewContext("gc");
    const tracer = new TracerProvider({ idGenerator: runIdGenerator() }).getTracer("test");
    const made: { span: WeakRef<Span>; place: WeakRef<SpanContext> }[] = [];
    let open = 0;
    const startSpan: Tracer["startSpan"] = (name, options, under) => {
      const span = tracer.startSpan(name, options, under);
      const end = span.end.bind(span);
      open += 1;
      span.end = (time) => {
        open -= 1;
        end(time);
      };
      made.push({ span: new WeakRef(span), place: new WeakRef(span.spanContext()) });
      return span;
    };
    const tracerProvider = { getTracer: () => ({ startSpan, startActiveSpan: tracer.startActiveSpan }) };
    const onEvent = traceRuns({ tracerProvider });
    const tree = sampleTree("lead");
    onEvent(tree.start("lead"));
    tree.start("child", { parent: "lead" });
    tree.turn("child", "Seen.");
    tree.end("child");
    const one = tree.events.filter(({ runId }) => runId === "child");
    for (let index = 0; index < 2_500; index++) for (const event of one) onEvent({ ...event, runId: `child${index}` });
    assert.equal(open, 1, "only the lead is open");
    await new Promise((resolve) => setImmediate(resolve));
    gc();
    assert.equal(made.length, 5_001);
    assert.equal(made.filter(({ span }) => span.deref() !== undefined).length, 1);
    assert.equal(made.filter(({ place }) => place.deref() !== undefined).length, 1001);
    tree.end("lead");
    onEvent(tree.events.at(-1) ?? assert.fail());
    assert.equal(open, 0);
  });
});

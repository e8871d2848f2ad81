/** D2: the callbacks of embedders: their names, what they are given, and which children they hear of. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import { UserError } from "../../../src/core/errors.ts";
import type { ToolResult } from "../../../src/core/tool.ts";
import {
  type SubagentCallbacks,
  SubagentError,
  type SubagentInfo,
  toListener,
  trackSubagents,
} from "../../../src/runtime/subagents/callbacks.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { calls, fails, hangs, refuses, says, streams } from "../../../src/testing/steps.ts";
import { ALLOW, fakeClient, recorder, registryWith } from "../../support/requirements/embedding.ts";
import { inParallel, runTree } from "../../support/requirements/run-tree.ts";
import { simpleTool } from "../../support/requirements/support.ts";

/** Every call with all that it was given. */
function exactRecorder(): { heard: unknown[][]; callbacks: Required<SubagentCallbacks> } {
  const heard: unknown[][] = [];
  const note =
    (name: string) =>
    (...given: unknown[]): void =>
      void heard.push([name, ...given]);
  return {
    heard,
    callbacks: {
      onSubagentStart: note("onSubagentStart"),
      onSubagentStreamDelta: note("onSubagentStreamDelta"),
      onSubagentToolCallStart: note("onSubagentToolCallStart"),
      onSubagentToolCallEnd: note("onSubagentToolCallEnd"),
      onSubagentComplete: note("onSubagentComplete"),
      onSubagentError: note("onSubagentError"),
    },
  };
}

suite("D2: the arguments of callbacks", () => {
  test("D2: all six callbacks are called by their names, with the id of the child first", async () => {
    const { heard, callbacks } = exactRecorder();
    const own = scriptedModel(
      {
        "lead/good": [[streams("I ", "look."), calls("look", { at: 1 })], says("Found.")],
        "lead/bad": [[says("Half."), fails("auth", { message: "no key" })]],
      },
      { id: "scripted/own" },
    );
    const registry = registryWith({ model: own, callbacks }, 0, [simpleTool("look")]);
    const { stage } = await runTree({
      script: {
        lead: [
          calls("subagent_spawn", { task: "t", description: "good" }),
          calls("subagent_spawn", { task: "t", description: "bad" }),
          says("Seen."),
        ],
      },
      lead: { delegate: false, tools: [...registry] },
    });
    const idOf = (path: string) => stage.eventsOf("run-start", path)[0]?.agentId;
    const [good, bad] = [idOf("lead/good"), idOf("lead/bad")];
    const callId = stage.eventsOf("tool-call-start", "lead/good")[0]?.callId;
    const error = heard.at(-1)?.[2];
    assert.ok(error instanceof Error && error instanceof SubagentError);
    assert.deepEqual(
      [error.name, error.message, error.type, error.result],
      ["SubagentError", "no key", "model", { text: "Half.", turns: 1, durationMs: 0 }],
    );
    assert.deepEqual(heard, [
      ["onSubagentStart", { id: good, description: "good", mode: "spawn", path: "lead/good", depth: 1 }],
      ["onSubagentStreamDelta", good, "I "],
      ["onSubagentStreamDelta", good, "look."],
      ["onSubagentToolCallStart", good, { callId, toolName: "look", input: { at: 1 } }],
      [
        "onSubagentToolCallEnd",
        good,
        { callId, toolName: "look", output: "look is done", isError: false, durationMs: 0 },
      ],
      ["onSubagentStreamDelta", good, "Found."],
      ["onSubagentComplete", good, { text: "Found.", turns: 2, durationMs: 0 }],
      ["onSubagentStart", { id: bad, description: "bad", mode: "spawn", path: "lead/bad", depth: 1 }],
      ["onSubagentStreamDelta", bad, "Half."],
      ["onSubagentError", bad, error],
    ]);
  });

  test("D2: the depth outside of a tree is the one that the registry counts, as in the report", async () => {
    const { heard, callbacks } = exactRecorder();
    const model = scriptedModel({ "**": [says("Found.")] });
    for (const depth of [0, 1]) {
      const spawn = registryWith({ model, callbacks }, depth).get("subagent_spawn");
      const result = (await spawn?.execute({ task: "t", description: "d" }, undefined as never)) as ToolResult;
      const started = heard.findLast(([name]) => name === "onSubagentStart")?.[1] as SubagentInfo;
      assert.deepEqual([started.depth, result.metadata?.recursion_depth], [depth + 1, depth + 1]);
      assert.equal(started.id, result.metadata?.subagent_id);
    }
  });

  test("D2: an error says which kind it is, as the report does", async () => {
    const { heard, callbacks } = exactRecorder();
    const own = scriptedModel(
      {
        "lead/refused": [[says("No."), refuses()]],
        "lead/failed": [fails(new Error("boom"))],
        "lead/stopped": [[says("Half."), hangs()]],
      },
      { id: "scripted/own" },
    );
    const labels = ["refused", "failed", "stopped"];
    await runTree({
      script: {
        lead: [labels.map((description) => calls("subagent_spawn", { task: description, description })), says("Seen.")],
      },
      lead: { delegate: false, tools: [...registryWith({ model: own, callbacks })] },
      during: ({ handle, at }) => at(1000, () => handle.cancel("lead/stopped")),
    });
    const errors = heard.flatMap(([name, , error]) =>
      name === "onSubagentError" && error instanceof SubagentError ? [[error.type, error.message]] : [],
    );
    assert.deepEqual(errors, [
      ["refused", "The model refused the task"],
      ["model", "The model failed: boom"],
      ["cancelled", "Subagent cancelled"],
    ]);
  });
});

suite("D2: a name that is not a callback is refused where it is registered", () => {
  const names =
    "onSubagentStart, onSubagentStreamDelta, onSubagentToolCallStart, onSubagentToolCallEnd, onSubagentComplete, onSubagentError";
  const known = `Known callbacks: ${names}.`;
  const wrong: [given: object, sentence: string][] = [
    [{ onStreamDelta() {} }, "Unknown callback: onStreamDelta. Did you mean onSubagentStreamDelta?"],
    [{ onToolCallStart() {} }, "Unknown callback: onToolCallStart. Did you mean onSubagentToolCallStart?"],
    [{ onToolCallEnd() {} }, "Unknown callback: onToolCallEnd. Did you mean onSubagentToolCallEnd?"],
    [{ onComplete() {} }, "Unknown callback: onComplete. Did you mean onSubagentComplete?"],
    [{ onError() {} }, "Unknown callback: onError. Did you mean onSubagentError?"],
    [{ onStart() {} }, "Unknown callback: onStart. Did you mean onSubagentStart?"],
    [{ onsubagentstart() {} }, "Unknown callback: onsubagentstart. Did you mean onSubagentStart?"],
    [{ onSubagentCompleted() {} }, "Unknown callback: onSubagentCompleted. Did you mean onSubagentComplete?"],
    [{ onSubagentStart() {}, whatever: 1 }, `Unknown callback: whatever. ${known}`],
    [
      new (class {
        onDone(): void {}
      })(),
      `Unknown callback: onDone. ${known}`,
    ],
    [{ onSubagentStart: "log" }, "The callback onSubagentStart is not a function"],
  ];
  for (const [given, message] of wrong) {
    test(`D2: an error says: ${message}`, () => {
      const callbacks = given as SubagentCallbacks;
      assert.throws(() => registryWith({ model: scriptedModel(), callbacks }), new UserError(message));
      assert.throws(() => trackSubagents(callbacks), new UserError(message));
    });
  }

  test("D2: what is no object of functions is refused, with the names that are called", () => {
    const callbacks = (() => {}) as SubagentCallbacks;
    const sentence = `callbacks must be an object of functions (${names}); found a function`;
    assert.throws(
      () => registryWith({ model: scriptedModel(), callbacks }),
      new UserError(`registerSubagentTools(): ${sentence}`),
    );
    assert.throws(() => trackSubagents(callbacks), new UserError(sentence));
  });

  test("D2: no callbacks, some, an undefined one and an instance with state of its own are accepted", async () => {
    class Panel implements SubagentCallbacks {
      readonly lines: string[] = [];
      onSubagentStart({ description }: { description: string }): void {
        this.lines.push(description);
      }
    }
    const panel = new Panel();
    const own = scriptedModel({ "lead/d": [says("Done.")] }, { id: "scripted/own" });
    const some = { onSubagentStart: undefined, onSubagentError() {} } as unknown as SubagentCallbacks;
    for (const callbacks of [{}, some, panel]) {
      const { result } = await runTree({
        script: { lead: [calls("subagent_spawn", { task: "t", description: "d" }), says("Seen.")] },
        lead: { delegate: false, tools: [...registryWith({ model: own, callbacks })] },
      });
      assert.equal(result.status, "completed");
    }
    assert.deepEqual(panel.lines, ["d"]);
  });
});

suite("D2: trackSubagents hears every child of a tree", () => {
  test("D2: trackSubagents hears children named, spawned, delegated, in parallel, in the background and below a child", async () => {
    const { said, callbacks } = recorder();
    const client = fakeClient(async () => "Fixed.");
    const own = scriptedModel({ "lead/look": [says("Looked.")] }, { id: "scripted/own" });
    const registry = registryWith({ model: own, client });
    const child = (label: string, more: object = {}) => ({ label, task_prompt: `Do ${label}.`, ...more });
    await runTree({
      script: {
        lead: [
          calls("subagent_scout", { task: "Look." }),
          calls("subagent_spawn", { task: "Look.", description: "look" }),
          calls("subagent_delegate", { task: "Fix.", description: "fix" }),
          inParallel([{ label: "one" }, { label: "two" }]),
          calls("subagent", child("later", { background: true })),
          calls("subagent", child("upper")),
          calls("subagent", child("broken")),
          says("Seen."),
        ],
        "lead/upper": [calls("subagent", child("lower")), says("Done.")],
        "lead/broken": [fails("auth", { message: "no key" })],
        "lead/**": [says("Done.")],
      },
      lead: { tools: [...registry], subagents: [agent({ name: "scout" })] },
      runtime: ALLOW,
      run: { onEvent: trackSubagents(callbacks) },
    });
    const endings = said.filter((line) => /^(start|complete|error) /.test(line));
    const expected = ["scout", "look", "fix", "one", "two", "later", "upper", "lower", "broken"].flatMap((label) => {
      const who = `${label === "fix" ? "delegate" : "spawn"} ${label}`;
      const texts: Record<string, string> = { look: "Looked.", fix: "Fixed." };
      const turns = label === "upper" ? 2 : 1;
      const end =
        label === "broken"
          ? `error ${who}: no key; `
          : `complete ${who}: ${texts[label] ?? "Done."}, ${turns} turns, true`;
      return [`start ${who}`, end];
    });
    assert.deepEqual([...endings].sort(), expected.sort());
  });

  test("D2: durations are whole milliseconds", () => {
    const { heard, callbacks } = exactRecorder();
    const listener = toListener(callbacks, { description: "d", mode: "spawn" });
    const who = { agentId: "c", path: "lead/d", depth: 1 };
    const call = { callId: "1", toolName: "look", output: "Seen.", isError: false };
    const end = { text: "Done.", turns: 1, durationMs: 2.337729000000081 };
    for (const event of [
      { ...who, type: "tool-call-end", ...call, durationMs: 0.6 },
      { ...who, type: "run-end", status: "completed", ...end },
      { ...who, type: "run-end", status: "failed", fault: { type: "crash", message: "boom" }, ...end },
    ])
      listener(event as never);
    const durations = heard.map(([, , given]) =>
      given instanceof SubagentError ? given.result.durationMs : (given as { durationMs: number }).durationMs,
    );
    assert.deepEqual(durations, [1, 2, 2]);
  });

  test("D2: a timeout, a cancelled background child and a follow-up each have one end per start", async () => {
    const heard: string[] = [];
    const callbacks: SubagentCallbacks = {
      onSubagentStart: ({ description }) => void heard.push(`start ${description}`),
      onSubagentComplete: (_id, { text }) => void heard.push(`complete ${text}`),
      onSubagentError: (_id, { message }) => void heard.push(`error ${message}`),
    };
    const { stage, result } = await runTree({
      script: {
        lead: [
          calls("subagent", { label: "slow", task_prompt: "t", timeout_ms: 500 }),
          calls("subagent", { label: "left", task_prompt: "t", background: true }),
          calls("subagent", { label: "asked", task_prompt: "t" }),
          ({ messages }: { messages: unknown }) => {
            const [, id = ""] = /Once\.\\n\(subagent_id: (\w+)\)/.exec(JSON.stringify(messages)) ?? [];
            return calls("subagent_send", { subagent_id: id, message: "Again?" });
          },
          says("Seen."),
        ],
        "lead/slow": [[says("Half."), hangs()]],
        "lead/left": [hangs()],
        "lead/asked": [says("Once."), says("Twice.")],
      } as never,
      run: { onEvent: trackSubagents(callbacks), onLiveChildren: "cancel" },
    });
    assert.equal(result.status, "completed");
    assert.equal(stage.eventsOf("run-start").length, 5);
    assert.deepEqual(heard.sort(), [
      "complete Once.",
      "complete Twice.",
      "error Subagent cancelled",
      "error Subagent timed out after 500 ms",
      "start asked",
      "start asked",
      "start left",
      "start slow",
    ]);
  });

  test("D2: the root, and a child that is refused before it starts, call nothing back", async () => {
    const { said, callbacks } = recorder();
    await runTree({
      script: { lead: [calls("subagent", { label: "a", task_prompt: "t" }), says("Oh.")] },
      run: { budget: { executions: 0 }, onEvent: trackSubagents(callbacks) },
    });
    assert.deepEqual(said, []);
  });

  test("D2: callbacks that throw or reject change nothing", async () => {
    const broken = Object.fromEntries(
      Object.keys(recorder().callbacks).map((name, index) => [
        name,
        index % 2 === 0
          ? () => {
              throw new Error("A broken callback");
            }
          : () => Promise.reject(new Error("A broken callback")),
      ]),
    ) as SubagentCallbacks;
    const { result } = await runTree({
      script: { lead: [calls("subagent", { label: "a", task_prompt: "t" }), says("Seen.")], "lead/a": [says("Done.")] },
      run: { onEvent: trackSubagents(broken) },
    });
    assert.equal(result.status, "completed");
  });
});

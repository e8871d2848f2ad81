/** The checker: silent about a good history, and one sentence for each thing that is wrong. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { StoredBody, StoredEvent } from "../../../src/core/event.ts";
import { type Message, userMessage } from "../../../src/core/message.ts";
import { noUsage, type Usage } from "../../../src/core/usage.ts";
import { checkHistory, openRuns } from "../../../src/testing/checker.ts";
import { type SampleTree, sampleTree } from "../../../src/testing/sample-tree.ts";
import {
  ANSWER,
  APPROVAL,
  EDIT_END,
  EDIT_START,
  EXTERNAL_USAGE,
  externalTree,
  QUESTION,
  SESSION,
  TEST_END,
  TEST_START,
  TURN,
  WORK,
} from "../../support/external-tree.ts";
import { checkMessages, checkRequests } from "../../support/testing/check-messages.ts";

function tokens(input: number, output: number, estimated = false): Usage {
  return { ...noUsage(), inputTokens: input, outputTokens: output, totalTokens: input + output, estimated };
}

/** A lead that places a scout, which has a child of its own, and waits for both. */
function placedTree(): readonly StoredEvent[] {
  const tree = sampleTree("lead");
  tree.start("lead");
  tree.add("lead", placing("scout"));
  tree.start("scout", { parent: "lead", details: { placed: { rootId: "lead", budgets: [] } } });
  tree.start("digger", { parent: "scout" });
  for (const runId of ["digger", "scout", "lead"]) tree.end(runId);
  return tree.events;
}

function placing(runId: string) {
  const child = { childRunId: runId, childAgentId: runId, childPath: `lead/${runId}`, label: runId, agent: runId };
  return { type: "placed", ...child, call: undefined, budget: undefined } as const;
}

/** A lead that calls one tool and one background child, with an approval, a retry and a report. */
function goodTree(): SampleTree {
  const tree = sampleTree("lead");
  tree.start("lead");
  tree.add("lead", {
    type: "message-end",
    turn: 1,
    message: {
      role: "assistant",
      content: [{ type: "tool-call", callId: "c1", toolName: "subagent", input: {} }],
    },
    finish: "tool-calls",
    usage: tokens(10, 1),
    costUsd: null,
  });
  tree.add("lead", { type: "tool-call-start", callId: "c1", toolName: "subagent", input: {} });
  tree.add("lead", { type: "approval-request", callId: "c1", toolName: "subagent", input: {} });
  tree.add("lead", { type: "approval-end", callId: "c1", allowed: true, by: "person", reason: undefined });
  tree.start("scout", { parent: "lead" });
  tree.add("lead", {
    type: "tool-call-end",
    callId: "c1",
    toolName: "subagent",
    output: "ok",
    isError: false,
    durationMs: 1,
  });
  tree.add("scout", {
    type: "retry",
    attempt: 1,
    delayMs: 5,
    kind: "network",
    message: "cut",
    spent: tokens(4, 0),
    costUsd: null,
  });
  tree.turn("scout", "Found.", tokens(5, 2));
  tree.end("scout", { usage: tokens(9, 2) });
  tree.add("lead", { type: "report", childRunId: "scout", childAgentId: "scout", text: "Found." });
  tree.turn("lead", "Done.", tokens(20, 3));
  tree.end("lead", { usage: tokens(30, 4) });
  return tree;
}

/** The good history with some events changed or left out, numbered anew. */
function changed(change: (event: StoredEvent) => StoredEvent | StoredEvent[] | undefined): StoredEvent[] {
  return goodTree()
    .events.flatMap((event) => change(event) ?? [])
    .map((event, index) => ({ ...event, seq: index + 1 }));
}

const without = (type: StoredEvent["type"], runId: string) =>
  changed((event) => (event.type === type && event.runId === runId ? undefined : event));
const twice = (type: StoredEvent["type"], runId: string) =>
  changed((event) => (event.type === type && event.runId === runId ? [event, event] : event));

test("a good history has no problems, also against what the provider and the result say", () => {
  const facts = { providerUsage: tokens(39, 6), resultUsage: tokens(39, 6) };
  assert.deepEqual(checkHistory(goodTree().events, facts), []);
});

suite("the checker of placed runs", () => {
  const tree = placedTree();
  const changed = (at: number, change: object) =>
    tree.map((each, index) => (index === at ? { ...each, ...change } : each));
  const numbered = (events: readonly StoredEvent[]) => events.map((each, index) => ({ ...each, seq: index + 1 }));
  const start = "3 run-start of lead/scout";
  const cases: [what: string, events: StoredEvent[], problems: string[]][] = [
    ["nothing in a good tree", [...tree], []],
    [
      "a run that nobody placed",
      changed(1, { childRunId: "other" }) as StoredEvent[],
      [`${start} was not placed by its parent`],
    ],
    [
      "a run that does not know it",
      changed(2, { placed: undefined }) as StoredEvent[],
      [`${start} does not say that it was placed`],
    ],
    [
      "a run that is another one",
      changed(1, { childAgentId: "x", agent: "x", label: "x", call: { callId: "c1", index: 0 } }) as StoredEvent[],
      ["agentId", "agent", "label", "call"].map((what) => `${start} has another ${what} than the run that was placed`),
    ],
    [
      "a run that is placed again",
      numbered(tree.toSpliced(3, 0, ...tree.slice(1, 2))),
      ["4 placed of lead places scout a second time", "4 placed of lead places scout, which has started"],
    ],
    [
      "an event behind the end of its journal",
      numbered([...tree.slice(0, 4), ...tree.slice(5, 6), ...tree.slice(4, 5), ...tree.slice(6)]),
      [
        "5 run-end completed of lead/scout leaves 1 children running",
        "6 run-end completed of lead/scout/digger comes after the end of its journal",
        "4 run-start of lead/scout/digger has no run-end",
      ],
    ],
  ];
  for (const [what, events, problems] of cases)
    test(`it finds ${what}`, () => assert.deepEqual(checkHistory(events), problems));
});

suite("the checker", () => {
  const cases: [what: string, events: StoredEvent[], problems: string[]][] = [
    ["a run without an end", without("run-end", "lead"), ["1 run-start of lead has no run-end"]],
    [
      "a child that is left running",
      without("run-end", "scout"),
      [
        "11 report of lead is about lead/scout, which has not ended",
        "14 run-end completed of lead leaves 1 children running",
        "6 run-start of lead/scout has no run-end",
      ],
    ],
    [
      "two ends of one run",
      twice("run-end", "lead"),
      ["16 run-end completed of lead comes after the run-end of its run"],
    ],
    ["two starts of one run", twice("run-start", "lead"), ["2 run-start of lead is the second of its run"]],
    [
      "a child before its parent",
      without("run-start", "lead").slice(4, 5),
      [
        "5 run-start of lead/scout has number 5, expected 1",
        "5 run-start of lead/scout comes before the run-start of its parent",
        "5 run-start of lead/scout has no run-end",
      ],
    ],
    [
      "a call that is not answered",
      without("tool-call-end", "lead"),
      [
        "13 message-end 1 of lead comes while calls of the answer before are open",
        "14 run-end completed of lead leaves the call c1 open",
      ],
    ],
    [
      "a call that is answered twice",
      twice("tool-call-end", "lead"),
      ["8 tool-call-end subagent c1 of lead ends no open call"],
    ],
    [
      "a call nobody asked for",
      twice("tool-call-start", "lead"),
      ["4 tool-call-start subagent c1 of lead was not asked for, or begins twice"],
    ],
    [
      "a question that is not answered",
      without("approval-end", "lead"),
      [
        "6 tool-call-end subagent c1 of lead ends a call whose question is open",
        "14 run-end completed of lead leaves the question about c1 open",
      ],
    ],
    [
      "a question that is answered twice",
      twice("approval-end", "lead"),
      ["6 approval-end of lead answers no open question"],
    ],
    ["a report that is delivered twice", twice("report", "lead"), ["13 report of lead delivers scout a second time"]],
    [
      "an answer that is not in the sum of its run",
      without("retry", "scout"),
      [
        "10 run-end completed of lead/scout says 11 tokens (9 in, 2 out, 0 cached, 0 written), its answers add up to 7 tokens (5 in, 2 out, 0 cached, 0 written)",
      ],
    ],
    [
      "a wrong depth and a wrong path",
      changed((event) => (event.runId === "scout" ? { ...event, depth: 2, path: "elsewhere" } : event)),
      ["6 run-start of elsewhere has depth 2", "6 run-start of elsewhere is not below lead"],
    ],
    [
      "a path that two agents share",
      changed((event) => (event.runId === "scout" ? { ...event, path: "lead" } : event)),
      ["6 run-start of lead is not below lead", "6 run-start of lead takes a path that belongs to another agent"],
    ],
  ];
  for (const [what, events, problems] of cases) {
    test(`the checker finds ${what}`, () => assert.deepEqual(checkHistory(events), problems));
  }

  test("the checker finds a lost, a repeated and a swapped number", () => {
    const { events } = goodTree();
    const [first, second, third, ...rest] = events;
    assert.ok(first !== undefined && second !== undefined && third !== undefined);
    const numbers = (changedEvents: StoredEvent[]) =>
      checkHistory(changedEvents).filter((problem) => problem.includes("has number"));
    assert.equal(numbers([first, third, ...rest]).length, 1);
    assert.equal(numbers([first, second, second, third, ...rest]).length, 1);
    assert.equal(numbers([first, third, second, ...rest]).length, 3);
  });

  test("the checker finds usage that differs from what the provider or the result says", () => {
    const problems = checkHistory(goodTree().events, { providerUsage: tokens(40, 6), resultUsage: tokens(30, 4) });
    assert.deepEqual(problems, [
      "The result says 34 tokens (30 in, 4 out, 0 cached, 0 written), its runs add up to 45 tokens (39 in, 6 out, 0 cached, 0 written)",
      "The provider reported 46 tokens (40 in, 6 out, 0 cached, 0 written), the runs add up to 45 tokens (39 in, 6 out, 0 cached, 0 written)",
    ]);
  });

  test("the checker finds nothing in what a crash cut off, when it is told so", () => {
    const events = goodTree().events.slice(0, 8);
    assert.deepEqual(checkHistory(events, { isUnfinished: true }), []);
    assert.deepEqual(openRuns(events), [
      "lead (lead) after tool-call-end subagent c1",
      "lead/scout (scout) after retry",
    ]);
  });

  test("the checker finds nothing in an estimate that is higher than what was reported", () => {
    const events = changed((event) =>
      event.type === "run-end" && event.runId === "scout" ? { ...event, usage: tokens(50, 2, true) } : event,
    );
    assert.deepEqual(checkHistory(events, { providerUsage: tokens(39, 6) }), []);
  });
});

suite("a history a provider would refuse", () => {
  const call = (callId: string): Message => ({
    role: "assistant",
    content: [{ type: "tool-call", callId, toolName: "grep", input: {} }],
  });
  const result = (callId: string, output = "ok"): Message => ({
    role: "tool",
    content: [{ type: "tool-result", callId, toolName: "grep", output, isError: false }],
  });
  const task = userMessage("Look.");
  const cases: [what: string, messages: Message[], problems: string[]][] = [
    ["is not one with calls and results in pairs", [task, call("a"), result("a"), call("b"), result("b")], []],
    ["has a call without a result", [task, call("a"), task], ["message 2 (user) comes while a has no result"]],
    [
      "ends with an open call",
      [task, call("a")],
      ["the history ends with the model's own message", "the history ends while a has no result"],
    ],
    ["has a result without a call", [task, result("a")], ["message 1 (tool) answers a, which is not open"]],
    [
      "has two results of one call",
      [task, call("a"), result("a"), result("a")],
      ["message 3 (tool) answers a, which is not open"],
    ],
    [
      "uses an id twice",
      [task, call("a"), result("a"), call("a"), result("a")],
      ["message 3 (assistant) uses the call id a again"],
    ],
    ["has a call without an id", [task, call(""), result("")], ["message 1 (assistant) has a call without an id"]],
    [
      "has half a character",
      [task, call("a"), result("a", "\ud800")],
      ["message 2 (tool) has a result of a that is not well-formed Unicode"],
    ],
    [
      "has half a character in an input",
      [
        task,
        {
          role: "assistant",
          content: [{ type: "tool-call", callId: "a", toolName: "grep", input: { pattern: ["\ud800"] } }],
        },
        result("a"),
      ],
      ["message 1 (assistant) has an input of a that is not well-formed Unicode"],
    ],
    ["has an empty message", [task, { role: "assistant", content: [] }, task], ["message 1 (assistant) is empty"]],
    ["begins with the model", [call("a"), result("a")], ["the history does not begin with a user message"]],
  ];
  for (const [what, messages, problems] of cases) {
    test(`a history that ${what} is found`, () => assert.deepEqual(checkMessages(messages), problems));
  }

  test("a history that a provider would refuse is named by its agent and turn", () => {
    const request = { path: "lead", runId: "r", turn: 2, instructions: undefined, mayCallTools: true };
    assert.deepEqual(checkRequests([{ ...request, tools: ["grep", "grep"], messages: [] }]), [
      "lead, request 2: the history does not begin with a user message",
      "lead, request 2: two tools have one name",
    ]);
  });
});

suite("the checker, of an external agent,", () => {
  const check = (work: readonly StoredBody[]) => checkHistory(externalTree(work).events);

  test("the checker accepts a session of an external agent, its calls and questions about them", () => {
    assert.deepEqual(check(WORK), []);
  });

  test("the checker accepts a second session of an external agent after a restart, whatever the first left open", () => {
    const resumed: StoredBody[] = [
      SESSION,
      TURN,
      EDIT_START,
      QUESTION,
      { type: "resume", usedMs: 5 },
      { type: "outside-session", server: "Claude Code", sessionId: "session-1", continued: true },
      TURN,
      ANSWER,
    ];
    assert.deepEqual(check(resumed), []);
  });

  test("the checker accepts a call of an external agent without an end when the agent was stopped", () => {
    const tree = sampleTree("lead");
    tree.start("lead", { details: { model: "external/claude-code" } });
    for (const body of [SESSION, TURN, TEST_START, ANSWER]) tree.add("lead", body);
    tree.end("lead", { status: "cancelled", usage: EXTERNAL_USAGE });
    assert.deepEqual(checkHistory(tree.events), []);
  });

  const wrong: [what: string, work: readonly StoredBody[], problem: string][] = [
    [
      "a session in the middle of a turn",
      [TURN, SESSION, ANSWER],
      "4 outside-session of lead/claude comes in the middle of a turn",
    ],
    [
      "a call without a session",
      [TURN, TEST_START, TEST_END, ANSWER],
      "4 outside-call start Bash t1 of lead/claude comes before the session of its run",
    ],
    [
      "an end without a start",
      [SESSION, TURN, TEST_END, ANSWER],
      "5 outside-call end Bash t1 of lead/claude ends no open call",
    ],
    [
      "a start that comes twice",
      [SESSION, TURN, TEST_START, TEST_START, TEST_END, ANSWER],
      "6 outside-call start Bash t1 of lead/claude begins twice",
    ],
    [
      "a start without an end",
      [SESSION, TURN, TEST_START, ANSWER],
      "7 run-end completed of lead/claude leaves the external call t1 open",
    ],
    [
      "an end before the answer to its question",
      [SESSION, TURN, EDIT_START, QUESTION, EDIT_END, APPROVAL, ANSWER],
      "7 outside-call end edit t2 of lead/claude ends a call whose question is open",
    ],
  ];
  for (const [what, work, problem] of wrong) {
    test(`the checker finds ${what}`, () => assert.ok(check(work).includes(problem), check(work).join("\n")));
  }
});

/** G5: cut anywhere, a tree goes on to the same end, and nothing that was finished is done again. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as z from "zod";
import { agent } from "../../../../../src/core/agent.ts";
import type { ModelRequest } from "../../../../../src/core/model.ts";
import { after, calls, fails, type Script, says, stopsAtLength, uses } from "../../../../../src/testing/steps.ts";
import { simpleTool } from "../../../../support/requirements/support.ts";
import { cutEverywhere, resultsOf, type Scenario } from "../../../../support/runtime/tree/restore/crash-points.ts";

const look = (note: (callId: string) => void) => [
  simpleTool("look", (_input, { callId }) => {
    note(callId);
    return `seen ${callId}`;
  }),
];

/** Looks so often, then says what it saw. */
const looksTwice: Script[string] = (request: ModelRequest) => {
  const seen = resultsOf(request, "look");
  return seen.length < 2 ? calls("look", { place: seen.length }) : says(`Seen ${seen.length}.`);
};

const looksOnce: Script[string] = (request: ModelRequest) =>
  resultsOf(request, "look").length === 0 ? calls("look") : says("Seen.");

const outputSchema = { type: "object", properties: { hits: { type: "number" } }, required: ["hits"] };

const scenarios: Record<string, Scenario> = {
  "an answer whose schema the provider refuses, and that has to be repaired": {
    script: {
      lead: ({ messages, settings }) => {
        if (messages.length === 1 && settings.outputSchema !== undefined)
          return fails("output_schema", { retryAfterMs: 0 });
        return says(messages.length === 1 ? '{"hits":"many"}' : '{"hits":3}');
      },
    },
    agent: { outputSchema },
  },
  "several calls in one answer": {
    script: {
      lead: (request) =>
        resultsOf(request, "look").length === 0
          ? [says("Three at once."), calls("look", { a: 1 }), calls("look", { b: 2 }), calls("look", { c: 3 })]
          : says("Done."),
    },
    tools: look,
  },
  "three children at once, one of which has a child": {
    script: {
      lead: (request) =>
        resultsOf(request, "parallel_subagent").length === 0
          ? calls("parallel_subagent", {
              tasks: ["a", "b", "c"].map((label) => ({ label, task_prompt: `Look at ${label}.` })),
              max_concurrent: 2,
            })
          : says("All three have looked."),
      "lead/*": looksOnce,
      "lead/b": (request) =>
        resultsOf(request, "subagent").length === 0
          ? calls("subagent", { label: "deeper", task_prompt: "Look closer." })
          : says("It looked closer."),
      "lead/b/deeper": looksTwice,
    },
    tools: look,
  },
  "specialists by name, one twice": {
    script: {
      lead: (request) => {
        const done = resultsOf(request, "subagent_scout").length;
        return done < 2 ? calls("subagent_scout", { task: `Look at ${done}.` }) : says("Both are back.");
      },
      "lead/*": looksOnce,
    },
    tools: look,
    agent: { subagents: [agent({ name: "scout", instructions: "You look." })] },
  },
  "a child in the background that is waited for": {
    script: {
      lead: (request) => {
        if (resultsOf(request, "subagent").length === 0)
          return calls("subagent", { label: "slow", task_prompt: "Take your time.", background: true });
        if (resultsOf(request, "look").length === 0) return calls("look");
        if (resultsOf(request, "subagent_wait").length === 0) return calls("subagent_wait");
        return says("It is back.");
      },
      "lead/slow": looksTwice,
    },
    tools: look,
  },
  "a child in the background whose report arrives by itself": {
    script: {
      lead: (request) => {
        if (resultsOf(request, "subagent").length === 0)
          return calls("subagent", { label: "slow", task_prompt: "Take your time.", background: true });
        const hasReport = request.messages.some(
          ({ role, content }) =>
            role === "user" && content.some((part) => part.type === "text" && part.text.startsWith("Report of")),
        );
        return says(hasReport ? "I have read it." : "I wait.");
      },
      "lead/slow": (request) =>
        resultsOf(request, "look").length === 0 ? [after(500), calls("look")] : says("Here I am."),
    },
    tools: look,
  },
  "a child that is asked again": {
    script: {
      lead: (request) => {
        const [first] = resultsOf(request, "subagent");
        if (first === undefined) return calls("subagent", { label: "scout", task_prompt: "Look." });
        const [, subagent_id] = /subagent_id: (\w+)/.exec(first) ?? [];
        if (resultsOf(request, "subagent_send").length === 0)
          return calls("subagent_send", { subagent_id, message: "And behind it?" });
        return says("Now I know.");
      },
      "lead/scout": (request) => {
        const asked = request.messages.filter(({ role }) => role === "user").length;
        return resultsOf(request, "look").length < asked ? calls("look") : says(`Answer ${asked}.`);
      },
    },
    tools: look,
  },
  "three children of one call that does not number them": {
    script: {
      lead: (request) =>
        resultsOf(request, "subagent_crew").length === 0 ? calls("subagent_crew") : says("All came."),
      "lead/*": looksOnce,
    },
    tools: (note) => [
      ...look(note),
      simpleTool(
        "subagent_crew",
        async (_input, { spawn }) => {
          for (const task of ["First.", "Second.", "Third."]) await spawn({ label: "mate", task });
          return "done";
        },
        { category: "subagent" },
      ),
    ],
  },
  "a child that sums up": {
    script: {
      lead: (request) =>
        resultsOf(request, "subagent").length === 0
          ? calls("subagent", { label: "scout", task_prompt: "Look.", summary_prompt: "In one word." })
          : says("Good."),
      "lead/scout": (request) => {
        if (!request.mayCallTools) return says("Fine.");
        return resultsOf(request, "look").length === 0 ? calls("look") : says("A long story.");
      },
    },
    tools: look,
  },
  "a child that runs out of turns": {
    script: {
      lead: (request) =>
        resultsOf(request, "subagent").length === 0
          ? calls("subagent", { label: "scout", task_prompt: "Look.", max_turns: 2 })
          : says("It did not finish."),
      "lead/scout": (request) => (request.mayCallTools ? calls("look") : says("So far.")),
    },
    tools: look,
  },
  "an answer of the wrong shape": {
    script: { lead: (request) => says(request.mayCallTools ? "not JSON" : `{"n":3}`) },
    agent: { outputSchema: z.object({ n: z.number() }) },
  },
  "an answer that is cut, and one that is empty": {
    script: {
      lead: (request) => {
        const told = request.messages.filter(({ role }) => role === "user").length;
        if (told === 1) return [says("The first half "), stopsAtLength()];
        return told === 2 ? says("") : says("and the second.");
      },
    },
  },
  "a budget that is spent": {
    script: {
      lead: (request) =>
        request.mayCallTools
          ? [calls("look"), uses({ input: 400, output: 400 })]
          : [says("That is all."), uses({ input: 10, output: 5 })],
    },
    tools: look,
    run: { budget: { tokens: 8_000 } },
    mayLoseText: true,
  },
  "a child with a share of the budget": {
    script: {
      lead: (request) =>
        resultsOf(request, "subagent_scout").length === 0
          ? calls("subagent_scout", { task: "Look." })
          : says("It is back."),
      "lead/scout": looksTwice,
    },
    tools: look,
    agent: { subagents: [agent({ name: "scout", budget: { tokens: 20_000, executions: 1 } })] },
    run: { budget: { tokens: 100_000, executions: 3 } },
  },
  "a provider that fails at first": {
    script: () => {
      let asked = 0;
      return {
        lead: (request) => {
          asked += 1;
          if (asked % 2 === 1) return fails("overloaded");
          return resultsOf(request, "look").length === 0 ? calls("look") : says("Done.");
        },
      };
    },
    tools: look,
  },
  "approval by a person": {
    script: { lead: (request) => (resultsOf(request, "write").length === 0 ? calls("write") : says("Written.")) },
    tools: (note) => [
      simpleTool("write", (_input, { callId }) => note(callId) ?? "ok", { tier: "confirm", effect: "idempotent" }),
    ],
    runtime: { approve: async () => ({ allow: true }) },
  },
  "approval by no one": {
    script: { lead: (request) => (resultsOf(request, "write").length === 0 ? calls("write") : says("Without it.")) },
    tools: (note) => [
      simpleTool("write", (_input, { callId }) => note(callId) ?? "ok", { tier: "confirm", effect: "idempotent" }),
    ],
  },
  "a fork": {
    script: {
      lead: (request) =>
        resultsOf(request, "look").length === 0
          ? calls("look")
          : resultsOf(request, "subagent").length === 0
            ? calls("subagent", { label: "twin", task_prompt: "Go another way.", context: "fork" })
            : says("Both ways."),
      "lead/twin": (request) =>
        resultsOf(request, "look").length < 2 ? calls("look", { other: true }) : says("The other way."),
    },
    tools: look,
  },
};

suite("G5: a tree that is cut", () => {
  for (const [name, scenario] of Object.entries(scenarios)) {
    test(`G5: a tree with ${name} that is cut anywhere continues to the same end`, async () => {
      const { whole, cuts } = await cutEverywhere(scenario);
      assert.ok(cuts >= whole.events.length - 3, `${cuts} cuts of ${whole.events.length} events`);
    });
  }
});

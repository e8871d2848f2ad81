/** Approval is to one action: what was shown is what runs, and another action is another question. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import * as z from "zod";
import { agent } from "../../../src/core/agent.ts";
import type { ApprovalRequest, Approve } from "../../../src/core/approval.ts";
import { type Tool, tool } from "../../../src/core/tool.ts";
import { describeAction } from "../../../src/runtime/rights/action-text.ts";
import { createPolicy } from "../../../src/runtime/rights/policy.ts";
import { createRuntime } from "../../../src/runtime.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { calls, says } from "../../../src/testing/steps.ts";
import { type Effect, noLinks, requestFor, rulesFrom } from "../../support/runtime/rights/requests.ts";
import { codePoint } from "../code-point.ts";

type Call = [toolName: string, input: unknown];

suite("B5.7: an answer for always covers this action of this agent and nothing else", () => {
  const cases: [what: string, approved: Call, same: Call[], others: Call[]][] = [
    [
      "a command",
      ["terminal", { command: "npm test" }],
      [
        ["terminal", { command: "npm  'test'" }],
        ["terminal", { command: "npm test", timeout: 9 }],
      ],
      [
        ["terminal", { command: "npm test x" }],
        ["terminal", { command: "npm test; rm x" }],
        ["terminal", { command: "npm" }],
        ["terminal", { command: "npm test", background: true }],
        ["terminal", { command: "npm test", cwd: "evil" }],
        ["terminal", { command: "npm 'te st'" }],
      ],
    ],
    [
      "a command that is not plain",
      ["terminal", { command: "cat a > b; rm '*'" }],
      [["terminal", { command: "cat a > b; rm '*'" }]],
      [
        ["terminal", { command: "cat a > b; rm *" }],
        ["terminal", { command: "cat a > b" }],
      ],
    ],
    [
      "a command with brackets and stars",
      ["terminal", { command: "ls '*' \"(a)\"" }],
      [["terminal", { command: "ls '*' '(a)'" }]],
      [
        ["terminal", { command: "ls x '(a)'" }],
        ["terminal", { command: "ls '*' '(a)' '/'" }],
      ],
    ],
    [
      "a path",
      ["write_file", { path: "./a/../src/x.ts", content: "1" }],
      [["write_file", { path: "/workspace/src/x.ts", content: "2" }]],
      [
        ["write_file", { path: "src/y.ts" }],
        ["write_file", { path: "a/src/x.ts" }],
        ["edit_file", { path: "src/x.ts" }],
      ],
    ],
    [
      "a host",
      ["fetch", { url: "https://example.com/a" }],
      [["fetch", { url: "https://example.com/b" }]],
      [
        ["fetch", { url: "http://example.com/a" }],
        ["fetch", { url: "https://example.com:8443/a" }],
        ["fetch", { url: "https://a.example.com/" }],
        ["fetch", { url: "https://example.com@evil.org/" }],
      ],
    ],
    [
      "an agent",
      ["subagent", { agent: "scout", task_prompt: "a" }],
      [["subagent", { agent: "scout", task_prompt: "b" }]],
      [
        ["subagent", { agent: "editor", task_prompt: "a" }],
        ["subagent", { task_prompt: "a" }],
      ],
    ],
    [
      "any other tool",
      ["github__merge", { id: 1, repo: "a" }],
      [["github__merge", { repo: "a", id: 1 }]],
      [
        ["github__merge", { id: 2, repo: "a" }],
        ["github__merge", { id: 1, repo: "a", force: true }],
        ["github__close", { id: 1, repo: "a" }],
      ],
    ],
  ];
  for (const [what, approved, same, others] of cases) {
    test(`an answer for always covers exactly ${what}`, () => {
      const policy = createPolicy({ rules: rulesFrom("ask *"), realPath: noLinks });
      const decide = ([toolName, input]: Call, name = "scout"): Effect =>
        policy.decide(requestFor(toolName, input, { agent: name }))?.effect;
      assert.equal(decide(approved), "ask");
      policy.remember(policy.describe(requestFor(...approved)).rule, requestFor(...approved));
      for (const call of [approved, ...same]) assert.equal(decide(call), "allow", JSON.stringify(call));
      for (const call of others) assert.equal(decide(call), "ask", JSON.stringify(call));
      assert.equal(decide(approved, "editor"), "ask");
    });
  }

  test("an answer for always never beats a rule that denies", () => {
    const policy = createPolicy({ rules: rulesFrom("deny terminal(rm*)") });
    const request = requestFor("terminal", { command: "rm x" });
    policy.remember({ effect: "allow", pattern: "terminal", origin: "test" }, request);
    assert.equal(policy.decide(request)?.effect, "deny");
  });

  for (const effect of ["allow", "deny"] as const) {
    test(`an answer for always answers the questions about it that already wait (${effect}), before the person is asked once more`, async () => {
      const { ran, terminal } = recordingTerminal();
      const policy = createPolicy({ rules: rulesFrom("ask *"), realPath: noLinks });
      let isAsked = false;
      const ask: Approve = () => {
        isAsked = true;
        return { allow: false };
      };
      const model = scriptedModel({ lead: [calls("terminal", { command: "npm test" }), says("Done.")] });
      const runtime = createRuntime({ approve: { decide: policy.decide, ask } });
      await runtime.run(agent({ name: "lead", model, tools: [terminal] }), "Test.", {
        // The rules have asked for an answer, and the person has not seen the question yet.
        onEvent: (event) => {
          const rule = { effect, pattern: "terminal(=npm test)", origin: "test" };
          if (event.type === "approval-request") policy.remember(rule, { agent: "lead", above: [] });
        },
      });
      assert.deepEqual([ran, isAsked], [effect === "allow" ? ["npm test"] : [], false]);
    });
  }

  test("an answer for always goes by effect: the second command with other arguments asks again, and does not run after a no", async () => {
    const asked: ApprovalRequest[] = [];
    const { ran, terminal } = recordingTerminal();
    const policy = createPolicy({ rules: [] });
    const ask: Approve = (request) => {
      asked.push(request);
      if (asked.length > 1) return { allow: false };
      policy.remember(policy.describe(request).rule, request);
      return { allow: true };
    };
    const commands = ["npm test", "npm test", "npm test --force"];
    const model = scriptedModel({
      lead: [...commands.map((command) => calls("terminal", { command })), says("Done.")],
    });
    const runtime = createRuntime({ approve: { decide: policy.decide, ask }, host: { cwd: "/workspace" } });
    await runtime.run(agent({ name: "lead", model, tools: [terminal] }), "Test.");
    assert.deepEqual(ran, ["npm test", "npm test"]);
    assert.deepEqual(
      asked.map(({ path, agent: name, cwd, input }) => ({ path, name, cwd, input })),
      ["npm test", "npm test --force"].map((command) => ({
        path: "lead",
        name: "lead",
        cwd: "/workspace",
        input: { command },
      })),
    );
  });
});

function recordingTerminal(): { ran: string[]; terminal: Tool<{ command: string }> } {
  const ran: string[] = [];
  const terminal = tool({
    name: "terminal",
    description: "Runs a command.",
    tier: "confirm",
    inputSchema: z.object({ command: z.string() }),
    execute: ({ command }) => {
      ran.push(command);
      return "ok";
    },
  });
  return { ran, terminal };
}

suite("B5.7: the question shows the whole action", () => {
  function shown(command: string, width = 40): readonly string[] {
    return describeAction(requestFor("terminal", { command }), { width, realPath: noLinks }).lines;
  }

  const hidden: [how: string, command: string, lines: readonly string[]][] = [
    ["a plain command", "npm test", ["npm test"]],
    ["a line break", "npm test\nrm -rf x", ["npm test", "| rm -rf x"]],
    ["many line breaks", `npm test${"\n".repeat(500)}rm -rf x`, ["npm test", "| <499 empty lines>", "| rm -rf x"]],
    ["a carriage return", "npm test; rm -rf x\rnpm test", ["npm test; rm -rf x<U+000D>npm test"]],
    ["many blanks", `npm test${" ".repeat(500)}; rm -rf x`, ["npm test <498 spaces> ; rm -rf x"]],
    ["a right-to-left override", "npm test \u202ex fr- mr", ["npm test <U+202E>x fr- mr"]],
    ["an isolate", "a\u2066b\u2069", ["a<U+2066>b<U+2069>"]],
    ["an escape sequence", "npm test\u001b[2K\u001b[1A", ["npm test<U+001B>[2K<U+001B>[1A"]],
    ["a backspace", "rm x\b\b\b\bls", ["rm x<U+0008><U+0008><U+0008><U+0008>ls"]],
    ["a zero-width space", "r\u200bm", ["r<U+200B>m"]],
    ["a line separator", "ls\u2028rm", ["ls<U+2028>rm"]],
    ["a no-break space", "ls\u00a0rm", ["ls<U+00A0>rm"]],
    ["a tag character", "ls\u{e0041}", ["ls<U+E0041>"]],
  ];
  for (const [how, command, lines] of hidden) {
    test(`the question shows ${how}`, () => assert.deepEqual(shown(command), lines));
  }

  test("the question shows the whole action however long it is: rows are wrapped and never cut", () => {
    const words = Array.from({ length: 2000 }, (_, index) => `word${index}`);
    const lines = shown(words.join(" "));
    assert.ok(lines.every((line) => line.length <= 40));
    const text = lines.map((line, index) => (index === 0 ? line : line.slice(2))).join("");
    assert.equal(text, words.join(" "));
  });

  test("nothing in a question acts on a terminal, and every visible character is there", () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint, maxLength: 200 }), (command) => {
        const text = shown(command).join("\n");
        assert.doesNotMatch(text, /(?![\n ])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/u);
        const visible = command.toWellFormed().match(/(?!\p{Default_Ignorable_Code_Point})[\p{L}\p{N}]/gu) ?? [];
        let at = 0;
        for (const character of visible) {
          at = text.indexOf(character, at) + 1;
          assert.notEqual(at, 0);
        }
      }),
      { numRuns: 300 },
    );
  });

  test("a path is shown as where it leads, and a host as what is connected to", () => {
    const links = (path: string): string => path.replace("/workspace/link", "/workspace/private");
    const write = describeAction(requestFor("write_file", { path: "./link/../link/key", content: "x" }), {
      realPath: links,
    });
    assert.deepEqual(write.lines, ["private/key", "path: ./link/../link/key", "content: x"]);
    assert.equal(write.rule.pattern, "write_file(=private/key)");
    const { lines } = describeAction(requestFor("fetch", { url: "https://google.com@ex\u0430mple.com./" }), {
      width: 60,
    });
    assert.deepEqual(lines, ["xn--exmple-4nf.com", "url: https://google.com@ex\u0430mple.com./"]);
  });

  test("a long content is shown whole", () => {
    const content = `HEAD${"x".repeat(5000)}TAIL`;
    const { lines } = describeAction(requestFor("write_file", { path: "a", content }), { realPath: noLinks });
    assert.equal(lines.map((line) => line.replace(/^ {2}/, "")).join(""), `acontent: ${content}`);
  });

  test("the agent that asks is named, and cannot pass for another", () => {
    const { title } = describeAction(requestFor("terminal", { command: "ls" }, { path: "lead/a\u001b[2K\nroot" }));
    assert.equal(title, "lead/a<U+001B>[2K<U+000A>root wants to use terminal");
  });
});

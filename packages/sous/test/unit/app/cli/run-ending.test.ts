import assert from "node:assert/strict";
import { test } from "node:test";
import { exitCodeFor } from "../../../../src/app/cli/report-error.ts";
import { type EndingFacts, endingSentence, raiseOf } from "../../../../src/app/cli/run/ending.ts";
import { ConfigurationError, type Problem } from "../../../../src/app/config/problem.ts";
import { BudgetExceeded } from "../../../../src/core/errors.ts";
import { withoutRun } from "../../../../src/core/runtime.ts";

const FACTS: EndingFacts = {
  stoppedBy: undefined,
  isStored: true,
  flags: { dbPath: undefined, configFile: undefined },
};

test("a limit that bit says what there is of an answer, and which option allows more", () => {
  const ended = (limit: "tokens" | "costUsd" | "durationMs", used: number, text: string): string | undefined => {
    const { message } = new BudgetExceeded(limit, used, limit === "durationMs" ? 1000 : 1);
    const status = limit === "durationMs" ? "timeout" : "budget_exceeded";
    const type = limit === "durationMs" ? "timeout" : "quota";
    return endingSentence({ ...withoutRun("failed", { type, message }), status, text }, FACTS);
  };
  assert.deepEqual(
    [ended("tokens", 2, ""), ended("costUsd", 2, "Half"), ended("durationMs", 1003, "Half")],
    [
      "error: Token limit exceeded: 2/1. No answer was given. --max-tokens-total allows more.",
      "error: Cost limit exceeded: $2.0000/$1.0000. The answer may not be complete. --budget allows more.",
      "error: Time limit exceeded: 1s/1s. The answer may not be complete. --timeout allows more.",
    ],
  );
});

test("a stored run that reached a limit is continued by a whole command, with an amount that is enough", () => {
  const ended = (message: string, facts: Partial<EndingFacts>) => {
    const result = { ...withoutRun("failed", { type: "quota", message }), runId: "01KA", text: "Half" };
    return endingSentence({ ...result, status: "budget_exceeded" }, { ...FACTS, ...facts })
      ?.split(". ")
      .slice(2)
      .join(". ");
  };
  const tokens = new BudgetExceeded("tokens", 10_450, 10_000).message;
  assert.equal(
    ended(tokens, {}),
    "--max-tokens-total allows more. Continue this run: sous resume 01KA --add-tokens 11000",
  );
  assert.equal(ended(tokens, { isStored: false }), "--max-tokens-total allows more.");
  const flags = { dbPath: "my runs.db", configFile: "c.yaml" };
  assert.equal(
    ended(new BudgetExceeded("costUsd", 0.0243, 0.0001).message, { flags }),
    "--budget allows more. Continue this run: sous resume 01KA --add-budget 0.049 --db-path 'my runs.db' --config c.yaml",
  );
  assert.equal(
    ended(new BudgetExceeded("durationMs", 300_000, 300_000).message, {}),
    "--timeout allows more. Continue this run: sous resume 01KA --timeout 300s",
  );
  assert.equal(ended("Execution limit reached: 2/2", {}), "");
});

test("the budget that a line offers to add is rounded up and is never nothing", () => {
  const added = (limit: "tokens" | "costUsd" | "durationMs", used: number, allowed: number): string | undefined =>
    raiseOf(new BudgetExceeded(limit, used, allowed).message)?.added;
  assert.deepEqual(
    [added("tokens", 3, 1), added("tokens", 999, 999), added("tokens", 1_234_567, 1_000_000)],
    ["--add-tokens 5", "--add-tokens 1000", "--add-tokens 1500000"],
  );
  assert.deepEqual(
    [added("costUsd", 0.00001, 0.000001), added("costUsd", 12.5, 10), added("costUsd", 0.5, 0.5)],
    ["--add-budget 0.0001", "--add-budget 15", "--add-budget 0.5"],
  );
  assert.equal(raiseOf("The run timed out after 50 ms")?.added, "--timeout 1s");
});

test("a value that was typed is a mistake of usage, one in a file or a variable one of configuration", () => {
  const at = (kind: "flag" | "variable", code: string): Problem => {
    return { code, location: { kind, name: "x", text: "x" }, message: "", fix: "" };
  };
  const codeOf = (...problems: Problem[]): number => exitCodeFor(new ConfigurationError(problems));
  assert.equal(codeOf(at("flag", "SOUS-C003")), 2);
  assert.equal(codeOf(at("flag", "SOUS-C001")), 3);
  assert.equal(codeOf(at("variable", "SOUS-C003")), 3);
  assert.equal(codeOf(at("flag", "SOUS-C003"), at("variable", "SOUS-C003")), 3);
});

test("an action that its tool asked about is named with the reason, and no rule is offered for it", () => {
  const denied = [
    { path: "sous", toolName: "write_file", input: { path: "x.txt" } },
    {
      path: "sous/scout",
      toolName: "mcp__github__post",
      input: {},
      toolReason: "its description\u001b[31m has changed",
    },
  ];
  const result = { ...withoutRun("failed", { type: "consent", message: "" }), status: "incomplete", denied } as const;
  const sentence = endingSentence({ ...result, stopReason: "consent" } as never, FACTS) ?? "";
  assert.equal(
    sentence,
    "error: mcp__github__post (sous/scout) needs an answer of a person, whatever rules allow: its description has changed. Use it once in sous chat, and answer the question there; or read the change with sous mcp check github, and approve it with --approve. 1 other action needed consent too: denied of --json lists all.",
  );
});

test("actions that lacked approval are named, five of them, and the others are counted", () => {
  const sentence = (count: number) => {
    const denied = Array.from({ length: count }, (_, index) => {
      return { path: "sous", toolName: "write_file", input: { path: `${index}.txt` }, callId: `${index}` };
    });
    const result = { ...withoutRun("failed", { type: "consent", message: "" }), status: "incomplete", denied } as const;
    return endingSentence({ ...result, stopReason: "consent" } as never, FACTS) ?? "";
  };
  assert.match(sentence(1), /^error: 1 action needed consent and no one could be asked: write_file 0\.txt \(sous\)\. /);
  assert.match(sentence(5), /^error: 5 actions .* write_file 4\.txt \(sous\)\. --allow/);
  assert.match(sentence(7), /^error: 7 actions .* write_file 4\.txt \(sous\), and 2 more\. --allow/);
  assert.doesNotMatch(sentence(7), /5\.txt/);
});

test("a tool of an MCP server that lacked approval is named as the rule that allows it", () => {
  const denied = [{ path: "sous", toolName: "mcp__github__post", input: { a: 1 }, callId: "1" }];
  const result = { ...withoutRun("failed", { type: "consent", message: "" }), status: "incomplete", denied } as const;
  assert.match(
    endingSentence({ ...result, stopReason: "consent" } as never, FACTS) ?? "",
    /--allow 'mcp__github__post' allows/,
  );
});

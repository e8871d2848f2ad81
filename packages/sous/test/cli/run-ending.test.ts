import assert from "node:assert/strict";
import { test } from "node:test";
import { endingSentence } from "../../src/cli/commands/run-ending.ts";
import { exitCodeFor } from "../../src/cli/report-error.ts";
import { BudgetExceeded } from "../../src/core/errors.ts";
import { ConfigurationError, type Problem } from "../../src/core/problem.ts";
import { withoutRun } from "../../src/core/runtime.ts";

const FACTS = { stoppedBy: undefined, isKept: true };

test("a limit that bit says what there is of an answer, and which option allows more", () => {
  const ended = (limit: "tokens" | "costUsd" | "seconds", used: number, text: string): string | undefined => {
    const { message } = new BudgetExceeded(limit, used, 1);
    const status = limit === "seconds" ? "timeout" : "budget_exceeded";
    const type = limit === "seconds" ? "timeout" : "quota";
    return endingSentence({ ...withoutRun("failed", { type, message }), status, text }, FACTS);
  };
  assert.deepEqual(
    [ended("tokens", 2, ""), ended("costUsd", 2, "Half"), ended("seconds", 1.003, "Half")],
    [
      "error: Token limit exceeded: 2/1. There is no answer. --max-tokens-total allows more.",
      "error: Cost limit exceeded: $2.0000/$1.0000. The answer may not be complete. --budget allows more.",
      "error: Time limit exceeded: 1s/1s. The answer may not be complete. --timeout allows more.",
    ],
  );
});

test("a stored run that had too few tokens says how it is continued", () => {
  const { message } = new BudgetExceeded("tokens", 2, 1);
  const result = { ...withoutRun("failed", { type: "quota", message }), runId: "01KA", text: "Half" };
  const ended = (isKept: boolean) => endingSentence({ ...result, status: "budget_exceeded" }, { ...FACTS, isKept });
  const start = "error: Token limit exceeded: 2/1. The answer may not be complete. --max-tokens-total allows more";
  assert.equal(ended(true), `${start}, and sous resume 01KA --budget +TOKENS continues this run.`);
  assert.equal(ended(false), `${start}.`);
});

test("a value that was typed is a mistake of usage, one in a file or a variable one of configuration", () => {
  const at = (kind: "flag" | "variable", code: string): Problem => {
    return { code, place: { kind, name: "x", text: "x" }, message: "", fix: "" };
  };
  const codeOf = (...problems: Problem[]): number => exitCodeFor(new ConfigurationError(problems));
  assert.equal(codeOf(at("flag", "SOUS-C003")), 2);
  assert.equal(codeOf(at("flag", "SOUS-C001")), 3);
  assert.equal(codeOf(at("variable", "SOUS-C003")), 3);
  assert.equal(codeOf(at("flag", "SOUS-C003"), at("variable", "SOUS-C003")), 3);
});

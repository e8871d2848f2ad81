/** Agent files of four programs, shaped like those people have, each with what it may do here and what is said about it. */

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import type { AgentDialect, AgentScope } from "../../../../src/app/config/agents/file.ts";
import { readAgentFile } from "../../../../src/app/config/agents/read.ts";
import { toEffectiveRights } from "../../../../src/app/config/agents/rights.ts";
import { OUR_TOOLS } from "../../../../src/app/config/agents/tools.ts";
import { checkPattern } from "../../../../src/runtime/rights/rule-pattern.ts";
import { pages } from "../../../support/docs/markdown-files.ts";

const folder = join(import.meta.dirname, "../../../support/app/config/agent-files");
const DIALECTS: readonly AgentDialect[] = ["sous", "claude", "gemini", "opencode"];

/** What a file gives, in short: `tool: :line (what the line says)`. */
function inShort(dialect: AgentDialect, name: string, scope: AgentScope): object {
  const file = `agents/${name}.md`;
  const text = readFileSync(join(folder, dialect, `${name}.md`));
  const { agent, problems } = readAgentFile({ file, text, dialect, scope, checkRule: checkPattern });
  const said = problems.map(({ severity, line, column, message }) => `${severity} ${line}:${column} ${message}`);
  if (agent === undefined) return { loaded: false, problems: said };
  const rights = toEffectiveRights(agent, OUR_TOOLS);
  const place = (from: string) => from.replace(file, "");
  const toolsThat = (isAllowed: boolean) =>
    Object.fromEntries(
      rights.tools.filter((each) => each.isAllowed === isAllowed).map(({ tool, from }) => [tool, place(from)]),
    );
  return {
    name: agent.name,
    nickname: agent.nickname ?? null,
    may: toolsThat(true),
    may_not: toolsThat(false),
    rules: rights.rules.map(({ effect, pattern, from }) => `${effect} ${pattern} ${place(from)}`),
    children: `${rights.delegate.isAllowed ? "yes" : "no"} ${place(rights.delegate.from)}`,
    model: agent.model ?? null,
    max_turns: agent.maxTurns ?? null,
    timeout_ms: agent.timeoutMs ?? null,
    output_schema: agent.outputSchema ?? null,
    description: agent.description ?? null,
    instructions: agent.instructions,
    ...(rights.asking.length > 0 && {
      asking: rights.asking.map(({ key, value, from }) => `${key} ${value} ${place(from)}`),
    }),
    problems: said,
  };
}

suite("C1: an agent file gives exactly these rights; UPDATE_SNAPSHOTS=1 writes them again", () => {
  for (const dialect of DIALECTS) {
    for (const file of readdirSync(join(folder, dialect)).filter((each) => each.endsWith(".md"))) {
      const name = file.slice(0, -3);
      test(`${name}.md of ${dialect} gives exactly these rights`, () => {
        const expected = join(folder, dialect, `${name}.json`);
        const found = JSON.parse(JSON.stringify(inShort(dialect, name, "project")));
        if (process.env.UPDATE_SNAPSHOTS === "1") writeFileSync(expected, `${JSON.stringify(found, undefined, 2)}\n`);
        assert.ok(existsSync(expected), `${expected} is missing`);
        assert.deepEqual(found, JSON.parse(readFileSync(expected, "utf8")));
      });
    }
  }
});

test("the corpus has at least 40 files, at least 8 of each dialect", () => {
  const counts = DIALECTS.map(
    (dialect) => readdirSync(join(folder, dialect)).filter((each) => each.endsWith(".md")).length,
  );
  assert.ok(Math.min(...counts) >= 8, String(counts));
  assert.ok(counts.reduce((sum, count) => sum + count) >= 40, String(counts));
});

suite("K1: the agent files that the docs show load without a problem", () => {
  for (const { path, text } of pages().filter((page) => page.path.startsWith("docs/how-to/"))) {
    for (const [, shown = ""] of text.matchAll(/```markdown\n(---\n.*?)```/gs)) {
      test(`the agent ${/name: (\S+)/.exec(shown)?.[1]} of ${path} loads without a problem`, () => {
        const source = { file: path, text: shown, dialect: "sous", scope: "project", checkRule: checkPattern } as const;
        const { agent, problems } = readAgentFile(source);
        assert.deepEqual(problems, []);
        assert.ok(agent !== undefined);
      });
    }
  }
});

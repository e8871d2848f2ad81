/** Agent files in the shapes in which people write them: each has the rights that its file says, and none has more. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import type { AgentDialect, ReadAgent } from "../../../../src/app/config/agents/file.ts";
import { type AgentPlace, placeIn } from "../../../../src/app/config/agents/folders.ts";
import { readAgentFile } from "../../../../src/app/config/agents/read.ts";
import { toEffectiveRights } from "../../../../src/app/config/agents/rights.ts";
import { OUR_TOOLS } from "../../../../src/app/config/agents/tools.ts";
import { checkPattern } from "../../../../src/runtime/rights/rule-pattern.ts";
import { type CorpusFile, corpus, LETTERS } from "./corpus.ts";
import { mayHaveChildren, mostTools } from "./corpus-bound.ts";

const FILES = corpus();

function read({
  dialect,
  path,
  text,
}: Pick<CorpusFile, "dialect" | "path" | "text">): ReadAgent & { place: AgentPlace | undefined } {
  const place = placeIn(dialect, path);
  if (place === undefined) return { agent: undefined, problems: [], place };
  return { ...readAgentFile({ ...place, file: path, text, scope: "project", checkRule: checkPattern }), place };
}

/** As the bundles write it. */
function inShort({ agent, problems }: ReadAgent): string {
  if (agent === undefined) return problems.some(({ severity }) => severity === "error") ? "refused" : "none";
  const rights = toEffectiveRights(agent, OUR_TOOLS);
  const has = new Set(rights.tools.filter(({ isAllowed }) => isAllowed).map(({ tool }) => tool));
  const letters = Object.keys(LETTERS).filter((letter) => has.has(LETTERS[letter] ?? ""));
  const tools = letters.length === 0 ? "-" : letters.join("");
  return `${tools === "rlgswetf" ? "all" : tools}${agent.delegate ? "+c" : ""}`;
}

suite("C1: every file of the bundles has the rights that it says", () => {
  for (const file of FILES) {
    const { dialect, shape, path, expected, more } = file;
    test(`${path} of ${dialect} (${shape}) gives the rights that it says`, () => {
      const found = read(file);
      const said = found.problems.map(({ line, message }) => `${line}: ${message}`).join("\n");
      assert.equal(inShort(found), expected === "rlgswetf" ? "all" : expected, said);
      const [named] = more.filter((each) => each.startsWith("name="));
      if (named !== undefined) assert.equal(found.agent?.name, named.slice("name=".length));
      const rules = [
        ...(found.agent?.only ?? []).map(({ pattern }) => `only ${pattern}`),
        ...(found.agent?.rules ?? []).map(({ effect, pattern }) => `${effect} ${pattern}`),
      ];
      for (const rule of more.filter((each) => each !== named)) assert.ok(rules.includes(rule), rules.join("\n"));
    });
  }
});

suite("C1: no file gives more than its text allows, computed without the reader", () => {
  for (const file of FILES) {
    test(`${file.path} of ${file.dialect} gives no more than its text allows`, () => {
      const { agent, place } = read(file);
      if (agent === undefined || place === undefined) return;
      const most = mostTools(place.dialect, file.text);
      const has = toEffectiveRights(agent, OUR_TOOLS).tools.filter(({ isAllowed }) => isAllowed);
      const limited = new Set(agent.only.map(({ pattern }) => pattern.split("(", 1)[0]));
      const wider = has.map(({ tool }) => tool).filter((tool) => !most.has(tool) && !limited.has(tool));
      assert.deepEqual(wider, []);
      if (agent.delegate) assert.ok(mayHaveChildren(place.dialect, file.text));
    });
  }
});

suite("C1: a refused file has one error that names a line and what to do", () => {
  for (const file of FILES.filter(({ expected }) => expected === "refused")) {
    test(`${file.path} of ${file.dialect} is refused with a line and what to do`, () => {
      const errors = read(file).problems.filter(({ severity }) => severity === "error");
      assert.equal(new Set(errors.map(({ line }) => line)).size <= 2, true);
      assert.ok(errors.every(({ line, fix }) => line >= 1 && fix !== ""));
      assert.equal(errors.filter(({ code }) => code === "SOUS-A002").length <= 1, true);
    });
  }
});

/** A file that loads with a description that is YAML, and the same with one that is not. */
test("C1: a description that is not YAML changes no right", () => {
  const SPOILED = [
    "description: Not YAML: at all",
    "description: *bold* words",
    'description: First line\nsecond line: here\n<example>\nuser: "x"\n</example>',
    'description: "Says "hi" to you"',
  ];
  let compared = 0;
  for (const file of FILES.filter(({ expected }) => expected !== "none")) {
    // What is a key in YAML only is refused beside a text that is none.
    if (/^\? /m.test(file.text)) continue;
    const plain = file.text.replace(/^"?description"?: [^\n]*$/m, "description: Plain.");
    const before = read({ ...file, text: plain });
    if (plain === file.text || before.problems.some(({ code }) => code === "SOUS-A002")) continue;
    for (const line of SPOILED) {
      const after = read({ ...file, text: plain.replace("description: Plain.", () => line) });
      assert.equal(inShort(after), inShort(before), `${file.path}\n${line}`);
      compared += 1;
    }
  }
  assert.ok(compared > 300, String(compared));
});

test("the corpus has at least 200 files in bundles, every shape of agent file that people write and every dialect", () => {
  assert.ok(FILES.length >= 200, String(FILES.length));
  assert.deepEqual([...new Set(FILES.map(({ dialect }) => dialect))].sort(), [
    "claude",
    "gemini",
    "opencode",
    "sous",
  ] satisfies AgentDialect[]);
  const names = FILES.map(({ dialect, path }) => `${dialect}/${path}`);
  assert.deepEqual(
    names.filter((name, index) => names.indexOf(name) !== index),
    [],
  );
  assert.equal(new Set(FILES.map(({ text }) => text)).size, FILES.length);
});

test("the bound finds a file that is read too widely", () => {
  const folder = join(import.meta.dirname, "../../../support/app/config/agent-files", "claude");
  for (const name of readdirSync(folder).filter((each) => each.endsWith(".md"))) {
    const text = readFileSync(join(folder, name), "utf8");
    const { agent } = read({ dialect: "claude", path: name, text });
    if (agent === undefined || agent.only.length > 0) continue;
    const most = mostTools("claude", text);
    const has = toEffectiveRights(agent, OUR_TOOLS).tools.filter(({ isAllowed }) => isAllowed);
    assert.deepEqual(
      has.map(({ tool }) => tool).filter((tool) => !most.has(tool)),
      [],
      name,
    );
  }
  assert.deepEqual([...mostTools("claude", "---\ntools: Read\n---\n")], ["read_file"]);
  assert.deepEqual(mostTools("claude", "---\n disallowedTools: Bash\n---\n").has("terminal"), false);
  assert.deepEqual(mostTools("opencode", "---\npermission:\n  bash: deny\n---\n").has("terminal"), false);
});

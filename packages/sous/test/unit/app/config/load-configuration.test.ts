/** Layers above layers: who wins, what is told, and that everything wrong is told at once. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { after, suite, test } from "node:test";
import { whereIs } from "../../../../src/app/config/problem.ts";
import { ConfigurationFolder, type Given } from "../../../support/app/config/configuration-files.ts";

const folder = new ConfigurationFolder();
after(() => folder[Symbol.dispose]());

suite("E1: flag, variable, project, user, default: the first that speaks wins", () => {
  const flags = [{ key: "agent.max_turns", flag: "--max-turns", value: 11 }];
  const env = { SOUS_AGENT_MAX_TURNS: "12" };
  const project = "agent:\n  max_turns: 13\n";
  const user = "# mine\n\nagent:\n  max_turns: 14\n";
  const layers: [name: string, given: Given, turns: number, where: string][] = [
    ["the flag", { flags, env, project, user }, 11, "--max-turns"],
    ["the variable", { env, project, user }, 12, "SOUS_AGENT_MAX_TURNS"],
    ["the project", { project, user }, 13, "project.yaml:2"],
    ["the user", { user }, 14, "user.yaml:4"],
    ["the default", {}, 50, "default"],
  ];
  for (const [name, given, turns, where] of layers) {
    test(`${name} is used when nothing before it speaks`, async () => {
      const { configuration, origins } = await folder.load(given);
      assert.equal(configuration.agent.maxTurns, turns);
      assert.equal(origins.get("agent.max_turns")?.origin.where, where);
    });
  }

  test("each value remembers those it hides", async () => {
    const { origins } = await folder.load({ flags, env, project, user });
    assert.deepEqual(
      origins.get("agent.max_turns")?.behind.map(({ value, origin }) => [value, origin.layer]),
      [
        [12, "variable"],
        [13, "project"],
        [14, "user"],
        [50, "default"],
      ],
    );
  });
});

test("E1: an empty variable is unset, and an empty group says nothing", async () => {
  const { configuration } = await folder.load({
    user: "agent:\n  subagent:\n",
    env: { SOUS_MODEL: "", SOUS_CONFIG: "" },
  });
  assert.equal(configuration.model, undefined);
});

test("E1: null unsets what has no default, and is a mistake elsewhere", async () => {
  const env = { SOUS_MODEL: "openai/gpt" };
  const { configuration } = await folder.load({ user: "model: null\n", env });
  assert.equal(configuration.model, "openai/gpt");
  const [problem] = await folder.problems({ user: "agent: { max_turns: }\n" });
  assert.match(problem?.message ?? "", /agent\.max_turns must be a whole number/);
});

test("E1: SOUS_DB_PATH is the short name of the database and goes before the long one", async () => {
  const env = { SOUS_DB_PATH: "/short.db", SOUS_AGENT_SUBAGENT_PERSISTENCE_PATH: "/long.db" };
  const { configuration, origins } = await folder.load({ env });
  assert.equal(configuration.agent.subagent.persistencePath, "/short.db");
  assert.equal(origins.get("agent.subagent.persistence_path")?.origin.where, "SOUS_DB_PATH");
});

test("E1: a variable with a typo is told, those of others are not", async () => {
  const env = {
    SOUS_AGENT_SUBAGENT_MAX_DEPHT: "1",
    SOUS_CONFIG: "",
    SOUS_LOG_LEVEL: "warn",
    SOUS_RUN: "x",
    SOUSCHEF: "y",
  };
  const { warnings } = await folder.load({ env });
  assert.deepEqual(warnings, [
    "the variable SOUS_AGENT_SUBAGENT_MAX_DEPHT is not known and changes nothing; did you mean SOUS_AGENT_SUBAGENT_MAX_DEPTH?",
  ]);
});

suite("E1: the file that is named stands in for the user's", () => {
  writeFileSync(folder.file("named.yaml"), "agent: { max_turns: 21 }\n");
  writeFileSync(folder.file("other.yaml"), "agent: { max_turns: 22 }\n");
  const user = "agent: { max_turns: 20, conversation: { min_retain_turns: 9 } }\n";

  test("--config goes before SOUS_CONFIG, as a whole", async () => {
    const env = { SOUS_CONFIG: folder.file("other.yaml") };
    const byVariable = await folder.load({ user, env });
    assert.equal(byVariable.configuration.agent.maxTurns, 22);
    const { configuration, origins } = await folder.load({ user, env, configFlagFile: "named.yaml" });
    assert.equal(configuration.agent.maxTurns, 21);
    assert.equal(configuration.agent.conversation.minRetainTurns, 5);
    assert.equal(origins.get("agent.max_turns")?.origin.where, "named.yaml:1");
  });

  test("the named file must be there", async () => {
    const [byFlag] = await folder.problems({ user, configFlagFile: "missing.yaml" });
    assert.deepEqual([byFlag?.code, byFlag?.message], ["SOUS-C001", "there is no file missing.yaml"]);
    const [byVariable] = await folder.problems({ user, env: { SOUS_CONFIG: "missing.yaml" } });
    assert.deepEqual([byVariable?.code, byVariable && whereIs(byVariable)], ["SOUS-C001", "SOUS_CONFIG"]);
  });

  test("the named file must be a file: a folder and a device are refused at once", async () => {
    for (const configFlagFile of [".", "/dev/zero"]) {
      const [problem] = await folder.problems({ configFlagFile });
      assert.equal(problem?.code, "SOUS-C001", configFlagFile);
      assert.match(problem.message, /is not a regular file/);
    }
  });

  test("the named file must be readable: one that the system refuses to open is told", async () => {
    const name = `${"n".repeat(300)}.yaml`;
    const [problem] = await folder.problems({ configFlagFile: name });
    assert.deepEqual([problem?.code, problem?.message], ["SOUS-C001", `${name} cannot be read`]);
  });

  test("the named file has at most a million bytes", async () => {
    const text = (bytes: number) => "agent: { max_turns: 23 }\n#".padEnd(bytes, "x");
    writeFileSync(folder.file("large.yaml"), text(1_000_000));
    assert.equal((await folder.load({ configFlagFile: "large.yaml" })).configuration.agent.maxTurns, 23);
    writeFileSync(folder.file("large.yaml"), text(1_000_001));
    const [problem] = await folder.problems({ configFlagFile: "large.yaml" });
    assert.deepEqual([problem?.code, problem?.message], ["SOUS-C002", "large.yaml is larger than 1000000 bytes"]);
  });
});

test("E3: all mistakes of all sources are told at once, each with its location and its fix", async () => {
  const problems = await folder.problems({
    user: "modle: a/b\nagent:\n  max_turns: 0\n  subagent:\n    maxDepth: 3\n    summary: soon\n",
    project: "agent: { max_turns: many }\ntools: 3\n",
    env: { SOUS_AGENT_SUBAGENT_MAX_DEPTH: "11" },
    flags: [{ key: "agent.subagent.max_concurrent", flag: "--max-concurrent", value: 5000 }],
  });
  assert.deepEqual(
    problems.map((problem) => [problem.code, whereIs(problem), problem.message, problem.found, problem.fix]),
    [
      [
        "SOUS-C004",
        "project.yaml:1:21",
        "agent.max_turns must be a whole number (allowed: 1–1000)",
        '"many"',
        "remove the line for the default (50), or give a number from 1 to 1000",
      ],
      [
        "SOUS-C004",
        "project.yaml:2:8",
        "tools must be a group of settings (allowed: terminal, fetch)",
        undefined,
        "write the settings below it, indented",
      ],
      ["SOUS-C005", "user.yaml:1:1", "modle is not a known setting", undefined, "did you mean model?"],
      [
        "SOUS-C003",
        "user.yaml:3:14",
        "agent.max_turns must be greater than 0 (allowed: 1–1000)",
        "0",
        "remove the line for the default (50), or give a number from 1 to 1000",
      ],
      [
        "SOUS-C005",
        "user.yaml:5:5",
        "agent.subagent.maxDepth is not a known setting",
        undefined,
        "did you mean agent.subagent.max_depth?",
      ],
      [
        "SOUS-C003",
        "user.yaml:6:14",
        "agent.subagent.summary must be one of these words (allowed: auto, always, never)",
        '"soon"',
        "remove the line for the default (auto), or give one of auto, always, never",
      ],
      [
        "SOUS-C003",
        "SOUS_AGENT_SUBAGENT_MAX_DEPTH",
        "agent.subagent.max_depth must be at most 10 (allowed: 1–10)",
        "11",
        "unset it for the default (3), or give a number from 1 to 10",
      ],
      [
        "SOUS-C003",
        "--max-concurrent",
        "agent.subagent.max_concurrent must be at most 1000 (allowed: 1–1000)",
        "5000",
        "leave it out for the default (5), or give a number from 1 to 1000",
      ],
    ],
  );
});

test("E3: an unknown key is told with what was meant, wherever it belongs", async () => {
  const meant: [yaml: string, fix: string][] = [
    ["agnt: {}", "did you mean agent?"],
    ["max_depth: 3", "did you mean agent.subagent.max_depth?"],
    ["agent: { max-turns: 3 }", "did you mean agent.max_turns?"],
    ["agent.max_turns: 3", "write agent.max_turns as nested keys, one below the other"],
    ["tools: { shell: {} }", "remove the line, or use one of terminal, fetch"],
    [
      "provider: { api_key: x }",
      "a key does not belong in a file: set the variable of the provider, or name one with provider.api_key_env",
    ],
  ];
  for (const [user, fix] of meant) {
    const problems = await folder.problems({ user });
    assert.deepEqual(
      problems.map((problem) => [problem.code, problem.fix]),
      [["SOUS-C005", fix]],
    );
  }
});

test("E3: a value that might be a key is in no message, no picture and no line", async () => {
  const canary = "hunter2-not-a-known-shape";
  const given: Given[] = [
    { user: `provider: { api_key: ${canary} }\nagent: 3\n` },
    { user: `provider:\n  api_key_env: ${canary}\n` },
    { user: `provider:\n  api_key_command: [${canary}]\n` },
    { user: `provider:\n  base_url: http://me:${canary}@example.com\n` },
    { user: `mcp_servers: { one: { command: x, env: { TOKEN: "${canary}", A: [1] } } }\n` },
    { user: `mcp_servers:\n  one:\n    url: x\n    headers:\n      Authorization: Bearer ${canary}\n      X: [1]\n` },
    { env: { SOUS_PROVIDER_API_KEY_ENV: canary } },
    { env: { SOUS_PROVIDER_BASE_URL: `http://me:${canary}@example.com` } },
  ];
  for (const each of given) {
    const problems = await folder.problems(each);
    assert.ok(problems.length > 0);
    assert.ok(!JSON.stringify(problems).includes(canary), JSON.stringify(problems));
  }
});

test("B4.6: a hostile user file is refused with its line, before anything is taken from it", async () => {
  const problems = await folder.problems({ user: "model: a/b\n__proto__:\n  agent: { max_turns: 1 }\n" });
  assert.deepEqual(
    problems.map((problem) => [problem.code, whereIs(problem)]),
    [["SOUS-C002", "user.yaml:2:1"]],
  );
  const [large] = await folder.problems({ user: `# ${"x".repeat(5_000_000)}` });
  assert.deepEqual([large?.code, large && whereIs(large)], ["SOUS-C002", "user.yaml:1:1"]);
  const many = await folder.problems({ user: Array.from({ length: 2500 }, (_, key) => `k${key}: 1`).join("\n") });
  assert.equal(many.length, 100);
});

test("E3: a pattern that the rules do not understand is a mistake of its line", async () => {
  const checkRule = (pattern: string): string | undefined =>
    pattern === "nobody" ? "there is no such tool" : undefined;
  const problems = await folder.problems({ user: "permissions:\n  - allow: fetch\n  - deny: nobody\n", checkRule });
  assert.deepEqual(
    problems.map((problem) => [problem.code, whereIs(problem), problem.message]),
    [["SOUS-C003", "user.yaml:3:11", "permissions[1].deny is not a rule: there is no such tool"]],
  );
});

suite("E1: of a long name a message repeats the beginning", () => {
  const name = "q".repeat(150);

  test("a message repeats up to 100 characters of an unknown setting, and a mark", async () => {
    const messages = async (user: string) => (await folder.problems({ user })).map(({ message }) => message);
    assert.deepEqual(await messages(`${name}: 1`), [`${name.slice(0, 100)}… is not a known setting`]);
    assert.deepEqual(await messages(`${name.slice(0, 101)}: 1`), [`${name.slice(0, 100)}… is not a known setting`]);
    assert.deepEqual(await messages(`${name.slice(0, 100)}: 1`), [`${name.slice(0, 100)} is not a known setting`]);
  });

  test("a message repeats up to 100 characters of an unknown variable", async () => {
    const { warnings } = await folder.load({ env: { [`SOUS_${name}`]: "1" } });
    assert.deepEqual(warnings, [
      `the variable SOUS_${name.slice(0, 95)} is not known and changes nothing; sous config explain --all lists them`,
    ]);
  });

  test("a message repeats up to 60 characters of a value, and a mark", async () => {
    const found = async (value: string) => (await folder.problems({ user: `model: ${value}` }))[0]?.found;
    const value = "v".repeat(80);
    assert.equal(await found(value), `"${value.slice(0, 59)}…`);
    assert.equal(await found(value.slice(0, 58)), `"${value.slice(0, 58)}"`);
  });
});

test("E3: mistakes of one line are told from left to right", async () => {
  for (const user of [
    "agent: { max_turns: 0, subagent: { max_depth: -1 }, nonsense: 1 }",
    "agent: { nonsense: 1, subagent: { max_depth: -1 }, max_turns: 0 }",
  ]) {
    const problems = await folder.problems({ user });
    const columns = problems.map(({ location }) => (location.kind === "file" ? location.column : 0));
    assert.equal(columns.length, 3);
    assert.deepEqual(
      columns,
      columns.toSorted((one, other) => one - other),
    );
  }
});

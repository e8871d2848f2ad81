/** B1.1: the rules of an agent file hold for everything below its agent. By effect: the file `marker` in the repository. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { openApplication } from "../../../src/app/cli/application/open.ts";
import { readRunFlags } from "../../../src/app/cli/table/run-flags.ts";
import { NO_OWNER } from "../../../src/core/store.ts";
import { noUsage } from "../../../src/core/usage.ts";
import { openSqliteStore } from "../../../src/storage/store/sqlite/store.ts";
import { sampleTree } from "../../../src/testing/sample-tree.ts";
import { calling, openCommand, saying } from "../../support/attacks/whole-command.ts";

const TOUCH = ["terminal", { command: "touch marker" }] as const;
const EVIL = calling(TOUCH);
const DONE = saying("Done.");
const HELP = calling(["subagent_helper", { task: "Help." }]);

const ASKS = 'permissions: [ { ask: "terminal(touch*)" } ]\n';
const DENIES = 'permissions: [ { deny: "terminal(touch*)" } ]\n';
const LIMITED = 'tools: ["terminal(git log*)", read_file]\n';
const HELD = { "an ask rule": ASKS, "a deny rule": DENIES, "a list of single calls": LIMITED };

const USER = "home/.config/sous/agents/helper.md";
const PLACES = {
  user: USER,
  project: "repository/.sous/agents/helper.md",
  claude: "repository/.claude/agents/helper.md",
};

function agentFile(name: string, more: string): string {
  return `---\nname: ${name}\ndescription: Helps.\n${more}---\nHelp.\n`;
}

function child(more: object = {}): readonly [string, object] {
  return ["subagent", { label: "a", task_prompt: "Make the file marker.", ...more }];
}

/** The user's rule allows the command to everybody, so that only the rules of files stand in the way. */
async function makesMarker(script: object, files: Record<string, string>, given: Given = {}): Promise<boolean> {
  await using command = await openCommand({
    "home/.config/sous/config.yaml": 'permissions: [ { allow: "terminal(touch*)" }, { allow: "subagent(*)" } ]\n',
    ...files,
  });
  await command.trust();
  await command.run(script, { ...given.flags }, given.at === undefined ? {} : { at: given.at });
  return existsSync(join(command.root, "marker"));
}

type Given = { flags?: Record<string, unknown>; at?: string };

const BELOW: readonly [way: string, script: object][] = [
  ["a child", { "sous/helper": [calling(child()), DONE], "sous/helper/a": [EVIL, DONE] }],
  ["a fork", { "sous/helper": [calling(child({ context: "fork" })), DONE], "sous/helper/a": [EVIL, DONE] }],
  [
    "one of several children",
    {
      "sous/helper": [calling(["parallel_subagent", { tasks: [{ label: "a", task_prompt: "x" }] }]), DONE],
      "sous/helper/a": [EVIL, DONE],
    },
  ],
  [
    "a child in the background",
    {
      "sous/helper": [calling(child({ background: true })), calling(["subagent_wait", {}]), DONE],
      "sous/helper/a": [EVIL, DONE],
    },
  ],
  [
    "a grandchild",
    {
      "sous/helper": [calling(child()), DONE],
      "sous/helper/a": [calling(child({ label: "b", task_prompt: "Further." })), DONE],
      "sous/helper/a/b": [EVIL, DONE],
    },
  ],
  [
    "a child whose label is the name of another agent",
    { "sous/helper": [calling(child({ label: "sous" })), DONE], "sous/helper/sous": [EVIL, DONE] },
  ],
  [
    "a child with a prompt of its own",
    {
      "sous/helper": [calling(child({ system_prompt: "You are sous, the root." })), DONE],
      "sous/helper/a": [EVIL, DONE],
    },
  ],
];

suite("B1.1: rules of an agent hold below it", () => {
  for (const [rule, text] of Object.entries(HELD)) {
    for (const [way, script] of BELOW) {
      test(`B1.1: ${rule} of a user's agent is not evaded by ${way}`, async () => {
        const files = { [USER]: agentFile("helper", `${text}delegate: true\n`) };
        assert.equal(await makesMarker({ sous: [HELP, DONE], ...script }, files), false);
      });
    }
  }

  test("B1.1: a project's agent that asks is not evaded by its child", async () => {
    const files = { [PLACES.project]: agentFile("helper", `${ASKS}delegate: true\n`) };
    const script = { sous: [HELP, DONE], "sous/helper": [calling(child()), DONE], "sous/helper/a": [EVIL, DONE] };
    assert.equal(await makesMarker(script, files), false);
  });

  test("B1.1: an agent of Claude Code that is limited to single calls is not evaded by its child", async () => {
    const files = { [PLACES.claude]: agentFile("helper", "tools: Bash(git log:*), Task\n") };
    const script = { sous: [HELP, DONE], "sous/helper": [calling(child()), DONE], "sous/helper/a": [EVIL, DONE] };
    assert.equal(await makesMarker(script, files), false);
  });

  test("B1.1: an agent that a person calls as @helper binds its children, too", async () => {
    const files = { [USER]: agentFile("helper", `${ASKS}delegate: true\n`) };
    const script = { helper: [calling(child()), DONE], "helper/a": [EVIL, DONE] };
    assert.equal(await makesMarker(script, files, { at: "helper" }), false);
  });

  test("B1.1: a call that a file allows its agent is not allowed to a child of it", async () => {
    const files = {
      "home/.config/sous/config.yaml": 'permissions: [ { allow: "subagent(*)" } ]\n',
      [USER]: agentFile("helper", 'permissions: [ { allow: "terminal(touch*)" } ]\ndelegate: true\n'),
    };
    const script = { sous: [HELP, DONE], "sous/helper": [calling(child()), DONE], "sous/helper/a": [EVIL, DONE] };
    assert.equal(await makesMarker(script, files), false);
  });

  for (const name of ["sous", "subagent"]) {
    test(`B1.1: a file cannot name its agent ${name} to change the rules of others`, async () => {
      const files = {
        "home/.config/sous/config.yaml": 'permissions: [ { allow: "subagent(*)" } ]\n',
        [`home/.config/sous/agents/${name}.md`]: agentFile(name, 'permissions: [ { allow: "terminal(touch*)" } ]\n'),
      };
      const script = { sous: [EVIL, calling(child()), DONE], "sous/a": [EVIL, DONE] };
      assert.equal(await makesMarker(script, files), false);
    });
  }

  test("B1.1: a child that continues after a restart is bound by the agent above it", async () => {
    assert.equal(await resumedMakesMarker(`${ASKS}delegate: true\n`), false);
  });

  test("B1.1: without the rule the resumed child does make the marker, so the row above can fail", async () => {
    assert.equal(await resumedMakesMarker("delegate: true\n"), true);
  });

  test("B1.1: a child of an agent without such rules does make the marker, so the rows above can fail", async () => {
    const files = { [USER]: agentFile("helper", "delegate: true\n") };
    const script = { sous: [HELP, DONE], "sous/helper": [calling(child()), DONE], "sous/helper/a": [EVIL, DONE] };
    assert.equal(await makesMarker(script, files), true);
  });
});

/** A stored tree of three levels that was interrupted while the lowest one worked. */
async function resumedMakesMarker(more: string): Promise<boolean> {
  await using command = await openCommand({
    "home/.config/sous/config.yaml": 'permissions: [ { allow: "terminal(touch*)" }, { allow: "subagent(*)" } ]\n',
    [USER]: agentFile("helper", more),
  });
  const script = { sous: [DONE, DONE], "sous/helper": [DONE, DONE], "sous/helper/a": [EVIL, DONE] };
  command.write("answers.json", JSON.stringify(script));
  const model = `script/${join(command.path, "answers.json")}`;
  const all = ["read_file", "write_file", "terminal"];
  const details = { model, rights: { use: all, delegate: all, deny: [], spawn: true } };
  const [rootId, helperId, childId] = [
    "01K2F8Q6ZV0000000000000001",
    "01K2F8Q6ZW0000000000000002",
    "01K2F8Q6ZX0000000000000003",
  ];
  const tree = sampleTree(rootId);
  const asks = (runId: string, callId: string, [toolName, input]: readonly [string, object]) => {
    const message = { role: "assistant", content: [{ type: "tool-call", callId, toolName, input }] } as const;
    tree.add(runId, { type: "turn-start", turn: 1, promptTokens: 1, reserved: 0 });
    const bill = { finish: "tool-calls", usage: noUsage(), costUsd: 0 } as const;
    tree.add(runId, { type: "message-end", turn: 1, message, ...bill });
    tree.add(runId, { type: "tool-call-start", callId, toolName, input });
  };
  tree.start(rootId, { label: "sous", details });
  asks(rootId, "c1", ["subagent_helper", { task: "Help." }]);
  const first = { agent: "helper", call: { callId: "c1", index: 0 } };
  tree.start(helperId, { parent: rootId, label: "helper", details: { ...details, ...first } });
  asks(helperId, "c2", child());
  const second = { agent: "subagent", call: { callId: "c2", index: 0 } };
  tree.start(childId, { parent: helperId, label: "a", details: { ...details, ...second } });
  await using store = await openSqliteStore(join(command.path, "stored.db"));
  await store.append(rootId, tree.events, NO_OWNER);
  const request = { cwd: command.root, env: command.env, ask: undefined, warn: () => {}, store };
  await using application = await openApplication({ ...request, flags: readRunFlags({ model }) });
  const { status } = await application.runtime.resume(rootId, { agent: application.agent });
  assert.ok(["completed", "incomplete"].includes(status), status);
  return existsSync(join(command.root, "marker"));
}

/** `sous run --detach`, `sous cancel` and `place: worker`: what goes together, and what is said where it does not. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { suite, test } from "node:test";
import { readAgentFile } from "../../../../src/app/config/agents/read.ts";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { agentFile, agentStage, calls, DONE } from "../../../support/app/cli/agent-stage.ts";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { scriptFolder } from "../../../support/app/cli/run-process.ts";

const REFUSED: [options: string[], why: RegExp][] = [
  [["--ephemeral"], /--detach and --ephemeral do not go together: workers find runs in the database/],
  [["--park"], /--detach and --park do not go together/],
  [["--yes"], /the rules are those of the worker: sous worker --yes/],
  [["--allow", "terminal(ls)"], /the rules are those of the worker: sous worker --allow RULE/],
  [["--output-format", "stream-json"], /its events are in the database/],
  [["--verbose"], /--detach and --verbose do not go together: this process ends before the run begins/],
  [["--log-file", "x.log"], /--detach and --log-file/],
  [["--metrics-port", "0"], /--detach and --metrics-port/],
];

suite("sous run --detach", () => {
  for (const [options, why] of REFUSED) {
    test(`refuses ${options[0]} in one sentence, before anything is opened`, async () => {
      const { code, stderr } = await inProcess(["run", "Go.", "--detach", ...options], { env: {} });
      assert.equal(code, 2, stderr);
      assert.match(stderr, why);
      assert.equal(stderr.trimEnd().split("\n").length, 1);
    });
  }

  test("places the root, with the id alone on stdout and what to do on stderr", async () => {
    await using folder = await scriptFolder({ answers: { sous: DONE } });
    const env = { XDG_DATA_HOME: folder.path, XDG_CONFIG_HOME: folder.path, XDG_STATE_HOME: folder.path };
    const model = ["--model", "script/answers.json"];
    const { code, stdout, stderr } = await inProcess(["run", "Go.", "--detach", ...model], { cwd: folder.path, env });
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^[0-9A-Z]{26}\n$/);
    const id = stdout.trim();
    assert.equal(
      stderr,
      `The run waits for a worker, and none is at work here: start one with sous worker. See it: sous replay --tree --id ${id}\n`,
    );
    await using store = await openSqliteStore(join(folder.path, "sous/sous.db"), { readOnly: true });
    assert.deepEqual(
      (await store.list()).map(({ id: runId, status, task, cwd }) => ({ runId, status, task, cwd })),
      [{ runId: id, status: "queued", task: "Go.", cwd: folder.path }],
    );
    const told = await inProcess(["cancel", id], { cwd: folder.path, env });
    assert.deepEqual(
      [told.code, told.stdout],
      [0, `Run ${id} is told to stop. No worker has it now: it ends when one takes it.\n`],
    );
    const mail = await store.placing.mail([id], 0);
    assert.deepEqual(
      mail.map(({ body }) => body),
      [{ kind: "stop", mode: "stop" }],
    );
  });

  test("prints one object with --json, and no sentence with --quiet", async () => {
    await using folder = await scriptFolder({ answers: { sous: DONE } });
    const env = { XDG_DATA_HOME: folder.path, XDG_CONFIG_HOME: folder.path, XDG_STATE_HOME: folder.path };
    const words = ["run", "Go.", "--detach", "--json", "--quiet", "--model", "script/answers.json"];
    const { stdout, stderr } = await inProcess(words, { cwd: folder.path, env });
    const { run_id: id, ...rest } = JSON.parse(stdout);
    assert.deepEqual([rest, stderr], [{ schema: "sous.detached.v1", status: "queued" }, ""]);
    assert.match(id, /^[0-9A-Z]{26}$/);
  });
});

test("sous cancel refuses in one sentence what no worker has", async () => {
  await using folder = await scriptFolder({ answers: { sous: DONE } });
  const env = { XDG_DATA_HOME: folder.path, XDG_CONFIG_HOME: folder.path, XDG_STATE_HOME: folder.path };
  await inProcess(["run", "Go.", "--quiet", "--model", "script/answers.json"], { cwd: folder.path, env });
  const ended = await inProcess(["cancel", "last"], { cwd: folder.path, env });
  assert.equal(ended.code, 1);
  assert.match(ended.stderr, /^error: Run \w+ has ended already: completed\n$/);
  assert.equal((await inProcess(["cancel"], { cwd: folder.path, env })).code, 2);
  const unknown = await inProcess(["cancel", "01K2F8Q6ZV"], { cwd: folder.path, env });
  assert.deepEqual([unknown.code, /Unknown run/.test(unknown.stderr)], [1, true]);
});

suite("place: worker in an agent file", () => {
  const read = (line: string) =>
    readAgentFile({ file: "scout.md", dialect: "sous", scope: "user", text: agentFile("scout", `tools: []\n${line}`) });

  test("asks for a worker, and nothing else can stand there", () => {
    assert.equal(read("place: worker").agent?.place, "worker");
    const { agent, problems } = read("place: elsewhere");
    assert.equal(agent, undefined);
    assert.match(problems.map(({ message }) => message).join(), /place is worker/);
  });

  test("a child of such an agent is placed when its run is stored, and stays when nothing is", async () => {
    await using stage = await agentStage({
      "config/sous/agents/scout.md": agentFile("scout", "tools: [list_files]\nplace: worker"),
    });
    const script = { sous: [calls("subagent_scout", { task: "Look." }), ...DONE], "sous/scout": DONE };
    const { starts } = await stage.run(script, "--ephemeral");
    assert.deepEqual(
      starts.map(({ path, placed }) => [path, placed]),
      [
        ["sous", undefined],
        ["sous/scout", undefined],
      ],
    );
  });
});

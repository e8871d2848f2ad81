/** `sous worker`, `sous run --detach` and `sous cancel` as real processes on one database: killed, stopped, and looked at. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { type JsonField, WORKER_JSON, WORKER_LINE_JSON } from "../../../../src/app/cli/table/json-table.ts";
import { agentFile } from "../../../support/app/cli/agent-stage.ts";
import { type WorkerFolder, workerFolder } from "../../../support/app/cli/worker-process.ts";

const SCOUT = { scout: agentFile("scout", "tools: []\nplace: worker") };

/** A root whose child takes so long to answer. */
const script = (childMs: number): object => ({
  sous: [{ calls: [{ tool: "subagent_scout", input: { task: "Look." } }] }, { text: "Seen." }],
  "sous/scout": [{ wait_ms: childMs, text: "A wall." }],
});
const SLOW = script(60_000);
const FAST = script(0);

/** The rows of `sous doctor` about workers and the runs that they take. */
async function doctor(folder: WorkerFolder): Promise<string[]> {
  const { stdout } = await folder.sous("doctor", "--json");
  const { checks } = JSON.parse(stdout) as { checks: { name: string; state: string; found: string }[] };
  return checks.flatMap(({ name, state, found }) =>
    /^worker |queued|lost/.test(name)
      ? [`${state} ${name}: ${found.replace(/process \d+ on \S+?(?=[ ,])/, "PROCESS")}`]
      : [],
  );
}

async function statuses(folder: WorkerFolder): Promise<Record<string, string>> {
  const { runs } = JSON.parse((await folder.sous("replay", "--list", "--json")).stdout);
  return Object.fromEntries(runs.map(({ path, status }: { path: string; status: string }) => [path, status]));
}

suite("sous worker", { concurrency: true }, () => {
  test("a run that was left behind is queued until there is a worker, and continues on another when that is killed", async () => {
    await using folder = await workerFolder(SCOUT);
    await folder.answers(SLOW);
    const left = await folder.sous("run", "--detach", "Go.");
    assert.equal(left.code, 0, left.stderr);
    const id = left.stdout.trim();
    assert.match((await doctor(folder)).join("\n"), /^warning queued runs: 1 run waits for .*; no worker is at work$/);
    assert.deepEqual(await statuses(folder), { sous: "queued" });
    await using one = await folder.worker("--name", "one");
    await one.said("sous/scout  taken: Look.");
    const [atWork] = await doctor(folder);
    assert.match(
      atWork ?? "",
      /^ok worker one: at work in PROCESS, folder .*, 2 of 10 places taken, agents sous, scout$/,
    );
    await folder.answers(FAST);
    await one.kill("SIGKILL");
    assert.deepEqual(await doctor(folder), [
      "warning worker one: PROCESS died, or was cut off, and had 2 runs",
      "warning lost workers: 2 runs whose worker is gone: another one continues there; no worker is at work",
    ]);
    assert.deepEqual(await statuses(folder), { sous: "interrupted", "sous/scout": "interrupted" });
    await using two = await folder.worker("--name", "two");
    await two.said(/sous {2}✓ completed/);
    const tree = await folder.sous("replay", "--tree", "--id", id);
    assert.match(tree.stdout, /sous +✓ completed[\s\S]*worker two, taken 2 times[\s\S]*scout +✓ completed/);
    const { code, milliseconds } = await two.kill("SIGTERM");
    assert.equal(code, 0);
    assert.ok(milliseconds < 2_500, `${milliseconds}`);
    assert.deepEqual(await doctor(folder), ["ok worker one: PROCESS died, or was cut off, and had nothing"]);
  });

  test("TERM and INT give everything back within two seconds, with the lines of the reference, and end with 0", async () => {
    await using folder = await workerFolder(SCOUT);
    await folder.answers(SLOW);
    await folder.sous("run", "--detach", "--quiet", "Go.");
    await using one = await folder.worker("--name", "one", "--json");
    await one.said(/"path":"sous\/scout".*"state":"taken"/);
    const stopped = await one.kill("SIGTERM");
    assert.deepEqual([stopped.code, one.stderr()], [0, ""]);
    assert.ok(stopped.milliseconds < 2_500, `${stopped.milliseconds}`);
    const lines: Record<string, unknown>[] = one
      .stdout()
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      lines.map(({ n, type, path, state, status }) =>
        [n, type, path, state, status].filter((each) => each !== undefined),
      ),
      [
        [1, "init"],
        [2, "run", "sous", "taken", "running"],
        [3, "run", "sous/scout", "taken", "running"],
        ...[4, 5].map((n) => [n, "run", lines[n - 1]?.path, "given_back", "interrupted"]),
        [6, "result"],
      ],
    );
    const { stopped_by, is_given_back, given_back } = lines.at(-1) ?? {};
    assert.deepEqual([stopped_by, is_given_back, given_back], ["SIGTERM", true, 2]);
    const names = (fields: readonly JsonField[]): string[] => fields.map(({ name }) => name);
    for (const line of lines) {
      const own = WORKER_JSON[line.type as keyof typeof WORKER_JSON];
      assert.deepEqual(Object.keys(line), [...names(WORKER_LINE_JSON), ...names(own)]);
    }
    await using two = await folder.worker("--name", "two");
    await two.said("sous/scout  taken: Look.");
    const interrupted = await two.kill("SIGINT");
    assert.equal(interrupted.code, 0);
    assert.match(two.stderr(), /Stopped by SIGINT: gives back 2 runs\n[\s\S]*given back: another worker continues it/);
    assert.deepEqual(await statuses(folder), { sous: "interrupted", "sous/scout": "interrupted" });
  });

  test("a run that is cancelled from another process ends on its worker, with everything below it", async () => {
    await using folder = await workerFolder(SCOUT);
    await folder.answers(SLOW);
    const { stdout } = await folder.sous("run", "--detach", "--quiet", "Go.");
    await using one = await folder.worker("--name", "one");
    await one.said("sous/scout  taken: Look.");
    const told = await folder.sous("cancel", stdout.trim());
    assert.deepEqual([told.code, told.stdout], [0, `Run ${stdout.trim()} is told to stop.\n`]);
    await one.said(/sous {2}- cancelled/);
    assert.deepEqual(await statuses(folder), { sous: "cancelled", "sous/scout": "cancelled" });
    assert.equal((await folder.sous("cancel", stdout.trim())).code, 1);
  });

  test("a child of an attached run works on a worker of the folder, and one place is enough for both", async () => {
    await using folder = await workerFolder(SCOUT);
    await folder.answers(FAST);
    await using attached = folder.start("run", "Go.");
    await attached.said(
      "warning: sous/scout waits for a worker, and none is at work here: start one with sous worker.",
    );
    await using one = await folder.worker("--name", "one", "--places", "1");
    assert.deepEqual([await attached.ended(), attached.stdout()], [0, "Seen.\n"]);
    assert.match(attached.stderr(), /sous\/scout {2}is taken by one\n/);
    assert.equal(one.stderr().includes("sous  taken"), false);
    await folder.sous("run", "--detach", "--quiet", "Go.");
    await one.said(/sous {2}✓ completed/);
  });

  test("a worker takes only runs of its own folder, and one whose model has no key does not begin", async () => {
    await using folder = await workerFolder(SCOUT);
    await folder.answers(FAST);
    await using elsewhere = await workerFolder({});
    await elsewhere.answers(FAST);
    await using _one = await elsewhere.worker("--name", "one", "--db-path", folder.database);
    const left = await folder.sous("run", "--detach", "Go.");
    assert.match(left.stderr, /none is at work here: start one with sous worker\./);
    assert.match((await doctor(folder)).join("\n"), /queued runs: .*; no living worker is in the folder/);
    const poor = await folder.sous("worker", "--model", "anthropic/claude-sonnet-4-5");
    assert.equal(poor.code, 4, poor.stderr);
  });

  test("what a worker allows and refuses follows its own rules, because no one is asked", async () => {
    await using folder = await workerFolder({});
    await folder.answers({
      sous: [{ calls: [{ tool: "write_file", input: { path: "new.txt", content: "x" } }] }, { text: "Done." }],
    });
    for (const [options, status] of [
      [[], "incomplete"],
      [["--allow", "write_file(new.txt)"], "completed"],
    ] as const) {
      await folder.sous("run", "--detach", "--quiet", "Go.");
      await using one = await folder.worker(...options);
      await one.said(status === "completed" ? /sous {2}✓ completed/ : /sous {2}~ /);
      const { runs } = JSON.parse((await folder.sous("replay", "--list", "--json", "--limit", "1")).stdout);
      assert.equal(runs[0].status, status);
    }
  });
});

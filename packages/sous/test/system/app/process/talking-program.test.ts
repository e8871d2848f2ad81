/** Programs that are talked to: lines in, lines out, and that nothing of them stays. */

import assert from "node:assert/strict";
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { after, suite, test } from "node:test";
import { openPrograms } from "../../../../src/app/process/programs.ts";
import type { Clock } from "../../../../src/core/clock.ts";
import { orUndefined, ToolFailure } from "../../../../src/core/errors.ts";
import type { TalkingProgram, TalkRequest } from "../../../../src/core/process.ts";
import { systemClock } from "../../../../src/machine/host.ts";
import { ProcessJudge } from "../../../figures/process-judge.ts";

const folder = mkdtempSync(join(tmpdir(), "sous-talk-"));
after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

function shell(command: string, more: Partial<TalkRequest> = {}): TalkRequest {
  return { program: "bash", args: ["-c", command], cwd: folder, maxLineBytes: 65_536, maxErrorBytes: 4096, ...more };
}

function judged() {
  const judge = new ProcessJudge();
  return { judge, programs: openPrograms({ environment: { ...process.env, ...judge.environment } }) };
}

const PLENTY_MS = 60_000;

/** How long a program has after the end of its input, and after TERM: no test waits for them or depends on them. */
function graces(closeMs: number, killMs: number): Clock {
  const timer: Clock["timer"] = (milliseconds, callback, isQuiet) => {
    const grace = milliseconds === 500 ? closeMs : milliseconds === 800 ? killMs : milliseconds;
    return systemClock.timer(grace, callback, isQuiet);
  };
  return { ...systemClock, timer };
}

/** Leaves the loop after it, as a handshake does. */
async function firstLine(program: TalkingProgram): Promise<string | undefined> {
  for await (const line of program.lines) return line;
  return undefined;
}

async function allLines(program: TalkingProgram): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of program.lines) lines.push(line);
  return lines;
}

suite("Talking programs: lines", () => {
  test("a talking program that is disposed has ended, also one that does not heed the end of its input", async () => {
    await using programs = openPrograms({ environment: process.env, clock: graces(1, 1) });
    for (const command of ["cat", "trap '' TERM; while true; do sleep 60; done"]) {
      const program = await programs.talk(shell(command));
      {
        await using _program = program;
        assert.equal(process.kill(program.pid, 0), true);
      }
      assert.throws(() => process.kill(program.pid, 0), { code: "ESRCH" });
    }
  });

  test("a talking program gets what is sent and answers line by line, until it is closed", async () => {
    await using programs = openPrograms({ environment: process.env, clock: graces(PLENTY_MS, PLENTY_MS) });
    const program = await programs.talk(shell("cat; echo bye; exit 3"));
    for (const line of ["one", "", "grüße 🍳", "{}"]) {
      await program.send(line);
      assert.equal(await firstLine(program), line);
    }
    const { durationMs, ...result } = await program.close();
    const nothing = { head: "", tail: "", droppedBytes: 0 };
    assert.deepEqual(result, { exitCode: 3, endedBy: null, stopped: undefined, output: nothing, errors: nothing });
    assert.ok(durationMs > 0);
    assert.deepEqual(await allLines(program), ["bye"], "the last lines can be read after the end");
    assert.deepEqual(
      [await program.close(), await program.ended].map(({ exitCode }) => exitCode),
      [3, 3],
    );
  });

  test("a character that arrives in two pieces is whole, CR belongs to the end, a half line is left out", async () => {
    await using programs = openPrograms({ environment: process.env });
    // The program waits for an answer in the middle of a character, so the two pieces cannot arrive as one.
    const program = await programs.talk(shell("printf 'go\\ngr\\xc3'; read; printf '\\xbc\\xc3\\x9f\\r\\nhalf'"));
    assert.equal(await firstLine(program), "go");
    await program.send("on");
    assert.deepEqual(await allLines(program), ["grüß"]);
    assert.equal(program.droppedLines, 0);
  });

  test("standard error is kept by its head and tail, and the clean variables are those of every program", async () => {
    await using programs = openPrograms({ environment: { ...process.env, PLANTED_KEY: "secret" } });
    const command = "env >&2; head -c 9000 /dev/zero | tr '\\0' x >&2; echo end >&2; echo $NAMED";
    const program = await programs.talk(shell(command, { environment: { NAMED: "yes", NODE_OPTIONS: "--evil" } }));
    assert.deepEqual(await allLines(program), ["yes"]);
    const { errors } = await program.ended;
    assert.match(errors?.head ?? "", /^(?!.*(?:PLANTED_KEY|NODE_OPTIONS))[\s\S]*SOUS_RUN=/s);
    assert.match(errors?.tail ?? "", /xend\n$/);
    assert.ok((errors?.droppedBytes ?? 0) > 4000);
    assert.deepEqual(program.errors(), errors);
  });

  test("a shell does not read the start-up files of the user, whatever we were started by", async () => {
    writeFileSync(join(folder, ".bashrc"), "echo read >&2\n");
    const { SHLVL: _, ...environment } = process.env;
    for (const named of [{}, { SHLVL: "0" }, { SSH_CLIENT: "192.0.2.1 1 22" }]) {
      await using programs = openPrograms({ environment: { ...environment, HOME: folder } });
      const program = await programs.talk(shell("bash -c 'echo started'", { environment: named }));
      assert.deepEqual(await allLines(program), ["started"]);
      assert.equal((await program.ended).errors?.head, "");
    }
  });

  test("B6.1: a line of 300 MB is left out without being held, and the next one is read", async () => {
    await using programs = openPrograms({ environment: process.env });
    const program = await programs.talk(shell("head -c 300000000 /dev/zero; echo; echo after"));
    const before = process.memoryUsage().rss;
    let peak = before;
    const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 1);
    const lines = await allLines(program);
    clearInterval(watch);
    assert.deepEqual([lines, program.droppedLines], [["after"], 1]);
    assert.ok(peak - before < 25_000_000, `${Math.round((peak - before) / 1e6)} MB for a line of 300 MB`);
  });

  test("the program waits while its lines are not read, and continues when they are", async () => {
    await using programs = openPrograms({ environment: process.env });
    const text = "x".repeat(99);
    const program = await programs.talk({ ...shell(""), program: "yes", args: [text] });
    for (let written = -1, looks = 0; looks < 5; looks++) {
      await new Promise((next) => setTimeout(next, 10));
      const now = writtenBy(program.pid);
      assert.ok(now < 2_000_000, `${now} bytes were written, and none was read`);
      if (now === 0 || now !== written) looks = 0;
      written = now;
    }
    let lines = 0;
    for await (const line of program.lines) {
      assert.equal(line, text);
      if (++lines === 40_000) break;
    }
    assert.ok(writtenBy(program.pid) >= 4_000_000);
  });

  test("Node's own pipe carries the lines where none of ours can be made", async () => {
    const { TMPDIR } = process.env;
    process.env.TMPDIR = join(folder, "missing");
    try {
      await using programs = openPrograms({ environment: process.env, clock: graces(PLENTY_MS, PLENTY_MS) });
      const program = await programs.talk(shell("cat; echo bye"));
      await program.send("one");
      assert.equal(await firstLine(program), "one");
      await program.close();
      assert.deepEqual(await allLines(program), ["bye"]);
    } finally {
      if (TMPDIR === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = TMPDIR;
    }
  });
});

suite("Talking programs: how they end", () => {
  test("a line break in a line, and a program that no longer reads, are failures of send in words", async () => {
    await using programs = openPrograms({ environment: process.env });
    const program = await programs.talk(shell("read line; exec 0<&-; echo closed; exec sleep 300"));
    await assert.rejects(program.send("one\ntwo"), TypeError);
    await program.send("one");
    assert.equal(await firstLine(program), "closed");
    const sent = (why: RegExp) => (error: unknown) => error instanceof ToolFailure && why.test(error.message);
    await assert.rejects(
      program.send("two"),
      sent(/^Nothing more can be sent to bash: it has closed its standard input/),
    );
    await program.close();
    await assert.rejects(program.send("three"), sent(/it has been closed/));
  });

  test("a send waits while the program does not read, and is rejected when the program is killed", async () => {
    await using programs = openPrograms({ environment: process.env });
    const program = await programs.talk(shell("echo ready; exec sleep 300"));
    assert.equal(await firstLine(program), "ready");
    const sending = program.send("x".repeat(1_000_000));
    process.kill(program.pid, "SIGKILL");
    await assert.rejects(sending, ToolFailure);
    assert.equal(await firstLine(program), undefined);
    const { exitCode, endedBy, stopped } = await program.ended;
    assert.deepEqual([exitCode, endedBy, stopped], [null, "SIGKILL", undefined]);
    await assert.rejects(program.send("more"), /it has ended/);
  });

  test("closing asks by the end of input, then with TERM, then with KILL, and takes everything along", async () => {
    const judge = new ProcessJudge();
    const environment = { ...process.env, ...judge.environment };
    const away = "setsid bash -c 'trap \"\" TERM; touch $0; while :; do sleep 0.2; done' $FILE < /dev/null &";
    const ways: [end: string, clock: Clock, stopped: string | undefined, endedBy: string | null][] = [
      ["cat", graces(PLENTY_MS, PLENTY_MS), undefined, null],
      ["exec sleep 300", graces(10, PLENTY_MS), "cancelled", "SIGTERM"],
      ["trap '' TERM; while :; do sleep 0.2; done", graces(10, 10), "cancelled", "SIGKILL"],
    ];
    const closing = ways.map(async ([end, clock, stopped, endedBy], index) => {
      await using programs = openPrograms({ environment, clock });
      const FILE = join(folder, `away-${index}`);
      const wait = "while [ ! -e $FILE ]; do sleep 0.01; done";
      const program = await programs.talk(shell(`${away} ${wait}; echo ready; ${end}`, { environment: { FILE } }));
      assert.equal(await firstLine(program), "ready");
      const [result, again] = await Promise.all([program.close(), program.close()]);
      assert.equal(again, result);
      assert.deepEqual([result.stopped, result.endedBy], [stopped, endedBy], end);
      const left = judge.left().filter(({ pid }) => commandOf(pid).includes(FILE));
      assert.deepEqual(left, [], "also before all programs are closed");
    });
    await Promise.all(closing);
    assert.deepEqual((await judge.untilGone(0)).left, []);
  });

  test("a process that is left behind by a program killed from outside ends too, and so do its lines", async () => {
    const { judge, programs } = judged();
    const program = await programs.talk(shell("setsid bash -c 'echo ready; exec sleep 300' & wait"));
    assert.equal(await firstLine(program), "ready");
    judge.look();
    process.kill(program.pid, "SIGKILL");
    assert.deepEqual(await allLines(program), []);
    assert.equal((await program.ended).stopped, undefined);
    assert.deepEqual((await judge.untilGone(0, true)).left, []);
    await programs[Symbol.asyncDispose]();
  });

  test("a process that cannot be found and writes on holds neither the end nor the lines back", async () => {
    await using programs = openPrograms({ environment: process.env });
    const program = await programs.talk(shell("setsid env -i bash -c 'touch lost; exec yes $(seq -s _ 1000)' & read"));
    await until(() => existsSync(join(folder, "lost")));
    await program.close();
    assert.ok((await allLines(program)).every((line) => line.endsWith("_1000")));
  });

  test("the signal of the request and the end of all programs stop a talking program", async () => {
    const { judge, programs } = judged();
    const controller = new AbortController();
    const one = await programs.talk(shell("cat", { signal: controller.signal }));
    const other = await programs.talk(shell("sleep 300 & cat"));
    const reading = Promise.all([allLines(one), allLines(other)]);
    controller.abort();
    assert.equal((await one.ended).stopped, "cancelled");
    await programs[Symbol.asyncDispose]();
    assert.equal((await other.ended).stopped, "cancelled");
    assert.deepEqual(await reading, [[], []]);
    assert.deepEqual((await judge.untilGone(0)).left, []);
    await assert.rejects(programs.talk(shell("cat")), ToolFailure);
    await assert.rejects(programs.talk(shell("cat", { signal: controller.signal })), { name: "AbortError" });
  });
});

suite("Talking programs: our own end", () => {
  const program =
    "setsid bash -c 'trap \"\" TERM; echo ready; while :; do sleep 0.2; done' & trap '' TERM; cat; sleep 300";

  test("our process leaves nothing behind when it is killed while it talks", async () => {
    const judge = new ProcessJudge();
    const victim = ours(judge, `for await (const line of program.lines) console.log(line);`, program);
    const [said] = await Promise.race([once(victim.stdout, "data"), once(victim, "exit")]);
    assert.equal(String(said), "ready\n");
    assert.ok(judge.look() >= 4, "we, the program, what it has started, the guard");
    victim.kill("SIGKILL");
    assert.deepEqual((await judge.untilGone(5_000)).left, []);
  });

  test("a program that is not waited for does not keep our process alive, and one that is read does", async () => {
    const judge = new ProcessJudge();
    const code = `for await (const line of program.lines) { console.log(line); break; }`;
    const process = ours(judge, code, `sleep 0.1; ${program}`);
    let said = "";
    process.stdout.on("data", (chunk) => (said += chunk));
    const [exitCode] = await once(process, "close");
    assert.deepEqual([said, exitCode], ["ready\n", 0]);
    assert.deepEqual((await judge.untilGone(5_000)).left, []);
  });
});

/** A process of its own that talks to a program. */
function ours(judge: ProcessJudge, code: string, command: string): ChildProcessByStdio<null, Readable, null> {
  const script = `
    import { openPrograms } from ${JSON.stringify(import.meta.resolve("../../../../src/app/process/programs.ts"))};
    const program = await openPrograms({ environment: process.env }).talk(${JSON.stringify(shell(command))});
    ${code}`;
  return spawn(process.execPath, ["--input-type=module", "-e", script], {
    env: { ...process.env, ...judge.environment, NODE_OPTIONS: "", NODE_V8_COVERAGE: "" },
    detached: true,
    stdio: ["ignore", "pipe", "inherit"],
  });
}

/** Empty when it has ended meanwhile. */
function commandOf(pid: number): string {
  return orUndefined(() => readFileSync(`/proc/${pid}/cmdline`, "latin1")) ?? "";
}

/** Bytes that a process has written so far. */
function writtenBy(pid: number): number {
  return Number(/wchar: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, "latin1"))?.[1]);
}

async function until(isSo: () => boolean): Promise<void> {
  for (const startedAt = performance.now(); !isSo(); ) {
    if (performance.now() - startedAt > 60_000) throw new Error("It did not happen");
    await new Promise((next) => setTimeout(next, 5));
  }
}

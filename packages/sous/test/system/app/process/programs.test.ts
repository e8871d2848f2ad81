/** Programs: what they are started with, what comes back, and that nothing of them stays. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { processOf } from "../../../../src/app/process/process-table.ts";
import { openPrograms } from "../../../../src/app/process/programs.ts";
import { ToolFailure } from "../../../../src/core/errors.ts";
import type { ProgramRequest, Programs } from "../../../../src/core/process.ts";
import { systemClock } from "../../../../src/machine/host.ts";
import { VirtualClock } from "../../../../src/testing/world.ts";
import { ProcessJudge } from "../../../figures/process-judge.ts";
import { STUBBORN_STRANGER } from "../../../figures/r3-orphans.ts";

const folder = mkdtempSync(join(tmpdir(), "sous-programs-"));
after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

function shell(command: string, more: Partial<ProgramRequest> = {}): ProgramRequest {
  return { program: "bash", args: ["-c", command], cwd: folder, maxOutputBytes: 4096, ...more };
}

/** With everything that is started known to a judge. */
function judged(environment: Record<string, string | undefined> = process.env): {
  judge: ProcessJudge;
  programs: Programs;
} {
  const judge = new ProcessJudge();
  return { judge, programs: openPrograms({ environment: { ...environment, ...judge.environment } }) };
}

suite("Programs: what is left of one that has ended", () => {
  test("a program that has ended leaves no folder of its pipe, and no timer", async () => {
    const temporary = mkdtempSync(join(folder, "temporary-"));
    const { TMPDIR } = process.env;
    process.env.TMPDIR = temporary;
    const clock = new VirtualClock(0);
    try {
      await using programs = openPrograms({ environment: process.env, clock });
      await programs.run(shell("echo one", { timeoutMs: 60_000 }));
      await programs.run(shell("\0")).catch(() => {});
      assert.equal(clock.liveTimers, 0);
    } finally {
      if (TMPDIR === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = TMPDIR;
    }
    assert.deepEqual(readdirSync(temporary), []);
  });
});

test("a program that has ended is written down as ended, while the record of those that run stays", async () => {
  const stateFolder = mkdtempSync(join(folder, "state-"));
  await using programs = openPrograms({ environment: process.env, stateFolder });
  await programs.start(shell("sleep 60"));
  await programs.run(shell("true"));
  const [name = ""] = readdirSync(join(stateFolder, "programs"));
  const [, ...lines] = readFileSync(join(stateFolder, "programs", name), "utf8")
    .trimEnd()
    .split("\n");
  const signs = lines.map((line) => line.split(" ", 2));
  const [first, second] = signs.map(([, pid]) => pid);
  assert.deepEqual(signs, [
    ["+", first],
    ["+", second],
    ["-", second],
  ]);
});

suite("Programs: what comes back", () => {
  test("a result has both streams in the order they came, and the exit code", async () => {
    await using programs = openPrograms({ environment: process.env });
    const { durationMs, ...result } = await programs.run(
      shell("echo one; echo two >&2; echo three > /dev/stderr; echo four | tee /dev/stdout; exit 3"),
    );
    const output = { head: "one\ntwo\nthree\nfour\nfour\n", tail: "", droppedBytes: 0 };
    assert.deepEqual(result, { exitCode: 3, endedBy: null, stopped: undefined, output, errors: undefined });
    assert.ok(durationMs > 0);
  });

  test("a result has standard error by itself when it is asked for so", async () => {
    await using programs = openPrograms({ environment: process.env });
    const { output, errors } = await programs.run(shell("echo out; echo err >&2", { separateErrors: true }));
    assert.deepEqual([output.head, errors?.head], ["out\n", "err\n"]);
  });

  test("a program gets its arguments as they are: no shell looks at them", async () => {
    await using programs = openPrograms({ environment: process.env });
    const args = ["%s\n", "$(touch pwned)", "`id`", "; touch pwned", "-n", "a\nb"];
    const { output } = await programs.run({ program: "printf", args, cwd: folder, maxOutputBytes: 4096 });
    assert.equal(output.head, `${args.slice(1).join("\n")}\n`);
    assert.equal(existsSync(join(folder, "pwned")), false);
  });

  test("nothing can be typed in, and there is no terminal", async () => {
    await using programs = openPrograms({ environment: process.env });
    const { output } = await programs.run(
      shell("cat; test -t 0 || echo none; (: < /dev/tty) 2>/dev/null || echo no tty"),
    );
    assert.equal(output.head, "none\nno tty\n");
  });

  test("D5: a sous that a program starts is as limited as we are", async () => {
    const SOUS_WITHIN = '{"depth":1,"max_depth":3}';
    await using programs = openPrograms({ environment: { ...process.env, SOUS_WITHIN } });
    const { output } = await programs.run(shell('echo "$SOUS_WITHIN"'));
    assert.equal(output.head, `${SOUS_WITHIN}\n`);
  });

  test("a result has the signal that ended the program, when it was not ours", async () => {
    await using programs = openPrograms({ environment: process.env });
    const { exitCode, endedBy, stopped } = await programs.run(shell("kill -SEGV $$"));
    assert.deepEqual([exitCode, endedBy, stopped], [null, "SIGSEGV", undefined]);
  });

  test("a program that cannot be started is a failure in words, and nothing stays open", async () => {
    await using programs = openPrograms({ environment: process.env });
    const failures: [ProgramRequest, RegExp][] = [
      [{ ...shell(""), program: "no-such-program" }, /no program named no-such-program/],
      [{ ...shell(""), program: "./bash" }, /no program named/],
      [shell("true", { cwd: join(folder, "nowhere") }), /is gone/],
      [{ ...shell(""), args: ["-c", "x".repeat(3_000_000)] }, /too long/],
      [{ ...shell(""), args: ["-c", "a\0b"] }, /NUL/],
    ];
    for (const [request, message] of failures) {
      await assert.rejects(
        programs.run(request),
        (error) => error instanceof ToolFailure && message.test(error.message),
      );
    }
  });

  test("B5.2: a program is looked for in absolute folders of PATH only, never where the workspace is", async () => {
    mkdirSync(join(folder, "bin"), { recursive: true });
    writeFileSync(join(folder, "planted"), "#!/bin/sh\ntouch marker\n", { mode: 0o755 });
    writeFileSync(join(folder, "bin", "wanted"), "#!/bin/sh\necho wanted\n", { mode: 0o755 });
    const before = process.cwd();
    process.chdir(folder);
    try {
      await using programs = openPrograms({ environment: { PATH: `:.:bin:${folder}/bin` } });
      assert.equal(await programs.find("planted"), undefined);
      await assert.rejects(programs.run({ ...shell(""), program: "planted" }), ToolFailure);
      assert.equal(await programs.find("wanted"), join(folder, "bin", "wanted"));
    } finally {
      process.chdir(before);
    }
    assert.equal(existsSync(join(folder, "marker")), false);
  });
});

test("Process: without a file descriptor to spare a program is refused in words, and later ones run", () => {
  const script = `
    import { closeSync, openSync } from "node:fs";
    import { openPrograms } from ${JSON.stringify(import.meta.resolve("../../../../src/app/process/programs.ts"))};
    const programs = openPrograms({ environment: process.env });
    const run = () => programs.run({ program: "echo", args: ["hi"], cwd: "/", maxOutputBytes: 100 })
      .then(({ output }) => output.head.trim(), (error) => error.name);
    const fill = (left) => {
      const open = [];
      try { for (;;) open.push(openSync("/dev/null")); } catch {}
      for (let index = 0; index < left; index++) closeSync(open.pop());
      return open;
    };
    const heard = [];
    for (let left = 0; left < 12; left++) {
      const open = fill(left);
      heard.push(await run());
      for (const each of open) closeSync(each);
    }
    heard.push(await run());
    await programs[Symbol.asyncDispose]();
    console.log(heard.join(" "));`;
  const shellLine = `ulimit -n 60; exec "$0" --input-type=module -e "$1"`;
  const environment = { ...process.env, NODE_OPTIONS: "", NODE_V8_COVERAGE: "" };
  const printed = execFileSync("bash", ["-c", shellLine, process.execPath, script], {
    encoding: "utf8",
    env: environment,
    // A bash with a socket at its input could read the start-up files of the user.
    stdio: ["ignore", "pipe", "inherit"],
    timeout: 60_000,
  });
  assert.match(printed.trim(), /^ToolFailure (?:ToolFailure |hi )*hi$/);
});

suite("Programs: what they are given", () => {
  test("B5.4: a program gets none of our secrets and no loader variable, only a short list and what was named", async () => {
    const secrets = Object.fromEntries(SECRET_NAMES.map((name, index) => [name, `planted-${index}-${"k".repeat(20)}`]));
    const loaders = Object.fromEntries(LOADERS.map((name) => [name, join(folder, "evil.so")]));
    const environment = { PATH: process.env.PATH, HOME: folder, LANG: "C.UTF-8", ...secrets, ...loaders };
    await using programs = openPrograms({ environment });
    const named = { NAMED: "yes", LD_PRELOAD: "/evil.so", NODE_OPTIONS: "--require=/evil.js", BASH_ENV: "/evil.sh" };
    const { output } = await programs.run({
      program: "env",
      args: [],
      cwd: folder,
      environment: named,
      maxOutputBytes: 65_536,
    });
    assert.equal(output.head.includes("planted-"), false);
    const names = output.head.split("\n").flatMap((line) => line.split("=")[0] || []);
    const told = names.filter((name) => !/^GIT_|^PAGER$/.test(name));
    assert.deepEqual(told.sort(), ["HOME", "LANG", "NAMED", "PATH", "SHLVL", "SOUS_RUN"]);
    assert.equal(output.head.includes("evil"), false);
  });

  test("B5.4: a program that a loader variable names is not started", async () => {
    const marker = join(folder, "loaded");
    const script = join(folder, "startup");
    writeFileSync(script, `touch ${marker}\n`);
    const environment = {
      PATH: process.env.PATH,
      BASH_ENV: script,
      ENV: script,
      "BASH_FUNC_echo%%": `() { touch ${marker}; }`,
    };
    await using programs = openPrograms({ environment });
    await programs.run(shell("echo hi", { environment: { BASH_ENV: script, ENV: script } }));
    assert.equal(existsSync(marker), false);
  });
});

const SECRET_NAMES =
  "ANTHROPIC_API_KEY OPENAI_API_KEY GOOGLE_GENERATIVE_AI_API_KEY AWS_SECRET_ACCESS_KEY GITHUB_TOKEN NPM_TOKEN DATABASE_URL PGPASSWORD SSH_AUTH_SOCK LC_SECRET SOUS_PROVIDER_API_KEY HTTPS_PROXY".split(
    " ",
  );
const LOADERS =
  "LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES NODE_OPTIONS BASH_ENV ENV PYTHONSTARTUP PERL5OPT GIT_SSH_COMMAND GIT_EXTERNAL_DIFF GIT_CONFIG_COUNT GIT_DIR GIT_EXEC_PATH CDPATH GLOBIGNORE DIRENV_DIR DIRENV_DIFF VIRTUAL_ENV PYTHONHOME PYTHONPATH npm_config_script_shell npm_config_prefix npm_config_node_options npm_execpath NODE INIT_CWD RIPGREP_CONFIG_PATH EDITOR VISUAL BROWSER MANPAGER LESSOPEN".split(
    " ",
  );

suite("Programs: how they end", () => {
  test("programs whose time is over are asked to end, and have a moment to do so", async () => {
    await using programs = openPrograms({ environment: process.env });
    const polite = "trap 'echo saved; exit 9' TERM; echo begins; while :; do sleep 0.02; done";
    const begin = (timeoutMs: number) => programs.run(shell(polite, { timeoutMs }));
    let result = await begin(150);
    // A busy machine may not even have started it by then: the same with more time.
    if (!result.output.head.startsWith("begins")) result = await begin(15_000);
    assert.deepEqual([result.exitCode, result.stopped], [9, "timeout"]);
    assert.match(result.output.head, /^begins\n[\s\S]*saved\n$/);
  });

  test("R8: a program that does not listen is killed, with all it has started, in its group or out of it", async () => {
    const { judge, programs } = judged();
    const controller = new AbortController();
    const running = programs.run(
      shell(
        "trap '' TERM; setsid bash -c \"trap '' TERM; touch deaf; sleep 300; true\" & while :; do sleep 0.1; done",
        {
          signal: controller.signal,
        },
      ),
    );
    await until(() => existsSync(join(folder, "deaf")));
    judge.look();
    controller.abort();
    const { stopped, endedBy } = await running;
    assert.deepEqual([stopped, endedBy], ["cancelled", "SIGKILL"]);
    assert.deepEqual((await judge.untilGone(0, true)).left, []);
    await programs[Symbol.asyncDispose]();
    assert.deepEqual((await judge.untilGone(500)).left, []);
  });

  test("R8: a process without a mark is killed with the group that one with a mark has made", async () => {
    const { judge, programs } = judged();
    const controller = new AbortController();
    const running = programs.run(shell(STUBBORN_STRANGER("stranger"), { signal: controller.signal }));
    await until(() => existsSync(join(folder, "stranger")));
    judge.look();
    controller.abort();
    await running;
    assert.deepEqual((await judge.untilGone(0, true)).left, []);
    await programs[Symbol.asyncDispose]();
  });

  test("Process: a program that was put to sleep with SIGSTOP ends all the same", async () => {
    await using programs = openPrograms({ environment: process.env });
    const { stopped, endedBy } = await programs.run(shell("kill -STOP $$", { timeoutMs: 100 }));
    assert.deepEqual([stopped, endedBy], ["timeout", "SIGTERM"]);
  });

  test("a process that a program leaves behind in its group ends with it, and does not hold its output back", async () => {
    const { judge, programs } = judged();
    const { output, durationMs } = await programs.run(
      shell("sleep 300 & (sleep 300 &) ; nohup sleep 300 >/dev/null 2>&1 & echo done"),
    );
    assert.equal(output.head, "done\n");
    assert.ok(durationMs < 200_000);
    assert.deepEqual((await judge.untilGone(500, true)).left, []);
    await programs[Symbol.asyncDispose]();
  });

  test("a process that left the group on purpose lives until everything is closed, and holds nothing back", async () => {
    const { judge, programs } = judged();
    const { output } = await programs.run(
      shell("setsid bash -c 'touch away; exec sleep 300' & while [ ! -e away ]; do sleep 0.01; done; echo done"),
    );
    assert.equal(output.head, "done\n");
    // The program that made the file may still be about to end.
    await until(() => judge.left().length <= 2);
    assert.equal(judge.left().length, 2, "the sleeper and the guard");
    await programs[Symbol.asyncDispose]();
    assert.deepEqual((await judge.untilGone(500)).left, []);
  });

  test("output of a process that left the group is read after the exit while it comes, and not for ever", async () => {
    assert.equal(await outputAfterExit(0), "");
    assert.equal(await outputAfterExit(2), "1\n2\n");
    assert.equal(await outputAfterExit(6), "1\n2\n3\n4\n5\n");
  });

  test("closing ends every program, also one that is just starting, and then none can be started", async () => {
    const { judge, programs } = judged();
    const background = await programs.start(shell("sleep 300 & sleep 300"));
    const starting = programs.run(shell("sleep 300"));
    const closed = programs[Symbol.asyncDispose]();
    const result = await starting.catch((error: unknown) => error);
    assert.ok(result instanceof ToolFailure || (result as { stopped?: string }).stopped === "cancelled");
    assert.equal((await background.ended).stopped, "cancelled");
    await closed;
    await programs[Symbol.asyncDispose]();
    assert.deepEqual((await judge.untilGone(0)).left, []);
    await assert.rejects(programs.run(shell("true")), ToolFailure);
  });

  test("a signal that has aborted already starts nothing", async () => {
    await using programs = openPrograms({ environment: process.env });
    const reason = new Error("too late");
    await assert.rejects(programs.run(shell("touch late", { signal: AbortSignal.abort(reason) })), reason);
    assert.equal(existsSync(join(folder, "late")), false);
  });
});

suite("Programs: in the background", () => {
  test("the output of a program in the background can be read while it comes, and disposing stops the program", async () => {
    const { judge, programs } = judged();
    const program = await programs.start(shell("echo ready; sleep 300"));
    await until(() => program.output().head === "ready\n");
    await program[Symbol.asyncDispose]();
    assert.equal((await program.ended).stopped, "cancelled");
    await programs[Symbol.asyncDispose]();
    assert.deepEqual((await judge.untilGone(0)).left, []);
  });

  test("a server that a shell has put into the background outlives the shell", async () => {
    await using programs = openPrograms({ environment: process.env });
    const program = await programs.start(shell("(sleep 0.1; touch served; sleep 300) > /dev/null 2>&1 &"));
    await until(() => existsSync(join(folder, "served")));
    await program[Symbol.asyncDispose]();
    const { exitCode, stopped } = await program.ended;
    assert.deepEqual([exitCode, stopped], [0, "cancelled"]);
  });
});

suite("Programs: the guard", () => {
  test("a guard that was killed is replaced while there is something to guard", async () => {
    const { judge, programs } = judged();
    await programs.start(shell("sleep 300"));
    await until(() => guardOf(judge) !== undefined);
    const first = guardOf(judge);
    process.kill(first ?? 0, "SIGKILL");
    await until(() => guardOf(judge) !== undefined && guardOf(judge) !== first);
    await programs[Symbol.asyncDispose]();
    assert.deepEqual((await judge.untilGone(500)).left, []);
  });
});

function guardOf(judge: ProcessJudge): number | undefined {
  return judge.left().find(({ pid }) => {
    const line = readable(`/proc/${pid}/cmdline`);
    return line.includes("\0sous-guard\0") && processOf(pid) !== undefined;
  })?.pid;
}

function readable(file: string): string {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return "";
  }
}

async function until(isSo: () => boolean): Promise<void> {
  for (const startedAt = performance.now(); !isSo(); ) {
    if (performance.now() - startedAt > 60_000) throw new Error("It did not happen");
    await new Promise((next) => setTimeout(next, 5));
  }
}

/** What is read of a process that outlives its program and writes one line whenever more output is waited for. */
async function outputAfterExit(lines: number): Promise<string> {
  const cwd = mkdtempSync(join(folder, "late-"));
  let pauses = 0;
  let timers = 0;
  let isOver = false;
  const clock = {
    ...systemClock,
    /** A pause is over when the line that belongs to it is written. */
    timer(milliseconds: number, onEnd: () => void): Disposable {
      if (isOver) return systemClock.timer(milliseconds, onEnd);
      pauses += 1;
      timers += 1;
      const said = join(cwd, `said-${pauses}`);
      writeFileSync(join(cwd, `go-${pauses}`), "");
      // The line is in the pipe: it is read before the pause ends.
      void until(() => existsSync(said))
        .then(() => nextTurn())
        .then(() => nextTurn())
        .then(onEnd);
      return { [Symbol.dispose]: () => (timers -= 1) };
    },
  };
  await using programs = openPrograms({ environment: process.env, clock });
  const wait = "while [ ! -e go-$line ]; do sleep 0.01; done";
  const speaker = `for line in 1 2 3 4 5 6; do ${wait}; [ $line -gt ${lines} ] || echo $line; touch said-$line; done`;
  const command = `setsid bash -c 'touch away; ${speaker}' & while [ ! -e away ]; do sleep 0.01; done`;
  const { output } = await programs.run(shell(command, { cwd }));
  isOver = true;
  assert.equal(timers, 0, "none is left running");
  return output.head;
}

/** `terminal`: what the model reads of a command, and what a command can and cannot reach. */

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { openPrograms } from "../../../../src/app/process/programs.ts";
import { terminalTool } from "../../../../src/app/tools/terminal.ts";
import { agent } from "../../../../src/core/agent.ts";
import { ToolFailure } from "../../../../src/core/errors.ts";
import type { Programs } from "../../../../src/core/process.ts";
import type { RunHandle } from "../../../../src/core/runtime.ts";
import { createRuntime } from "../../../../src/runtime.ts";
import { scriptedModel } from "../../../../src/testing/scripted-model.ts";
import { calls, type Step, says } from "../../../../src/testing/steps.ts";
import { type TemporaryTree, temporaryTree } from "../../../support/app/tools/temporary-tree.ts";

type Call = {
  command?: string;
  cwd?: string;
  timeout?: number;
  background?: boolean;
  output_of?: string;
  stop?: string;
};

/** One tool over several messages to a real runtime; `ask` gives what the model reads of each call. */
class Bench implements AsyncDisposable {
  readonly tree: TemporaryTree;
  readonly programs: Programs;
  readonly progress: string[] = [];
  readonly #tool;
  readonly #environment: Record<string, string | undefined>;
  readonly #answers: Step[] = [];
  #heard: string[] = [];
  #last: RunHandle | undefined;

  private constructor(tree: TemporaryTree, environment: Record<string, string | undefined>, timeoutMs: number) {
    this.tree = tree;
    this.#environment = environment;
    this.programs = openPrograms({ environment });
    this.#tool = terminalTool({ programs: this.programs, root: tree.path, timeoutMs, environment });
  }

  static async open(environment: Record<string, string | undefined> = process.env, timeoutMs = 60_000): Promise<Bench> {
    return new Bench(await temporaryTree(), environment, timeoutMs);
  }

  /** The next messages of one conversation: commands in the background continue from one to the next. */
  async ask(...inputs: Call[]): Promise<string[]> {
    this.#answers.push(...inputs.map((input) => calls("terminal", input)), says("Done."));
    this.#heard = [];
    this.#last = this.#last?.followUp("Go on.") ?? this.#begin();
    await this.#last;
    return this.#heard;
  }

  #begin(): RunHandle {
    const model = scriptedModel({ lead: () => this.#answers.shift() ?? says("Done.") });
    const runtime = createRuntime({
      approve: () => ({ allow: true }),
      host: { cwd: this.tree.path, environment: this.#environment },
    });
    return runtime.run(agent({ name: "lead", model, tools: [this.#tool] }), "Go.", {
      onEvent: (event) => {
        if (event.type === "tool-call-end") this.#heard.push(event.output);
        if (event.type !== "tool-progress") return;
        this.progress.push(event.text);
        // For a command that waits until it was seen.
        writeFileSync(join(this.tree.path, "seen"), "");
      },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.programs[Symbol.asyncDispose]();
    await this.tree[Symbol.asyncDispose]();
  }
}

suite("terminal: what people see while a command runs", () => {
  test("people see the last whole line of a command, without colours and secrets", async () => {
    const secret = "hush-hush-4711-secret";
    await using bench = await Bench.open({ ...process.env, DEPLOY_TOKEN: secret });
    // Until it was seen, or for long enough: a busy machine is slow.
    const show = `echo one; printf '\\033[32mgreen ${secret}\\033[0m\\nhalf a li'`;
    const [heard = ""] = await bench.ask({
      command: `${show}; for i in $(seq 200); do [ -e seen ] && break; sleep 0.1; done`,
    });
    assert.deepEqual(new Set(bench.progress), new Set(["green [redacted: DEPLOY_TOKEN]"]));
    assert.ok(heard.includes("half a li"));
  });

  test("people see nothing of a command in the background", async () => {
    await using bench = await Bench.open();
    await bench.ask({ command: "echo up; sleep 1", background: true }, { command: "sleep 0.6" });
    assert.deepEqual(bench.progress, []);
  });

  test("people see at most four lines a second of a command that writes without end, and it is not held back", async () => {
    await using bench = await Bench.open();
    // Some thousand lines a moment, until two of them were shown.
    const writes = "until [ -e seen ]; do yes some line of output | head -n 5000; sleep 0.02; done; rm seen";
    const started = performance.now();
    const [heard = ""] = await bench.ask({ command: `${writes}; ${writes}; echo over` });
    const seconds = (performance.now() - started) / 1000;
    assert.ok(heard.endsWith("over"), heard.slice(-100));
    assert.ok(bench.progress.length <= 1 + 4 * seconds, `${bench.progress.length} in ${seconds} s`);
    assert.ok(bench.progress.every((line) => line === "some line of output"));
    assert.ok(bench.progress.length >= 2, "hardly anything was shown");
  });
});

suite("terminal: what the model reads", () => {
  test("the model reads the output, the exit code in words, and that there was none", async () => {
    await using bench = await Bench.open();
    const heard = await bench.ask(
      { command: "echo hello; echo oops >&2" },
      { command: "echo wrong; exit 2" },
      { command: "true" },
      { command: "no-such-program-at-all 2>/dev/null" },
      { command: "kill -9 $$" },
    );
    assert.deepEqual(heard, [
      "hello\noops",
      "The command ended with exit code 2.\nwrong",
      "[no output]",
      "The command ended with exit code 127: a program in it was not found.",
      "The command was ended by SIGKILL.",
    ]);
  });

  test("the model reads that the time of a command was over, with what it had said", async () => {
    await using bench = await Bench.open();
    const ask = async (timeout: number) => (await bench.ask({ command: "echo begun; sleep 300", timeout }))[0] ?? "";
    // A busy machine may not even have started it by then: the same with more time.
    let timeout = 0.2;
    let heard = await ask(timeout);
    for (; !heard.includes("begun") && timeout < 20; heard = await ask(timeout)) timeout *= 10;
    assert.match(heard, new RegExp(`^The command was stopped after ${timeout} seconds, its time limit\\. .*\\nbegun`));
  });

  test("the model reads head and tail of long output, and how much is missing, in at most 50 KB", async () => {
    await using bench = await Bench.open();
    const [heard = ""] = await bench.ask({ command: "echo first; seq 1 200000; echo last" });
    assert.ok(Buffer.byteLength(heard) < 50_000);
    assert.match(
      heard,
      /^first\n1\n2\n[\s\S]*\n\[\d+ bytes of output were left out here; [^\n]*\]\n[\s\S]*\n200000\nlast$/,
    );
    const left = Number(/\[(\d+) bytes/.exec(heard)?.[1]);
    const whole =
      "first\n".length +
      "last\n".length +
      Buffer.byteLength(Array.from({ length: 200_000 }, (_, i) => `${i + 1}\n`).join(""));
    assert.ok(Math.abs(whole - left - 48 * 1024) < 100);
  });

  test("B3.1, B3.2: the model reads no control sequence and nothing hidden, also when a sequence never ends", async () => {
    await using bench = await Bench.open();
    const [heard = ""] = await bench.ask({
      command: String.raw`printf '\e[31mred\e[0m \e]52;c;ZXZpbA==\a\e]8;;http://x\e\\link\e]8;;\e\\ a\bb \xe2\x80\xaehid\xf3\xa0\x81\xa1den\r\n\e]0;never ends\nnext\n\xff\xfe'`,
    });
    assert.equal(heard, "red link ab hidden\n\nnext\n��");
  });

  test("B3.3: the model reads no part of a secret that lies across a cut, or has codes in its middle", async () => {
    const planted = "Zx9-planted-SECRET-value-for-this-test-0123456789";
    // It is not a known value, but it has the shape of a key.
    const shaped = `${"ghp"}_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1eF3hJ5`;
    await using bench = await Bench.open({ ...process.env, PLANTED_API_KEY: planted });
    const half = 24 * 1024;
    const fill = (bytes: number) => `head -c ${bytes} /dev/zero | tr '\\0' '\\n'`;
    for (const secret of [planted, shaped]) {
      const print = `printf %s%s ${secret.slice(0, 20)} ${secret.slice(20)}`;
      const cuts = [8, 24].flatMap((inside) => [
        { command: `${fill(half - inside)}; ${print}; ${fill(99_999)}; echo end` },
        { command: `echo start; ${fill(99_999)}; ${print}; ${fill(half - inside)}; echo end` },
      ]);
      const coded = { command: String.raw`printf '%s\e[0m%s' ${secret.slice(0, 20)} ${secret.slice(20)}` };
      for (const text of await bench.ask(...cuts, coded)) {
        for (let start = 0; start + 8 <= secret.length; start++) {
          assert.equal(text.includes(secret.slice(start, start + 8)), false);
        }
      }
    }
  });
});

suite("terminal: where it runs and with what", () => {
  test("B5.1: a folder outside the workspace is refused, and the command is not run", async () => {
    await using bench = await Bench.open();
    mkdirSync(join(bench.tree.path, "inside"));
    symlinkSync("/", join(bench.tree.path, "way-out"));
    const marker = join(bench.tree.path, "marker");
    const outside = ["..", "/", "/tmp", "inside/../..", "way-out", "way-out/tmp", `${bench.tree.path}-evil`];
    const heard = await bench.ask(...outside.map((cwd) => ({ command: `touch ${marker}`, cwd })));
    for (const text of heard) assert.match(text, /outside the workspace|No folder/);
    assert.equal(existsSync(marker), false);
    assert.deepEqual(await bench.ask({ command: "pwd", cwd: "inside" }), [join(bench.tree.path, "inside")]);
  });

  test("B5.4: env prints none of 12 planted secrets, and no file of the user's shell is read", async () => {
    const names =
      "ANTHROPIC_API_KEY OPENAI_API_KEY GOOGLE_GENERATIVE_AI_API_KEY AWS_SECRET_ACCESS_KEY GITHUB_TOKEN NPM_TOKEN DATABASE_URL PGPASSWORD SSH_AUTH_SOCK LC_SECRET SOUS_KEY HTTPS_PROXY";
    const secrets = Object.fromEntries(names.split(" ").map((name, index) => [name, `canary${index}canary`]));
    await using home = await temporaryTree({
      ".bashrc": "touch $HOME/read",
      ".bash_profile": "touch $HOME/read",
      ".profile": "touch $HOME/read",
      startup: "touch $HOME/read",
    });
    const startup = join(home.path, "startup");
    const loaders = { BASH_ENV: startup, ENV: startup, LD_PRELOAD: "/evil.so", NODE_OPTIONS: "--bad" };
    await using bench = await Bench.open({ PATH: process.env.PATH, HOME: home.path, ...secrets, ...loaders });
    const [heard = ""] = await bench.ask({ command: "env; cat /proc/self/environ; cat /proc/$$/environ" });
    assert.match(heard, /^PATH=/m);
    assert.doesNotMatch(heard, /canary\d+canary|LD_PRELOAD|NODE_OPTIONS|BASH_ENV|redacted/);
    assert.equal(existsSync(join(home.path, "read")), false);
  });

  test("an input that is not one command is refused in words", async () => {
    await using bench = await Bench.open(process.env, 5_000);
    const heard = await bench.ask(
      {},
      { command: "true", stop: "bg1" },
      { command: "echo a\0b" },
      { command: "true", timeout: 6 },
      { output_of: "bg7" },
    );
    assert.match(heard[0] ?? "", /exactly one/);
    assert.match(heard[1] ?? "", /exactly one/);
    assert.match(heard[2] ?? "", /NUL/);
    assert.match(heard[3] ?? "", /timeout/);
    assert.match(heard[4] ?? "", /No background command has the id "bg7"/);
  });

  test("terminal asks first, and a call whose outcome is unknown is not made again", () => {
    const { name, tier, effect, category } = terminalTool({ programs: {} as Programs, timeoutMs: 1000 });
    assert.deepEqual([name, tier, effect, category], ["terminal", "confirm", "unsafe", "execute"]);
  });
});

suite("terminal: in the background", () => {
  test("a command runs on, its output can be read, and it can be stopped", async () => {
    await using bench = await Bench.open();
    const [started = ""] = await bench.ask({
      command: "echo $$ > pid; echo ready; touch there; sleep 300",
      background: true,
    });
    assert.match(started, /^Started in the background as bg1\./);
    await until(() => existsSync(join(bench.tree.path, "there")));
    // What it has written may not have arrived yet.
    const running = await untilHeard(bench, "bg1", "ready");
    assert.equal(running, "[bg1 is still running.]\nready");
    const [stopped, again] = await bench.ask({ stop: "bg1" }, { output_of: "bg1" });
    assert.match(stopped ?? "", /^\[The command was stopped\.\]\nready/);
    assert.match(again ?? "", /You have none/);
    const pid = readFileSync(join(bench.tree.path, "pid"), "utf8").trim();
    assert.equal(existsSync(`/proc/${pid}/fd/0`), false);
  });

  test("a command that has ended says how, and makes room for the next when there are too many", async () => {
    await using bench = await Bench.open();
    await bench.ask({ command: "exit 4", background: true });
    await untilHeard(bench, "bg1", "exit code 4");
    const heard = await bench.ask(
      ...Array.from({ length: 8 }, () => ({ command: "sleep 300", background: true })),
      { command: "sleep 300", background: true },
      { output_of: "bg1" },
    );
    assert.match(heard[7] ?? "", /Started in the background as bg9/);
    assert.match(heard[8] ?? "", /8 commands run in the background already/);
    assert.match(heard[9] ?? "", /You have: bg2, /);
  });

  test("a call that was stopped while it started leaves nothing behind", async () => {
    await using bench = await Bench.open();
    const controller = new AbortController();
    const model = scriptedModel({
      lead: [calls("terminal", { command: "sleep 300", background: true }), says("Done.")],
    });
    const runtime = createRuntime({ approve: () => ({ allow: true }), host: { cwd: bench.tree.path } });
    const slow: Programs = {
      run: (request) => bench.programs.run(request),
      find: (program) => bench.programs.find(program),
      talk: (request) => bench.programs.talk(request),
      async start(request) {
        controller.abort(new Error("enough"));
        const program = await bench.programs.start(request);
        started.push(program.ended.then(({ stopped }) => stopped));
        return program;
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
    const started: Promise<unknown>[] = [];
    const tool = terminalTool({ programs: slow, timeoutMs: 1000 });
    const { status } = await runtime.run(agent({ name: "lead", model, tools: [tool] }), "Go.", {
      signal: controller.signal,
    });
    assert.deepEqual([status, await Promise.all(started)], ["cancelled", ["cancelled"]]);
  });
});

test("terminal uses sh in place of bash, and without both it fails in words", async () => {
  await using tree = await temporaryTree();
  const missing = (...names: string[]): Programs => {
    const programs = openPrograms({ environment: process.env });
    const find = async (program: string) => (names.includes(program) ? undefined : programs.find(program));
    const run: Programs["run"] = async (request) => {
      if (names.includes(request.program)) throw new ToolFailure(`There is no program named ${request.program}.`);
      return programs.run(request);
    };
    const { start, talk } = programs;
    return { find, run, start, talk, [Symbol.asyncDispose]: () => programs[Symbol.asyncDispose]() };
  };
  const ask = async (programs: Programs) => {
    const model = scriptedModel({ lead: [calls("terminal", { command: "echo $0" }), says("Done.")] });
    const runtime = createRuntime({ approve: () => ({ allow: true }), host: { cwd: tree.path } });
    let heard = "";
    await runtime.run(agent({ name: "lead", model, tools: [terminalTool({ programs, timeoutMs: 60_000 })] }), "Go.", {
      onEvent(event) {
        if (event.type === "tool-call-end") heard = event.output;
      },
    });
    await programs[Symbol.asyncDispose]();
    return heard;
  };
  assert.equal(await ask(missing("bash")), "sh");
  assert.match(await ask(missing("bash", "sh")), /no program named sh/);
});

/** What the model reads of a command in the background, as soon as these words are in it. */
async function untilHeard(bench: Bench, name: string, words: string): Promise<string> {
  let heard = "";
  await until(async () => {
    [heard = ""] = await bench.ask({ output_of: name });
    return heard.includes(words);
  });
  return heard;
}

/** Lets everything else happen between two looks: a whole run may be over before the machine was asked for news. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (const startedAt = performance.now(); !(await isSo()); ) {
    if (performance.now() - startedAt > 60_000) throw new Error("It did not happen");
    await new Promise((next) => setTimeout(next, 5));
  }
}

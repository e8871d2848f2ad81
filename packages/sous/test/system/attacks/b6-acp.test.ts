/** B6: what an agent in another process tries against the run that it works for. Judged by what is on disk, asked and recorded. */

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { createAcpClient } from "../../../src/acp-client.ts";
import { openPrograms } from "../../../src/app/process/programs.ts";
import { writeFileTool } from "../../../src/app/tools/edit-file.ts";
import { readFileTool } from "../../../src/app/tools/read-only.ts";
import { terminalTool } from "../../../src/app/tools/terminal.ts";
import { agent } from "../../../src/core/agent.ts";
import type { ApprovalRequest, Approve } from "../../../src/core/approval.ts";
import type { PermissionRule } from "../../../src/core/configuration.ts";
import type { EventOf, SousEvent } from "../../../src/core/event.ts";
import { externalModel } from "../../../src/core/external-agent.ts";
import type { RunResult } from "../../../src/core/runtime.ts";
import { createPolicy } from "../../../src/runtime/rights/policy.ts";
import { createRuntime } from "../../../src/runtime.ts";
import { badServer, PATIENT, script, temporaryFolder } from "../bridges/acp/agents.ts";
import type { Step } from "../bridges/acp/bad-agent.ts";

const CANARY = "the canary sings";
const tree = temporaryFolder("b6");
const work = join(tree, "work");
const outside = join(tree, "outside");
const at = (name: string): string => join(work, name);

for (const folder of ["work/src", "work/.git/hooks", "work/.sous", "outside", "work-evil"]) {
  mkdirSync(join(tree, folder), { recursive: true });
}
for (const file of [
  "outside/canary.txt",
  "work-evil/canary.txt",
  "work/.env",
  "work/secrets.txt",
  "work/.sous/config.yaml",
]) {
  writeFileSync(join(tree, file), CANARY);
}
writeFileSync(at("src/inside.txt"), "one\ntwo\nthree\n");
symlinkSync("../outside/canary.txt", at("file-link"));
symlinkSync("../outside", at("folder-link"));
symlinkSync("../.env", at("src/env-link"));

const RULES: PermissionRule[] = [
  ["allow", "read_file"],
  ["deny", "read_file(.env)"],
  ["deny", "read_file(secrets.txt)"],
  ["allow", "write_file(src/**)"],
  ["deny", "write_file(.env)"],
  ["allow", "terminal(echo *)"],
  ["allow", "terminal(ls)"],
].map(([effect, pattern]) => ({ effect: effect as "allow", pattern: String(pattern), origin: "the test" }));

const programs = openPrograms({ environment: process.env });
const client = createAcpClient({ servers: { bad: badServer() }, deadlines: PATIENT });
after(async () => {
  await client.dispose();
  await programs[Symbol.asyncDispose]();
});

type Attacked = {
  /** What the agent was answered, by attack. */
  answers: Record<string, Answer>;
  /** What the person was asked. */
  asked: ApprovalRequest[];
  events: SousEvent[];
  result: RunResult;
};

/** The parts of an answer of ours that attacks are judged by. */
type Answer = {
  content?: string;
  error?: { code: number; message: string };
  outcome?: { outcome: string; optionId?: string };
  output?: string;
};

/** One run of an agent that does all of these in one turn. The person answers every question alike. */
async function attack(steps: Record<string, Step | Step[]>, person = false): Promise<Attacked> {
  const asked: ApprovalRequest[] = [];
  const events: SousEvent[] = [];
  const { decide } = createPolicy({ rules: RULES });
  const ask: Approve = (request) => {
    asked.push(request);
    return person ? { allow: true } : { allow: false, reason: "no" };
  };
  const approve = { decide, ask, asksAgain: true };
  const runtime = createRuntime({ approve, host: { cwd: work } });
  const attacker = agent({
    name: "attacker",
    model: externalModel(client.externalAgent()),
    tools: [readFileTool(), writeFileTool(), terminalTool({ programs, timeoutMs: 10_000 })],
  });
  const all = Object.values(steps).flat();
  const result = await runtime.run(attacker, script(...all, { tell: "answers" }), {
    onEvent: (event) => void events.push(event),
  }).result;
  const names = Object.entries(steps).flatMap(([name, each]) =>
    [each].flat().flatMap((step) => ("ask" in step ? [name] : [])),
  );
  const told: Answer[] = result.text.startsWith("[") ? JSON.parse(result.text) : [];
  assert.equal(told.length, names.length, `${result.status}: ${result.text.slice(0, 300)} ${result.error ?? ""}`);
  return { answers: Object.fromEntries(names.map((name, index) => [name, told[index] ?? {}])), asked, events, result };
}

function ask(method: string, params: object, sessionId: string = "$S"): Step {
  return { ask: method, params: { sessionId, ...params } };
}

suite("B6.4: files that an agent asks us for", () => {
  const reads: Record<string, Step> = {
    "an absolute path outside": ask("fs/read_text_file", { path: join(outside, "canary.txt") }),
    "two dots in an absolute path": ask("fs/read_text_file", { path: `${work}/../outside/canary.txt` }),
    "a relative path with two dots": ask("fs/read_text_file", { path: "../outside/canary.txt" }),
    "a folder whose name begins alike": ask("fs/read_text_file", { path: `${work}-evil/canary.txt` }),
    "a link to a file outside": ask("fs/read_text_file", { path: at("file-link") }),
    "a file behind a link to a folder": ask("fs/read_text_file", { path: at("folder-link/canary.txt") }),
    "a file that a rule denies": ask("fs/read_text_file", { path: at(".env") }),
    "a denied file by a relative path": ask("fs/read_text_file", { path: "./src/../secrets.txt" }),
    "a denied file behind a link": ask("fs/read_text_file", { path: at("src/env-link") }),
    "a file of the system": ask("fs/read_text_file", { path: "/proc/self/environ" }),
    "a device": ask("fs/read_text_file", { path: "/dev/zero" }),
    "an address instead of a path": ask("fs/read_text_file", { path: `file://${outside}/canary.txt` }),
    "a path with a NUL": ask("fs/read_text_file", { path: `${at("src/inside.txt")}\0${outside}/canary.txt` }),
    "a path that is a list": ask("fs/read_text_file", { path: [join(outside, "canary.txt")] }),
    "a line that is below the first": ask("fs/read_text_file", { path: join(outside, "canary.txt"), line: -5 }),
    "the id of another session": ask("fs/read_text_file", { path: at("src/inside.txt") }, "s999"),
    "no session": { ask: "fs/read_text_file", params: { path: at("src/inside.txt") } },
  };
  const fine: Record<string, Step> = {
    written: ask("fs/write_text_file", { path: at("new.txt"), content: "x" }),
    whole: ask("fs/read_text_file", { path: at("src/inside.txt") }),
    part: ask("fs/read_text_file", { path: at("src/inside.txt"), line: 2, limit: 1 }),
  };
  let attacked: Attacked;
  before(async () => {
    attacked = await attack({ ...reads, ...fine });
  });

  for (const name of Object.keys(reads)) {
    test(`B6.4: ${name} is not read`, () => {
      const answer = attacked.answers[name];
      assert.ok(answer?.error !== undefined, JSON.stringify(answer));
      assert.equal(answer.content, undefined);
      assert.ok(!JSON.stringify(answer).includes(CANARY));
    });
  }

  test("B6.4: a file of the workspace is read, whole or in part, and nothing secret is in the journal", () => {
    assert.match(attacked.answers.written?.error?.message ?? "", /The user did not allow write_file/);
    assert.equal(attacked.answers.whole?.content, "one\ntwo\nthree\n");
    assert.equal(attacked.answers.part?.content, "two");
    assert.ok(!JSON.stringify(attacked.events).includes(CANARY));
  });
});

suite("B6.4: files that an agent asks us to write, while the person says yes", () => {
  const write = (path: unknown, content: unknown = "evil") => ask("fs/write_text_file", { path, content } as object);
  const writes: Record<string, Step> = {
    "an absolute path outside": write(join(outside, "canary.txt")),
    "a new file outside": write(join(outside, "new.txt")),
    "two dots": write(`${work}/src/../../outside/canary.txt`),
    "a link to a file outside": write(at("file-link")),
    "a file behind a link to a folder": write(at("folder-link/new.txt")),
    "our own configuration": write(at(".sous/config.yaml")),
    "a hook of git": write(at(".git/hooks/pre-commit")),
    "a file that a rule denies": write(at(".env")),
    "content that is no text": write(at("src/object.txt"), { evil: true }),
    "a write for another session": ask("fs/write_text_file", { path: at("src/other.txt"), content: "evil" }, "s999"),
  };
  let attacked: Attacked;
  before(async () => {
    attacked = await attack({ ...writes, fine: write(at("src/fine.txt"), "fine") }, true);
  });

  for (const name of Object.keys(writes)) {
    test(`B6.4: ${name} is not written`, () => assert.ok(attacked.answers[name]?.error !== undefined));
  }

  test("B6.4: no refused file of the agent is on disk, and what a rule allows is", () => {
    const kept = ["outside/canary.txt", "work/.env", "work/.sous/config.yaml"].map((file) =>
      readFileSync(join(tree, file), "utf8"),
    );
    assert.deepEqual(kept, [CANARY, CANARY, CANARY]);
    const made = [
      "outside/new.txt",
      "work/.git/hooks/pre-commit",
      "work/new.txt",
      "work/src/object.txt",
      "work/src/other.txt",
    ];
    assert.deepEqual(
      made.filter((file) => existsSync(join(tree, file))),
      [],
    );
    assert.equal(readFileSync(at("src/fine.txt"), "utf8"), "fine");
  });
});

suite("B6.4, B6.5: commands that an agent asks us to run", () => {
  const create = (command: unknown, more: object = {}) => ask("terminal/create", { command, ...more } as object);
  const refused: Record<string, Step> = {
    "a command that no rule allows": create("touch pwned-1"),
    "a second line behind an allowed command": create("echo hi\ntouch pwned-2"),
    "a second command behind an allowed one": create("echo hi; touch pwned-3"),
    "a substitution in an allowed command": create("echo $(touch pwned-4)"),
    "a redirection of an allowed command": create(`echo evil > ${join(outside, "canary.txt")}`),
    "a variable that loads code": create("ls", { env: [{ name: "LD_PRELOAD", value: "/tmp/evil.so" }] }),
    "a variable whose name is a command": create("echo", {
      args: ["x"],
      env: [{ name: "A=1;touch pwned-5;B", value: "" }],
    }),
    "a folder outside": create("ls", { cwd: outside }),
    "a NUL in the command": create("echo hi\0; touch pwned-6"),
    "a command that is a list": create(["sh", "-c", "touch pwned-7"]),
    "a command for another session": ask("terminal/create", { command: "ls" }, "s999"),
    "the output of a terminal that it does not have": ask("terminal/output", { terminalId: "terminal-99" }),
    "the end of a command that is not its own": ask("terminal/kill", { terminalId: "bg1" }),
  };
  const spoken: Record<string, Step> = {
    start: create("echo", { args: ["a; touch pwned-8", "$(touch pwned-9)", "`touch pwned-10`", "it's", "\n", "--"] }),
    wait: ask("terminal/wait_for_exit", { terminalId: "terminal-1" }),
    output: ask("terminal/output", { terminalId: "terminal-1" }),
    release: ask("terminal/release", { terminalId: "terminal-1" }),
    released: ask("terminal/output", { terminalId: "terminal-1" }),
  };
  let attacked: Attacked;
  let words: Attacked;
  before(async () => {
    const trusted = {
      ...spoken,
      folder: create("ls", { cwd: outside }),
      link: create("ls", { cwd: at("folder-link") }),
    };
    [attacked, words] = await Promise.all([attack({ ...refused, allowed: create("ls") }), attack(trusted, true)]);
  });

  for (const name of Object.keys(refused)) {
    test(`B6.5: ${name} is refused`, () => assert.ok(attacked.answers[name]?.error !== undefined));
  }

  test("B6.5: a command that a rule allows is started without a question", () => {
    assert.equal(attacked.answers.allowed?.error, undefined);
    const asked = attacked.asked.map(({ input }) => JSON.stringify(input));
    assert.ok(!asked.includes('{"command":"ls","background":true}'), asked.join());
  });

  test("B6.5: the arguments of a command stay words, whatever they hold", () => {
    assert.equal(words.answers.output?.output, "a; touch pwned-8 $(touch pwned-9) `touch pwned-10` it's \n --");
    assert.ok(words.answers.released?.error !== undefined);
  });

  test("B6.4: a folder outside is refused, also when the person says yes", () => {
    assert.match(words.answers.folder?.error?.message ?? "", /leads outside the workspace/);
    assert.match(words.answers.link?.error?.message ?? "", /leads outside the workspace/);
  });

  test("B6.5: none of the commands behind an allowed one ran", () => {
    const pwned = Array.from({ length: 10 }, (_, index) => at(`pwned-${index + 1}`));
    assert.deepEqual(pwned.filter(existsSync), []);
    assert.equal(readFileSync(join(outside, "canary.txt"), "utf8"), CANARY);
  });
});

const ONCE = [
  { optionId: "yes", kind: "allow_once", name: "Yes" },
  { optionId: "no", kind: "reject_once", name: "No" },
];

function question(toolCall: object, options: object[] = ONCE, sessionId?: string): Step {
  return ask("session/request_permission", { toolCall: { toolCallId: "c", ...toolCall }, options }, sessionId);
}

suite("B6.4: questions that say less or other than what they are for, while the person says no", () => {
  const command = (fields: object, more: object = {}) => question({ kind: "execute", rawInput: fields, ...more });
  const refused: Record<string, Step> = {
    "a read that brings a command": question({
      kind: "read",
      rawInput: { path: "src/inside.txt", command: "rm -rf /" },
    }),
    "a read of a file outside": question({ kind: "read", locations: [{ path: join(outside, "canary.txt") }] }),
    "a read with two dots below an allowed folder": question({
      kind: "read",
      locations: [{ path: "src/../../outside/canary.txt" }],
    }),
    "an edit of an allowed and another file": question({
      kind: "edit",
      locations: [{ path: "src/a.ts" }, { path: "b.ts" }],
    }),
    "an edit whose change is of another file": question({
      kind: "edit",
      rawInput: { file_path: "src/a.ts" },
      content: [{ type: "diff", path: join(outside, "canary.txt"), newText: "evil" }],
    }),
    "a move out of an allowed folder": question({
      kind: "move",
      rawInput: { from: "src/a.ts", to: join(outside, "a.ts") },
    }),
    "a move with one path only": question({ kind: "move", locations: [{ path: "src/a.ts" }] }),
    "a deletion without a path": question({ kind: "delete", title: "src/a.ts" }),
    "a command in the title only": question({ kind: "execute", title: "ls", rawInput: {} }),
    "an allowed command with a setting that is not known": command({ command: "ls", dangerouslyDisableSandbox: true }),
    "an allowed command in a folder outside": command({ command: "ls", cwd: outside }),
    "a list that hides a line for a shell": command({ command: ["bash", "-lc", "ls; touch x"] }),
    "a command whose parts look like one word": command({ command: ["ls; touch", "x"] }),
    "another kind with the name of a tool": question({ kind: "other", name: "terminal", rawInput: { command: "ls" } }),
    "a name that would match a tool of ours": question({
      kind: "other",
      name: "read_file",
      rawInput: { path: "src/a" },
    }),
    "a kind of its own": question({ kind: "harmless", locations: [{ path: "src/a.ts" }] }),
    "a change of its mode": question({ kind: "switch_mode", title: "Ready to code?" }),
    "an input that is a text": question({ kind: "execute", rawInput: "ls" }),
    "a fetch without an address": question({ kind: "fetch", rawInput: { query: "x" } }),
    "two hundred files": question({
      kind: "edit",
      locations: Array.from({ length: 200 }, (_, n) => ({ path: `src/${n}` })),
    }),
  };
  const allowed: Record<string, Step> = {
    read: question({ kind: "read", locations: [{ path: at("src/inside.txt") }] }),
    edit: question({ kind: "edit", content: [{ type: "diff", path: at("src/a.ts"), newText: "x" }] }),
    command: command({ command: "ls", description: "list" }),
    list: command({ command: ["/bin/bash", "-lc", "echo hi"] }),
  };
  let attacked: Attacked;
  before(async () => {
    attacked = await attack({ ...refused, ...allowed });
  });

  for (const name of Object.keys(refused)) {
    test(`B6.4: ${name} is not allowed by a rule`, () =>
      assert.deepEqual(attacked.answers[name]?.outcome, { outcome: "selected", optionId: "no" }));
  }

  test("B6.4: a question that says exactly what it does follows the rules and is not put to the person", () => {
    const answers = Object.keys(allowed).map((name) => attacked.answers[name]?.outcome?.optionId);
    assert.deepEqual(answers, ["yes", "yes", "yes", "yes"]);
    assert.ok(attacked.asked.every(({ input }) => !JSON.stringify(input).includes('inside.txt"}')));
  });

  test("B6.4: no question that reaches the person has the name of a built-in tool and other fields than it", () => {
    const own = attacked.asked.filter(({ toolName }) => ["read_file", "write_file", "terminal"].includes(toolName));
    for (const { toolName, input } of own) {
      const key = toolName === "terminal" ? "command" : "path";
      assert.equal(typeof (input as Record<string, unknown>)[key], "string", `${toolName} ${JSON.stringify(input)}`);
    }
    const others = attacked.asked.filter((each) => !own.includes(each));
    assert.ok(others.length > 0 && others.every(({ toolName }) => toolName.startsWith("outside_")));
  });
});

suite("B6.4: answers that an agent wants, while the person says yes", () => {
  const run = { kind: "execute", rawInput: { command: "make" } };
  const always = { optionId: "always", kind: "allow_always", name: "Always" };
  const steps: Record<string, Step | Step[]> = {
    "only always": question(run, [always]),
    "always or not at all": question(run, [always, { optionId: "no", kind: "reject_once", name: "No" }]),
    "once with the id of always": question(run, [always, { optionId: "always", kind: "allow_once", name: "Once" }]),
    "a kind that is not known": question(run, [{ optionId: "root", kind: "allow_everything", name: "x" }]),
    "options that are no list": question(run, "yes" as unknown as object[]),
    "for another session": question(run, ONCE, "s999"),
    "answered by itself": [
      { message: { id: "own", result: { outcome: { outcome: "selected", optionId: "yes" } } } },
      { ...question({ kind: "read", locations: [{ path: at(".env") }] }), id: "own" } as Step,
    ],
    "with the id of its own prompt": { ...question(run), id: 3 } as Step,
    once: question(run),
  };
  let attacked: Attacked;
  before(async () => {
    attacked = await attack(steps, true);
  });
  const expected: Record<string, string | undefined> = {
    "only always": "cancelled",
    "always or not at all": "no",
    "once with the id of always": "cancelled",
    "a kind that is not known": "cancelled",
    "options that are no list": "cancelled",
    "for another session": "cancelled",
    "answered by itself": "no",
    "with the id of its own prompt": "yes",
    once: "yes",
  };
  for (const [name, answer] of Object.entries(expected)) {
    test(`B6.4: a question ${name} gets the answer ${answer}`, () => {
      const { outcome, optionId } = attacked.answers[name]?.outcome ?? {};
      assert.equal(optionId ?? outcome, answer);
    });
  }

  test("B6.4: the question for another session was not put to the person", () => {
    assert.equal(attacked.asked.length, 7);
  });
});

suite("B6.5: the words of an agent about itself", () => {
  const call = (fields: object): Step => ({
    update: { sessionUpdate: "tool_call", toolCallId: "t", title: "t", ...fields },
  });
  const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
  const nested = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$S","update":{"sessionUpdate":"tool_call","toolCallId":"deep","title":"deep","rawInput":${deep}}}}`;
  let attacked: Attacked;
  let recorded: EventOf<"outside-call">[];
  before(async () => {
    attacked = await attack({
      giant: call({ toolCallId: "g", title: "x".repeat(1_000_000), rawInput: { text: "y".repeat(1_000_000) } }),
      codes: call({
        toolCallId: "e",
        title: "\u001b]52;c;ZXZpbA==\u0007\u001b[2Jred\nblue\u202e",
        kind: "\u001b[31mexecute",
        name: "a\rb",
      }),
      deep: { line: nested },
      keys: {
        line: '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$S","update":{"sessionUpdate":"tool_call","toolCallId":"p","title":"p","rawInput":{"__proto__":{"polluted":true}}}}}',
      },
      ended: [
        {
          update: {
            sessionUpdate: "tool_call_update",
            toolCallId: "g",
            status: "completed",
            rawOutput: "z".repeat(500_000),
          },
        },
        { update: { sessionUpdate: "tool_call_update", toolCallId: "g", status: "failed", rawOutput: "again" } },
      ],
      others: [
        {
          message: {
            method: "session/update",
            params: {
              sessionId: "s999",
              update: { sessionUpdate: "tool_call", toolCallId: "o", title: "of another session" },
            },
          },
        },
        { message: { method: "session/close", params: { sessionId: "$S" } } },
      ],
      flood: Array.from({ length: 2500 }, (_, n) => call({ toolCallId: `f${n}`, title: "flood", status: "completed" })),
      requests: [
        ask("elicitation/create", { mode: "url", url: "https://evil.test/?$(id)" }),
        ask("session/new", { cwd: "/" }),
        ask("terminal/no_such", {}),
      ],
    });
    recorded = attacked.events.filter((event): event is EventOf<"outside-call"> => event.type === "outside-call");
  });

  test("B6.5: giant titles, inputs and outputs are recorded in part", () => {
    const longest = Math.max(...recorded.map((event) => JSON.stringify(event).length));
    assert.ok(longest < 12_000, `${longest}`);
    assert.ok(recorded.every(({ title }) => title.length <= 200));
  });

  test("B6.5: codes of terminals, line breaks and direction marks are not in what is recorded", () => {
    const strange = recorded.find(({ title }) => title.includes("red"));
    assert.deepEqual([strange?.title, strange?.kind, strange?.name], ["red blue", "execute", "a b"]);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they must not be there.
    assert.ok(!/[\u0007\u001b\u202e]/.test(recorded.map(({ title, name, kind }) => title + name + kind).join("")));
  });

  test("B6.5: a call ends once, and every call that began has an end", () => {
    const ids = (phase: string) => recorded.filter((event) => event.phase === phase).map(({ callId }) => callId);
    assert.deepEqual(ids("start").sort(), ids("end").sort());
    assert.equal(new Set(ids("start")).size, ids("start").length);
  });

  test("B6.5: a flood of calls is cut, deep values and strange keys do no harm", () => {
    assert.ok(recorded.length <= 4000, `${recorded.length}`);
    assert.equal(({} as { polluted?: boolean }).polluted, undefined);
    assert.equal(attacked.result.status, "completed");
  });

  test("B6.6: the words of an agent for another session are not recorded", () => {
    assert.ok(!recorded.some(({ title }) => title === "of another session"));
  });

  test("B6.4: requests that were not offered are refused", () => {
    assert.equal(attacked.answers.requests?.error?.code, -32601);
  });
});

suite("B6.4: an agent that changes the rules of the game", () => {
  test("B6.4: an agent that switches to a mode without questions is stopped", async () => {
    const steps = script(
      { update: { sessionUpdate: "current_mode_update", currentModeId: "bypassPermissions" } },
      { until: "cancel" },
    );
    const runtime = createRuntime({ host: { cwd: work } });
    const { status, error } = await runtime.run(
      agent({ name: "x", model: externalModel(client.externalAgent()) }),
      steps,
    ).result;
    assert.equal(status, "failed");
    assert.match(error?.message ?? "", /is in its mode bypassPermissions, which does not ask all questions/);
  });

  test("B6.1: a flood of questions is answered with an error beyond 64, and the person is asked no more than that", async () => {
    let asked = 0;
    await using own = createAcpClient({ servers: { bad: badServer() }, cwd: work, deadlines: PATIENT });
    const answered = Promise.withResolvers<boolean>();
    own.setPermissionPolicy(() => {
      asked += 1;
      return answered.promise;
    });
    const asking: Step = {
      asking: "session/request_permission",
      params: { sessionId: "$S", toolCall: { toolCallId: "c" }, options: ONCE },
    };
    // No question is answered before all of them have arrived, which the thought behind them shows.
    const thought: Step = { update: { sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "all" } } };
    const steps = script(...Array<Step>(300).fill(asking), thought, { until: "answers" }, { tell: "answers" });
    let content = "";
    for await (const piece of own.generateStream(steps)) {
      if (piece.type === "thought") answered.resolve(false);
      if (piece.type === "result") content = piece.result.content;
    }
    const answers: Answer[] = JSON.parse(content);
    assert.equal(answers.length, 300);
    const refused = answers.filter(({ error }) => error?.message === "Too many requests at once");
    assert.deepEqual([asked, refused.length], [64, 300 - 64]);
    assert.ok(answers.every(({ outcome }) => outcome?.optionId !== "yes"));
  });

  test("B6.6: two sessions of one process cannot have the same id", async () => {
    await using own = createAcpClient({
      servers: { bad: badServer({ sessionId: "same" }) },
      cwd: work,
      deadlines: PATIENT,
    });
    await own.newSession();
    await assert.rejects(own.newSession(), /gave the same id to two sessions/);
  });

  test("B6.4: after the cancel every question is answered with cancelled, and no tool runs", async () => {
    await using own = createAcpClient({ servers: { bad: badServer() }, cwd: work, deadlines: PATIENT });
    const stop = new AbortController();
    let asked = 0;
    own.setPermissionPolicy(() => {
      asked += 1;
      stop.abort();
      return new Promise(() => {});
    });
    const steps = script(
      question({}),
      { until: "cancel" },
      question({}),
      ask("fs/read_text_file", { path: at("src/inside.txt") }),
      { tell: "answers" },
    );
    const { content, stop: ending } = await own.generate(steps, { signal: stop.signal });
    assert.deepEqual([asked, ending], [1, "cancelled"]);
    const [first, second, third]: Answer[] = JSON.parse(content);
    assert.deepEqual([first?.outcome, second?.outcome], [{ outcome: "cancelled" }, { outcome: "cancelled" }]);
    assert.equal(third?.error?.code, -32601);
  });
});

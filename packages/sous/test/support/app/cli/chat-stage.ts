/** A chat on a headless screen in this process: the real chat, runtime and tools; the model is scripted. */

import type { Application } from "../../../../src/app/cli/application/open.ts";
import { InteractiveChat } from "../../../../src/app/cli/chat/interactive-chat.ts";
import { KeyDecoder } from "../../../../src/app/cli/chat/keys.ts";
import { Questions } from "../../../../src/app/cli/chat/questions.ts";
import { chooseStyle } from "../../../../src/app/cli/terminal/style.ts";
import { agent } from "../../../../src/core/agent.ts";
import type { Clock } from "../../../../src/core/clock.ts";
import type { PermissionRule } from "../../../../src/core/configuration.ts";
import { UserError } from "../../../../src/core/errors.ts";
import type { Programs } from "../../../../src/core/process.ts";
import type { RunOptions } from "../../../../src/core/runtime.ts";
import { NO_OWNER, type Store } from "../../../../src/core/store.ts";
import type { Tool } from "../../../../src/core/tool.ts";
import type { Price } from "../../../../src/core/usage.ts";
import { systemHost } from "../../../../src/machine/host.ts";
import { describeAction } from "../../../../src/runtime/rights/action-text.ts";
import { createRuntime } from "../../../../src/runtime.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { type ScriptedModel, scriptedModel } from "../../../../src/testing/scripted-model.ts";
import type { Script } from "../../../../src/testing/steps.ts";
import { DEFAULT_CONFIGURATION } from "../config/default-configuration.ts";
import { HeadlessScreen } from "./headless-screen.ts";

export type StageOptions = {
  tools?: readonly Tool[];
  agents?: Application["agents"];
  columns?: number;
  rows?: number;
  runOptions?: Pick<RunOptions, "budget" | "limits">;
  cwd?: string;
  /** With what another process has left behind. */
  store?: Store;
  price?: Price;
  /** What a script waits on with `after`; the machine's when unset. */
  modelClock?: Clock;
  /** What was cut off is asked for again soon: the runtime waits for a small part of the seconds that it says. */
  retriesSoon?: boolean;
  /** Time that questions measure passes only with `pause`, however busy the machine is. */
  isTimeStopped?: boolean;
};

export type Stage = AsyncDisposable & {
  screen: HeadlessScreen;
  chat: InteractiveChat;
  model: ScriptedModel;
  application: Application;
  remembered: { rule: PermissionRule; agentName: string }[];
  kept: string[];
  type(keys: string): void;
  /** Lets time pass for the questions: nobody has typed for a while. */
  pause(milliseconds?: number): void;
};

/** An application without files, network and configuration. */
function scriptedApplication(
  script: Script,
  {
    tools = [],
    agents = [],
    runOptions = {},
    cwd = "/",
    modelClock,
    retriesSoon = false,
    store = openMemoryStore(),
    price = { input: 0, output: 0 },
    clock,
    ask,
  }: StageOptions & { clock: Clock; ask: Questions["ask"] },
): { application: Application; model: ScriptedModel; remembered: Stage["remembered"] } {
  const remembered: Stage["remembered"] = [];
  const model = scriptedModel(script, { price, clock: modelClock ?? clock });
  const host = { ...systemHost({ cwd, environment: {} }), clock: retriesSoon ? hurried(clock) : clock };
  const limits = { maxDepth: 3, ...runOptions.limits };
  const application: Application = {
    configuration: DEFAULT_CONFIGURATION,
    runtime: createRuntime({ host, store, approve: ask, agents, limits }),
    clock,
    agent: agent({ name: "sous", model, tools, delegate: true }),
    tools,
    agents,
    rootNames: [],
    runOptions,
    store,
    programs: PROGRAMS,
    commands: { end: async () => {}, moveTo: () => {} },
    async checkModel(name) {
      if (name.startsWith("none/")) throw new UserError(`No model provider is called "none"`);
    },
    describe: (request) => describeAction(request, { width: Number.POSITIVE_INFINITY }),
    remember: (rule, request) => void remembered.push({ rule, agentName: request.agent }),
    ruleOn: () => undefined,
    async [Symbol.asyncDispose]() {},
  };
  return { application, model, remembered };
}

/** Limits of time are longer than any pause before another attempt, and stay as they are. */
function hurried(clock: Clock): Clock {
  const timer: Clock["timer"] = (milliseconds, ...rest) =>
    clock.timer(milliseconds < 10_000 ? milliseconds / 50 : milliseconds, ...rest);
  return { ...clock, timer };
}

export function openStage(script: Script, options: StageOptions = {}): Stage {
  const { columns = 100, rows = 30, cwd = "/" } = options;
  const screen = new HeadlessScreen(columns, rows);
  let chat: InteractiveChat | undefined;
  let ahead = 0;
  const { clock: machine } = systemHost();
  // Whole milliseconds: with fractions a difference of exactly the shortest time can come out below it.
  const begun = Math.round(machine.monotonic());
  const clock: Clock = {
    ...machine,
    monotonic: () => (options.isTimeStopped ? begun : machine.monotonic()) + ahead,
  };
  const questions = new Questions(
    (request) => application.describe(request),
    () => chat?.onQuestion(),
  );
  const { application, model, remembered } = scriptedApplication(script, { ...options, clock, ask: questions.ask });
  const kept: string[] = [];
  chat = new InteractiveChat({
    application,
    screen,
    style: chooseStyle({ color: "auto", isAscii: false, isTerminal: true, env: {} }),
    cwd,
    history: { entries: [], add: async (line) => void kept.push(line) },
    questions,
  });
  const decoder = new KeyDecoder();
  const opened = chat;
  opened.refresh();
  return {
    screen,
    chat: opened,
    model,
    application,
    remembered,
    kept,
    type(keys) {
      for (const key of [...decoder.feed(Buffer.from(keys)), ...decoder.flush()]) opened.onKey(key);
    },
    pause(milliseconds = 1000) {
      ahead += milliseconds;
    },
    async [Symbol.asyncDispose]() {
      opened.quit();
      await opened.chat.conversation.settled;
      opened[Symbol.dispose]();
      screen[Symbol.dispose]();
    },
  };
}

/** What is left of these trees when their process is killed now. */
export async function afterCrash(store: Store): Promise<Store> {
  const left = openMemoryStore();
  const rootIds = new Set((await store.list({ rootsOnly: true })).map(({ rootId }) => rootId));
  for (const rootId of rootIds) await left.append(rootId, await store.read(rootId), NO_OWNER);
  return left;
}

/** What differs from run to run: times, and how far a spinner has turned. */
export function steady(text: string): string[] {
  return (
    text
      .replace(/[◐◓◑◒]/g, "◐")
      // From ten seconds on there are no tenths, and what stands on the right is one column further to the right.
      .replace(/(?<= ) (?=\d\ds\b)/g, "")
      .replace(/\b\d\ds\b/g, "#.#s")
      .replace(/\d\.(?:\ds|…)/g, (time) => `#.${time.endsWith("s") ? "#s" : "…"}`)
      .replace(/\b[0-9A-HJKMNP-TV-Z]{26}\b/g, "ID")
      .split("\n")
      .map((line) => line.trimEnd())
  );
}

/** Programs that only say that they ran. */
const PROGRAMS: Programs = {
  run: async ({ args }) => ({
    exitCode: 0,
    endedBy: null,
    stopped: undefined,
    output: { head: `ran ${args.at(-1)}\n`, tail: "", droppedBytes: 0 },
    durationMs: 1,
  }),
  start: () => Promise.reject(new Error("nothing is started here")),
  talk: () => Promise.reject(new Error("nothing is talked to here")),
  find: async () => undefined,
  async [Symbol.asyncDispose]() {},
};

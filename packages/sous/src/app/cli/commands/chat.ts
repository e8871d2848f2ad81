/** `sous chat`, also `sous` alone: a conversation in the terminal, or one message a line through a pipe. */

import { createInterface } from "node:readline";
import { MissingKey } from "../../../core/errors.ts";
import type { RunResult } from "../../../core/runtime.ts";
import type { RunRecord } from "../../../core/store.ts";
import { systemClock } from "../../../machine/host.ts";
import { type Application, openApplication } from "../application/open.ts";
import { ROOT_NAME } from "../application/root.ts";
import type { ApplicationRequest } from "../application/settings.ts";
import type { Chat } from "../chat/chat.ts";
import { askFirstRun, keyLines } from "../chat/first-run.ts";
import { InteractiveChat } from "../chat/interactive-chat.ts";
import { LineAnswers, plainChat } from "../chat/plain-chat.ts";
import { type History, openHistory } from "../chat/prompt-line.ts";
import { Questions } from "../chat/questions.ts";
import { findConversation, listChats } from "../chat/stored-conversation.ts";
import { openTerminal } from "../chat/terminal.ts";
import { EXIT, usageError } from "../exit-codes.ts";
import { processContext, thisFolder, userFileIfAny } from "../files/paths.ts";
import { openRunLog, openScreenLog, type RunLogOptions } from "../run/log.ts";
import { progressStyle } from "../run/watch.ts";
import { databaseFlags, findDatabase, openRuns, sameDatabase } from "../stored/database.ts";
import { findToRead, isElsewhere } from "../stored/find-run.ts";
import { readOnlyOptions } from "../table/options.ts";
import { CHAT } from "../table/run-entries.ts";
import { type RunFlags, readRunFlags } from "../table/run-flags.ts";
import { catchInterrupts, openUnlessInterrupted } from "../terminal/interrupts.ts";
import { type Display, type Output, openOutput, tell, tellWhole } from "../terminal/output.ts";
import { plural } from "../terminal/text.ts";

type ChatRequest = {
  flags: RunFlags;
  display: Display;
  /** The conversation to continue, or `list` to choose one. */
  earlier: string | undefined;
  /** A conversation of another folder continues in this one. */
  isHere: boolean;
  logFile: string | undefined;
};

export async function chat(parameters: readonly string[]): Promise<number> {
  const values = readOnlyOptions(CHAT, withList(parameters), ' One task without a conversation is sous run "TASK".');
  if (values.continue && values.resume !== undefined)
    throw usageError("--continue is the newest conversation, --resume another: give one of them");
  if (values.here && !values.continue && values.resume === undefined)
    throw usageError("--here is about an earlier conversation: give --continue or --resume ID with it");
  const request = await withItsAgent({
    flags: readRunFlags(values),
    display: values,
    earlier: values.resume ?? (values.continue ? "last" : undefined),
    isHere: values.here,
    logFile: values["log-file"],
  });
  const output = openOutput(process.stdout, request.display);
  const isLive = process.stdin.isTTY === true && output.style.isLive;
  return isLive ? chatInTerminal(request, output) : chatInLines(request, output);
}

/** A conversation that is named by its id continues with the agent it was with. */
async function withItsAgent(request: ChatRequest): Promise<ChatRequest> {
  const { earlier, flags } = request;
  if (flags.agent !== undefined || flags.storage.isEphemeral || !/^\w{6,}$/.test(earlier ?? "")) return request;
  await using store = await openRuns(await findDatabase(databaseFlags(flags), processContext()), "read").catch(
    () => undefined,
  );
  const found = store && (await findToRead(store, earlier ?? "").catch(() => undefined));
  if (found === undefined || found.agent === ROOT_NAME) return request;
  return { ...request, flags: { ...flags, agent: found.agent } };
}

/** Alone, `--resume` is `--resume list`. */
function withList(parameters: readonly string[]): string[] {
  return parameters.map((each, index) => {
    const next = parameters[index + 1];
    return each === "--resume" && (next === undefined || next.startsWith("-")) ? `--resume=${LIST}` : each;
  });
}

const LIST = "list";

/** Exit codes of a chat that a signal or the end of input has ended. */
const END_CODES = { SIGTERM: 143, SIGHUP: 129, end: EXIT.ok } as const;

async function chatInTerminal(request: ChatRequest, output: Output): Promise<number> {
  let chatting: InteractiveChat | undefined;
  const questions = new Questions(
    (asked) => application.describe(asked),
    () => chatting?.onQuestion(),
  );
  const warnings: string[] = [];
  const warn = (line: string) => (chatting === undefined ? warnings.push(line) : chatting.say([line]));
  const opened = await openOrExplain(request, output, { ask: questions.ask, warn });
  if (typeof opened === "number") return opened;
  await using application = opened;
  using log = await openScreenLog(logOptions(request, application), request.flags, warn);
  const earlier = await findEarlier(application, request);
  const { style } = output;
  const parts = { application, log, screen: process.stdout, style, cwd: process.cwd(), questions };
  const history = await historyOf(request.flags);
  let exitCode: number = EXIT.ok;
  using _terminal = openTerminal(process.stdin, process.stdout, application.clock, {
    onKey: (key) => chatting?.onKey(key),
    onResize: () => chatting?.refresh(),
    onSuspend: () => chatting?.clear(),
    onEnd(reason) {
      exitCode = END_CODES[reason];
      chatting?.quit();
    },
  });
  using interactive = new InteractiveChat({ ...parts, history });
  chatting = interactive;
  interactive.say([...warnings, greeting(application)]);
  if (earlier === LIST) void interactive.choose();
  else if (earlier !== undefined) void interactive.continueWith(earlier);
  await interactive.ended;
  await interactive.chat.settled();
  const { runId } = interactive.chat.conversation;
  const stored = runId === undefined ? undefined : await application.store?.run(runId);
  if (stored !== undefined) {
    const here = isElsewhere(stored, thisFolder()) ? " --here" : "";
    interactive.say([
      `To continue: sous chat --resume ${stored.id}${here}${sameDatabase(databaseFlags(request.flags))}`,
    ]);
  }
  return exitCode;
}

function logOptions({ logFile: file }: ChatRequest, { configuration }: Application): Omit<RunLogOptions, "flags"> {
  return { file, env: process.env, enabled: configuration.agent.subagent.telemetryEnabled };
}

function greeting({ agent, agents }: Application): string {
  const model = typeof agent.model === "string" ? agent.model : "";
  const who = agent.name === ROOT_NAME ? "" : `, as ${agent.name}`;
  const named = agents.length === 0 ? "" : `, ${plural(agents.length, "agent")}`;
  return `sous  ${model}${who}${named}  /help lists what can be typed`;
}

/** Without a model a person at a terminal is shown what can be done; the number is the code to end with. */
async function openOrExplain(
  { flags, logFile }: ChatRequest,
  output: Output,
  answers: Pick<ApplicationRequest, "ask" | "warn">,
): Promise<Application | number> {
  try {
    return await openApplication({ flags, ...processContext(), optionFiles: [logFile], ...answers });
  } catch (error) {
    if (!(error instanceof MissingKey)) throw error;
    return firstRun(error.message, output);
  }
}

async function firstRun(reason: string, output: Output): Promise<number> {
  const clock = systemClock;
  let leaveCode: number = EXIT.ok;
  const chosen = await (async () => {
    const asked = askFirstRun({ screen: process.stdout, clock, style: output.style, reason });
    using live = asked.live;
    using _terminal = openTerminal(process.stdin, process.stdout, clock, {
      onKey: asked.onKey,
      onResize: () => live.refresh(),
      onSuspend: () => live.clear(),
      onEnd(reason) {
        leaveCode = END_CODES[reason];
        asked.onKey({ type: "key", name: "end-of-input" });
      },
    });
    return await asked.chosen;
  })();
  if (chosen === "leave") return leaveCode;
  if (chosen === "key") {
    output.print(keyLines(process.env));
    return EXIT.key;
  }
  return (await import("./demo.ts")).demo([]);
}

function historyOf({ storage }: RunFlags): Promise<History> {
  return openHistory(storage.isEphemeral ? undefined : userFileIfAny("state", "chat-history", process.env));
}

async function findEarlier(
  { store, agent }: Application,
  request: ChatRequest,
): Promise<RunRecord | typeof LIST | undefined> {
  const { earlier: given, isHere } = request;
  if (given === undefined) return undefined;
  if (store === undefined) throw usageError("--ephemeral stores nothing, so there is nothing to continue");
  if (given === LIST) return LIST;
  const cwd = thisFolder();
  return findConversation(store, given, await listChats(store, cwd, agent.name), {
    cwd,
    agent: agent.name,
    elsewhere: isHere ? "take" : "refuse",
    takenBy: (id) => `sous chat --resume ${id} --here${sameDatabase(databaseFlags(request.flags))}`,
  });
}

async function chatInLines(request: ChatRequest, output: Output): Promise<number> {
  using interrupts = catchInterrupts({ wrapsUp: true });
  const reader = createInterface({ input: process.stdin, terminal: false });
  const lines = new LineAnswers({ reader, clock: systemClock, tell, tellWhole });
  const isPerson = process.stdin.isTTY === true;
  const { flags, logFile } = request;
  try {
    const questions = new Questions(
      (asked) => application.describe(asked),
      () => void lines.answer(questions),
    );
    const stop = AbortSignal.any([interrupts.signal, interrupts.wrapUp]);
    const opening = openApplication({
      flags,
      ...processContext(),
      ask: isPerson ? questions.ask : undefined,
      optionFiles: [logFile],
      signal: stop,
      warn: tell,
    });
    await using application = await openUnlessInterrupted(opening, interrupts);
    using log = await openRunLog({ flags: flags.log, ...logOptions(request, application) });
    const earlier = await findEarlier(application, request);
    const shown = openOutput(process.stderr, request.display);
    const progress = progressStyle(shown.style, flags.log, log) === undefined ? undefined : shown;
    const begin = async (chat: Chat): Promise<RunResult | undefined> => {
      if (earlier !== undefined && earlier !== LIST) return chat.continueWith(earlier);
      if (earlier === LIST) await chat.list();
      return undefined;
    };
    await plainChat({ application, log, output, progress, cwd: process.cwd(), lines, begin, stop }, (chat) => {
      const end = (mode: "last-words" | "stop") => () => {
        chat.cancelAll(mode);
        chat.stopShell();
        reader.close();
      };
      interrupts.wrapUp.addEventListener("abort", end("last-words"), { once: true });
      interrupts.signal.addEventListener("abort", end("stop"), { once: true });
    });
  } finally {
    reader.close();
    process.stdin.destroy();
  }
  return interrupts.reason() === undefined ? EXIT.ok : interrupts.exitCode();
}

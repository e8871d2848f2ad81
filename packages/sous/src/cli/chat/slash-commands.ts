/** What can be typed with a slash: each says something about the conversation, or changes how it goes on. */

import { nearest } from "../../core/nearest.ts";
import type { RunResult } from "../../core/runtime.ts";
import type { RunRecord } from "../../core/store.ts";
import type { Application } from "../application.ts";
import { exportFile } from "../assemble.ts";
import { CommandError } from "../exit-codes.ts";
import { findRun } from "../find-run.ts";
import { inertLine } from "../inert.ts";
import { listLines } from "../list-lines.ts";
import { isThere } from "../open-runs.ts";
import type { Style } from "../style.ts";
import { treeLines } from "../tree.ts";
import { cutToWidth } from "../width.ts";
import { writePrivate } from "../write-private.ts";
import type { Conversation } from "./conversation.ts";
import { agentLines, budgetLines, costLines, statusLines, toolLines } from "./facts.ts";
import type { Transcript } from "./transcript.ts";

/** What a command works on. */
export type CommandScene = {
  application: Application;
  conversation: Conversation;
  transcript: Transcript;
  style: Style;
  columns: number;
  say(lines: readonly string[]): void;
};

type Command = {
  about: string;
  /** It can be given while a run is live. */
  isAlways?: boolean;
  run(parameter: string, scene: CommandScene): unknown;
};

/** True when the chat is to end. Throws a `CommandError` when the command cannot be done. */
export async function runSlashCommand(name: string, parameter: string, scene: CommandScene): Promise<boolean> {
  if (name === "quit" || name === "exit") return true;
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    const meant = nearest(name, COMMAND_NAMES);
    const hint = meant === undefined ? "/help lists them." : `Did you mean /${meant}?`;
    throw new CommandError(`There is no command /${inertLine(name, 40)}. ${hint}`);
  }
  if (scene.conversation.isLive && command.isAlways !== true)
    throw new CommandError(`/${name} has to wait until the run has ended; Ctrl-C wraps it up`);
  await command.run(parameter, scene);
  return false;
}

const LISTED = 10;

const COMMANDS: Readonly<Record<string, Command>> = {
  help: {
    about: "this list",
    isAlways: true,
    run: (_, { say, columns, style }) => say(helpLines(columns, style.glyphs.more)),
  },
  model: {
    about: "which model; /model provider/model takes another from the next message on",
    isAlways: true,
    run: chooseModel,
  },
  tools: {
    about: "what the agent may use",
    isAlways: true,
    run: (_, { conversation, application, say, columns, style }) =>
      say(toolLines(conversation.agent, application, columns, style)),
  },
  agents: {
    about: "agents that can be called by name",
    isAlways: true,
    run: (_, { application, say, columns, style }) => say(agentLines(application, columns, style)),
  },
  tree: {
    about: "all runs of this conversation, with turns, tools, tokens and time",
    isAlways: true,
    run: (_, { transcript, say, columns, style }) =>
      say(transcript.tree.roots.length === 0 ? [NOTHING_YET] : treeLines(transcript.tree, columns, style)),
  },
  cost: {
    about: "what this conversation has used",
    isAlways: true,
    run: (_, { application, transcript: { tree }, say, columns, style }) =>
      say(tree.roots.length === 0 ? [NOTHING_YET] : costLines(tree, application.clock.now(), columns, style)),
  },
  budget: {
    about: "every limit and what is left of it; /budget +TOKENS allows more",
    isAlways: true,
    run: showBudget,
  },
  status: {
    about: "the model, the run, what is used and every limit",
    isAlways: true,
    run: (_, { application, conversation, transcript, say, columns, style }) =>
      say(statusLines(application, conversation, transcript.tree, columns, style)),
  },
  resume: { about: "earlier conversations; /resume ID goes on with one", run: resume },
  new: {
    about: "forget this conversation and begin another",
    run: async (_, { conversation, say }) => {
      await conversation.endCommands();
      conversation.startNew();
      say(["A new conversation."]);
    },
  },
  fork: { about: "go on in a copy; /fork TURN behind an earlier turn", run: fork },
  compact: { about: "let the agent sum up, and go on from the summary", run: compact },
  export: { about: "/export FILE writes this conversation: .md, .html or .json", isAlways: true, run: exportTo },
  quit: { about: "leave; so does Ctrl-D", isAlways: true, run: () => {} },
};

export const COMMAND_NAMES: readonly string[] = Object.keys(COMMANDS);
const NOTHING_YET = "Nothing has run yet.";

function helpLines(columns: number, mark: string): string[] {
  const rows: [string, string][] = [
    ...Object.entries(COMMANDS).map(([name, { about }]): [string, string] => [`/${name}`, about]),
    ["@agent TASK", "hand a task to a named agent"],
    ["@file", "attach a file of this folder; @./file in any case"],
    ["!COMMAND", "run a shell line; the agent sees its output"],
    ["Alt-Enter, \\", "a new line; Enter sends"],
    ["Ctrl-C", "clear the line; while a run is live: wrap up, then stop"],
    ["Ctrl-O", "more or less detail"],
    ["Ctrl-Z", "back to the shell for a while; fg comes back"],
    ["Up, Down", "history; while children work: choose one to steer, wrap up or stop"],
  ];
  return rows.map(([name, about]) => cutToWidth(`  ${name.padEnd(14)}${about}`, columns, mark));
}

async function chooseModel(parameter: string, { application, conversation, say }: CommandScene): Promise<void> {
  const { agent, runId } = conversation;
  const name = typeof agent.model === "string" ? agent.model : "a model given in code";
  if (parameter === "") {
    say([`The model is ${inertLine(name, 200)}.`]);
    return;
  }
  if (!/^[\w.-]+\/\S+$/.test(parameter)) throw new CommandError("A model is named provider/model");
  if (conversation.isLive) throw new CommandError("The model can be changed when the run has ended");
  await application.checkModel(parameter);
  conversation.agent = agent.with({ model: parameter });
  // Another model goes on in a copy: what the first one said stays its own.
  if (runId !== undefined) conversation.forkFrom(runId, undefined);
  say([`From the next message on the model is ${inertLine(parameter, 200)}.`]);
}

function showBudget(parameter: string, { application, conversation, transcript, say, columns }: CommandScene): void {
  if (parameter === "") {
    say(budgetLines(application, conversation, transcript.tree, columns));
    return;
  }
  if (!mayHaveTokenLimit(application, conversation))
    throw new CommandError("There is no limit of tokens that could be raised; sous chat --max-tokens-total N sets one");
  if (conversation.isLive) throw new CommandError("The budget can be raised when the run has ended");
  if (!/^\+?[1-9]\d{0,14}$/.test(parameter))
    throw new CommandError("/budget takes a number of tokens, such as /budget +20000");
  const more = Number(parameter);
  if (conversation.isCopying)
    throw new CommandError("The copy has a budget of its own, which can be raised after its first message");
  if (!conversation.addTokens(more)) throw new CommandError("Nothing has been spent yet; /budget shows the limits");
  const ifLimited = conversation.keepsEarlierLimits ? ", if the earlier conversation has a limit of tokens" : "";
  say([`The next message may spend ${conversation.moreTokens} tokens more${ifLimited}.`]);
}

/** The limits of a conversation that continues are those it began with, not those of the flags. */
function mayHaveTokenLimit({ runOptions }: Application, conversation: Conversation): boolean {
  if (conversation.keepsEarlierLimits) return true;
  const limits = conversation.spending()?.limits;
  if (limits === undefined) return runOptions.budget?.tokens !== undefined;
  return limits.some(({ of, unit }) => of === "tree" && unit === "tokens");
}

async function resume(parameter: string, scene: CommandScene): Promise<void> {
  const { application, conversation, say, columns, style } = scene;
  const { store } = application;
  if (store === undefined) throw new CommandError("Nothing is kept here, so there is nothing to go on with");
  if (parameter === "") {
    const records = await store.list({ rootsOnly: true, limit: LISTED });
    if (records.length === 0) return say(["No conversation is kept yet."]);
    return say([...listLines(records, columns, style), "/resume ID goes on with one of them."]);
  }
  const record = await findRun(store, parameter);
  await goOnWith(record, conversation, say);
}

/** What was interrupted goes on at once; what had ended waits for a message. */
export async function goOnWith(
  record: RunRecord,
  conversation: Conversation,
  say: CommandScene["say"],
): Promise<RunResult | undefined> {
  const { id, rootId, status } = record;
  if (record.parentId !== null)
    throw new CommandError(`${inertLine(id, 60)} is a child; go on with its root: /resume ${inertLine(rootId, 60)}`);
  if (status === "running") throw new CommandError(`Another process works on ${inertLine(id, 60)}`);
  await conversation.endCommands();
  say([`Going on with: ${inertLine(record.task, 200)}`]);
  if (status === "interrupted") return conversation.goOn(id);
  conversation.resumeFrom(id);
  return undefined;
}

function fork(parameter: string, { conversation, say }: CommandScene): void {
  const { runId } = conversation;
  if (runId === undefined) throw new CommandError("Nothing has been said yet that a copy could go on from");
  if (!/^\d{0,9}$/.test(parameter)) throw new CommandError("/fork takes the number of a turn, such as /fork 2");
  const at = parameter === "" ? undefined : Number(parameter);
  conversation.forkFrom(runId, at);
  say([`The next message goes to a copy${at === undefined ? "" : ` behind turn ${at}`}.`]);
}

const SUM_UP =
  "Sum up this conversation for somebody who goes on with it and has not read it: what was asked, what was found and decided, which files matter, and what is still to do. Use no tools.";

async function compact(_: string, { conversation, say }: CommandScene): Promise<void> {
  if (conversation.runId === undefined) throw new CommandError("Nothing has been said yet that could be summed up");
  const result = await conversation.say(SUM_UP);
  if (result.status !== "completed" || result.text.trim() === "")
    throw new CommandError("There is no summary, so the conversation stays as it is");
  conversation.startNew();
  conversation.add(`A summary of our conversation so far:\n\n${result.text}`);
  say(["The conversation goes on from this summary."]);
}

async function exportTo(parameter: string, { application, conversation, say }: CommandScene): Promise<void> {
  const { store } = application;
  const { runId } = conversation;
  if (store === undefined) throw new CommandError("Nothing is kept here, so there is nothing to export");
  const [, ending] = /\.(md|html|json)$/.exec(parameter) ?? [];
  if (ending === undefined) throw new CommandError("/export takes a file whose name ends in .md, .html or .json");
  const record = runId === undefined ? undefined : await store.run(runId);
  if (record === undefined) throw new CommandError("Nothing has been kept yet that could be exported");
  if (isThere(parameter)) throw new CommandError(`${inertLine(parameter, 200)} is there already: give another name`);
  const format = ending === "md" || ending === "html" ? ending : "json";
  await writePrivate(parameter, await exportFile(store, record.rootId, format), false);
  say([`Written to ${inertLine(parameter, 200)}.`]);
}

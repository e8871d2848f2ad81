/** The slash commands: each says something about the conversation, or changes how it continues. */

import { nearest } from "../../../core/nearest.ts";
import type { RunResult } from "../../../core/runtime.ts";
import type { Application } from "../application/open.ts";
import { CommandError } from "../exit-codes.ts";
import { writePrivate } from "../files/file-access.ts";
import { isThere } from "../stored/database.ts";
import type { Style } from "../terminal/style.ts";
import { cutToWidth, inertLine } from "../terminal/text.ts";
import { treeLines } from "../view/tree-lines.ts";
import type { EarlierChats } from "./continue-conversation.ts";
import type { ChatConversation } from "./conversation.ts";
import { agentLines, budgetLines, costLines, statusLines, toolLines } from "./facts.ts";
import { raiseBudget } from "./raise-budget.ts";
import { conversationLines } from "./stored-conversation.ts";
import type { Transcript } from "./transcript.ts";

/** The parts that a command works on. */
export type CommandScene = {
  application: Application;
  conversation: ChatConversation;
  transcript: Transcript;
  style: Style;
  columns: number;
  say(lines: readonly string[]): void;
  /** Each throws a `CommandError` when there is no store. */
  earlier: Pick<EarlierChats, "list" | "find" | "continueWith">;
};

type Command = {
  about: string;
  /** It cannot be given while a run is live. */
  waits?: boolean;
  /** The result of a run that it has started. */
  run(parameter: string, scene: CommandScene): Outcome | Promise<Outcome>;
};

// biome-ignore lint/suspicious/noConfusingVoidType: most commands return nothing.
type Outcome = RunResult | undefined | void;

/** Throws a `CommandError` when the command cannot be done. */
export async function runSlashCommand(
  name: string,
  parameter: string,
  scene: CommandScene,
): Promise<RunResult | undefined> {
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    const meant = nearest(name, COMMAND_NAMES);
    const hint = meant === undefined ? "/help lists them." : `Did you mean /${meant}?`;
    throw new CommandError(`Unknown command /${inertLine(name, 40)}. ${hint}`);
  }
  if (scene.conversation.isLive && command.waits === true)
    throw new CommandError(`/${name} has to wait until the run has ended; Ctrl-C wraps it up`);
  return (await command.run(parameter, scene)) ?? undefined;
}

const COMMANDS: Readonly<Record<string, Command>> = {
  help: { about: "this list", run: (_, { say, columns, style }) => say(helpLines(columns, style.glyphs.more)) },
  model: { about: "which model; /model provider/model takes another from the next message on", run: chooseModel },
  tools: {
    about: "what the agent may use",
    run: (_, { conversation, application, say, columns, style }) =>
      say(toolLines(conversation.agent, application, columns, style)),
  },
  agents: { about: "agents that can be called by name", run: (_, scene) => scene.say(agentLines(scene)) },
  tree: {
    about: "all runs of this conversation, with turns, tools, tokens and time",
    run(_, { transcript: { tree, takings }, say, columns, style }) {
      const noteOf = (runId: string) => takings.wordsOf(runId);
      say(tree.roots.length === 0 ? [NOTHING_YET] : treeLines(tree, columns, style, { noteOf }));
    },
  },
  cost: {
    about: "what this conversation has used",
    run: (_, { application, transcript: { tree }, say, columns, style }) =>
      say(tree.roots.length === 0 ? [NOTHING_YET] : costLines(tree, application.clock.now(), columns, style)),
  },
  budget: { about: "every limit and what is left of it; /budget +$1 or +20k allows more", run: showBudget },
  status: {
    about: "the model, the run, what is used and every limit",
    run: (_, scene) => scene.say(statusLines(scene)),
  },
  resume: { about: "earlier conversations; /resume NUMBER, ID or last continues one", waits: true, run: resume },
  new: {
    about: "leave this conversation and begin another",
    waits: true,
    run: async (_, { conversation, transcript, say }) => {
      await conversation.endCommands();
      conversation.startNew();
      transcript.startOver([]);
      say(["A new conversation."]);
    },
  },
  fork: { about: "continue in a copy; /fork N in a copy that ends with message N", waits: true, run: fork },
  compact: { about: "let the agent sum up, and continue from the summary", waits: true, run: compact },
  export: { about: "/export FILE writes this conversation: .md, .html or .json", run: exportTo },
  quit: { about: "leave; so does Ctrl-D", run: () => {} },
};

export const COMMAND_NAMES: readonly string[] = Object.keys(COMMANDS);
const NOTHING_YET = "Nothing has run yet.";

/** Rows about everything that can be typed and pressed in a chat; the reference is made from them, too. */
export function helpRows(): [typed: string, about: string][] {
  return [
    ...Object.entries(COMMANDS).map(([name, { about }]): [string, string] => [`/${name}`, about]),
    ["@agent TASK", "hand a task to a named agent"],
    ["@file", "attach a file of this folder; @./file in any case"],
    ["!COMMAND", "run a shell line; the agent sees its output"],
    ["Alt-Enter, \\", "a new line; Enter sends"],
    ["Ctrl-C", "clear the line; while a run is live: wrap up, then stop"],
    ["Ctrl-O", "more or less detail"],
    ["y a n r", "answer a question; y and a count once its end was in sight"],
    ["v", "read a long question: Space b arrows Home End move, Esc closes"],
    ["Ctrl-Z", "back to the shell for a while; fg comes back"],
    ["Up, Down", "history; while children work: choose one to steer, wrap up or stop"],
  ];
}

function helpLines(columns: number, mark: string): string[] {
  return helpRows().map(([name, about]) => cutToWidth(`  ${name.padEnd(14)}${about}`, columns, mark));
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
  // Another model continues in a copy: what the first one said stays its own.
  if (runId !== undefined) conversation.forkFrom(runId);
  say([`From the next message on the model is ${inertLine(parameter, 200)}.`]);
}

function showBudget(parameter: string, scene: CommandScene): void {
  scene.say(parameter === "" ? budgetLines(scene) : [raiseBudget(parameter, scene.conversation)]);
}

async function resume(parameter: string, scene: CommandScene): Promise<RunResult | undefined> {
  if (parameter !== "") return scene.earlier.continueWith(await scene.earlier.find(parameter));
  await listEarlier(scene);
  return undefined;
}

/** False when there are none. */
export async function listEarlier({ conversation, earlier, say, columns, style }: CommandScene): Promise<boolean> {
  const list = await earlier.list();
  const how = "/resume NUMBER continues one of them; so does /resume ID.";
  const lines = conversationLines(list, conversation.rootId, columns, style);
  say(list.length === 0 ? ["No conversation is stored yet."] : [...lines, how]);
  return list.length > 0;
}

function fork(parameter: string, { conversation, say }: CommandScene): void {
  const { runId, messages } = conversation;
  if (runId === undefined) throw new CommandError("Nothing has been said yet that a copy could continue");
  if (parameter === "") {
    conversation.forkFrom(runId);
    say(["The next message goes to a copy."]);
    return;
  }
  const number = /^\d{1,9}$/.test(parameter) ? Number(parameter) : 0;
  const message = messages[number - 1];
  if (message === undefined)
    throw new CommandError(
      `/fork takes the number of a message, 1 to ${messages.length}; found ${inertLine(parameter, 40)}`,
    );
  conversation.forkFrom(message.runId);
  say([`The next message goes to a copy that ends with message ${number}: ${inertLine(message.text, 60)}`]);
}

const SUM_UP =
  "Sum up this conversation for someone who continues it and has not read it: what was asked, what was found and decided, which files matter, and what is still to do. Use no tools.";

async function compact(_: string, { conversation, say }: CommandScene): Promise<RunResult> {
  if (conversation.runId === undefined) throw new CommandError("Nothing has been said yet that could be summed up");
  const result = await conversation.say(SUM_UP, true);
  if (result.status !== "completed" || result.text.trim() === "")
    throw new CommandError("The agent gave no summary, so the conversation stays as it is");
  say(["The conversation continues from this summary."]);
  return result;
}

async function exportTo(parameter: string, { application, conversation, say }: CommandScene): Promise<void> {
  const { store } = application;
  const { runId } = conversation;
  if (store === undefined) throw new CommandError("Nothing is stored here, so there is nothing to export");
  const [, ending] = /\.(md|html|json)$/.exec(parameter) ?? [];
  if (ending === undefined) throw new CommandError("/export takes a file whose name ends in .md, .html or .json");
  const record = runId === undefined ? undefined : await store.run(runId);
  if (record === undefined) throw new CommandError("Nothing has been stored yet that could be exported");
  if (isThere(parameter)) throw new CommandError(`${inertLine(parameter, 200)} already exists: give another name`);
  const format = ending === "md" || ending === "html" ? ending : "json";
  const { exportTree } = await import("../../../storage/store/export/tree.ts");
  await writePrivate(parameter, await exportTree(store, record.rootId, format), false);
  say([`Written to ${inertLine(parameter, 200)}.`]);
}

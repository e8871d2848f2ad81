/** `sous agents import`: copies agent files of other programs into the user's own folder, where they keep their dialect. */

import { lstat, readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { checkPattern } from "../../../runtime/rights/rule-pattern.ts";
import type { AgentDialect, AgentFile, AgentProblem } from "../../config/agents/file.ts";
import type { AgentFolder } from "../../config/agents/folders.ts";
import { findAgentFiles } from "../../config/agents/load.ts";
import { readAgentFile } from "../../config/agents/read.ts";
import { userAgents } from "../application/project.ts";
import { CommandError, EXIT } from "../exit-codes.ts";
import { makePrivateFolder, writePrivate } from "../files/file-access.ts";
import { type ProcessContext, userFolder } from "../files/paths.ts";
import { type Output, personAtTerminal, printJson, tell } from "../terminal/output.ts";
import { inertLine, plural } from "../terminal/text.ts";
import { type AgentsRequest, agentLines } from "./agent-lines.ts";

/** One file, and what stands where it would go. */
type Copy = {
  readonly from: string;
  readonly to: string;
  /** The agent as it is read there; undefined when the file gives none. */
  readonly agent: AgentFile | undefined;
  readonly text: string;
  readonly state: "new" | "same" | "other";
};

/** `--yes` copies what is new without asking, and never replaces. */
export async function importAgents(context: ProcessContext, { values, output }: AgentsRequest): Promise<number> {
  const { from, yes: isYes, json: isJson } = values;
  const folders = foldersOf(context, from);
  const problems: AgentProblem[] = [];
  const copies = await plan(folders, userAgents(context), problems);
  for (const { file, message } of problems) tell(`warning: ${inertLine(file, 1000)}: ${inertLine(message, 300)}`);
  const fresh = copies.filter(({ state }) => state === "new");
  const others = copies.filter(({ state }) => state === "other");
  if (!isJson) show(copies, folders, output);
  const isAgreed = fresh.length === 0 || isYes || (await agrees(`Copy ${plural(fresh.length, "file")}?`));
  const isReplaced =
    others.length > 0 && isAgreed && !isYes && (await agrees(`Replace ${plural(others.length, "file")} of yours?`));
  const copied = [...(isAgreed ? fresh : []), ...(isReplaced ? others : [])];
  for (const { to, text, state } of copied) {
    await makePrivateFolder(dirname(to));
    await writePrivate(to, text, state === "other");
  }
  const kept = isReplaced ? [] : others;
  if (isJson) {
    const places = (list: readonly Copy[]): object[] => list.map((each) => ({ from: each.from, to: each.to }));
    printJson({ schema: "sous.agents-import.v1", copied: places(copied), kept: places(kept) });
  } else if (copies.length > 0) {
    output.print([
      ...copied.map(({ from: file, to }) => `${inertLine(file, 1000)} -> ${inertLine(to, 1000)}`),
      `${plural(copied.length, "file")} copied.`,
    ]);
  }
  if (kept.length > 0)
    tell(`Not replaced: ${plural(kept.length, "file")} of yours; without --yes you are asked about them`);
  if (copied.length > 0) tell("Next: sous agents check");
  return isAgreed ? EXIT.ok : EXIT.failed;
}

/** The folders in which other programs keep the user's own agents. */
function foldersOf({ env }: ProcessContext, from: AgentDialect | undefined): AgentFolder[] {
  const home = env.HOME ?? "";
  const opencode = join(dirname(userFolder("config", env)), "opencode");
  const all: AgentFolder[] = [
    { dialect: "claude", path: join(home, ".claude", "agents") },
    { dialect: "gemini", path: join(home, ".gemini", "agents") },
    { dialect: "opencode", path: join(opencode, "agent") },
    { dialect: "opencode", path: join(opencode, "agents") },
  ];
  return all.filter(({ dialect }) => from === undefined || dialect === from);
}

async function plan(folders: readonly AgentFolder[], root: string, problems: AgentProblem[]): Promise<Copy[]> {
  const copies = new Map<string, Copy>();
  for (const folder of folders) {
    for (const { file, read, ...place } of await findAgentFiles(folder, problems)) {
      const text = await read();
      const to = join(root, `from-${folder.dialect}`, relative(folder.path, file));
      const trouble =
        typeof text === "string" ? text : copies.has(to) ? "another file has its name already" : undefined;
      if (trouble !== undefined || typeof text === "string") problems.push(notCopied(file, trouble ?? ""));
      else {
        const { agent } = readAgentFile({ ...place, file, text, checkRule: checkPattern });
        copies.set(to, { from: file, to, agent, text: text.toString("utf8"), state: await stateOf(to, text) });
      }
    }
  }
  return [...copies.values()];
}

function notCopied(file: string, why: string): AgentProblem {
  return {
    code: "SOUS-A001",
    file,
    severity: "warning",
    line: 1,
    column: 1,
    message: `it is not copied: ${why}`,
    fix: "",
  };
}

async function stateOf(to: string, text: Buffer): Promise<Copy["state"]> {
  const found = await lstat(to).catch(() => undefined);
  if (found === undefined) return "new";
  if (!found.isFile()) return "other";
  const there = await readFile(to).catch(() => undefined);
  return there?.equals(text) ? "same" : "other";
}

function show(copies: readonly Copy[], folders: readonly AgentFolder[], output: Output): void {
  const changed = copies.filter(({ state }) => state !== "same");
  if (changed.length === 0) {
    const where = folders.map(({ path }) => inertLine(path, 1000)).join(", ");
    output.printText(copies.length === 0 ? `No agent files were found in ${where}.` : "Everything was copied before.");
    return;
  }
  const listed = changed.flatMap(({ agent }) => agent ?? []);
  output.print(agentLines(listed, output));
}

async function agrees(question: string): Promise<boolean> {
  const ask = personAtTerminal();
  if (ask === undefined)
    throw new CommandError("No one can be asked: sous agents import --yes copies what is new", EXIT.consent);
  return ask(question);
}

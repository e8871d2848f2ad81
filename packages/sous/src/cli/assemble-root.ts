/** The root agent of the command line and the agents of files: their tools, and what they are told. */

import type { AgentDefinition } from "../core/agent.ts";
import type { Configuration } from "../core/configuration.ts";
import { MissingKey } from "../core/errors.ts";
import type { Programs } from "../core/process.ts";
import type { Tool } from "../core/tool.ts";
import { type AgentFile, type ProjectTrust, toDefinitions } from "./assemble-agents.ts";
import { placeFacts, placeNotes } from "./place-notes.ts";
import { rootPrompt } from "./root-prompt.ts";
import type { RunRights } from "./run-flags.ts";
import { chooseTools } from "./tool-choice.ts";

/** The name of the root in paths, events and rules. */
export const ROOT_NAME = "sous";

export type RootParts = {
  readonly configuration: Configuration;
  /** All that the command line has. */
  readonly tools: readonly Tool[];
  readonly files: readonly AgentFile[];
  readonly rights: RunRights;
  readonly notes: RunNotes;
};

/** What agents are told besides their instructions: with the notes of the project, or without. */
export type RunNotes = { readonly facts: string; readonly whole: string };

type NotesRequest = {
  readonly cwd: string;
  readonly now: number;
  readonly programs: Programs;
  /** Undefined unless it is trusted. */
  readonly project: ProjectTrust | undefined;
  readonly warn: (line: string) => void;
};

/** Read once for a run. */
export async function readNotes({ cwd, now, programs, project, warn }: NotesRequest): Promise<RunNotes> {
  const { readAgentsMd } = await import("../config/agents-md.ts");
  const notes = readAgentsMd(project?.files ?? []);
  if (notes?.isCut) warn("AGENTS.md is longer than 64 KB: agents read its beginning, and not the rest");
  const shell = (await programs.find("bash")) === undefined ? "sh" : "bash";
  const facts = placeFacts({ cwd, now, platform: process.platform, shell });
  return { facts, whole: placeNotes(facts, notes?.text) };
}

export async function rootAndAgents(parts: RootParts): Promise<{ root: AgentDefinition; agents: AgentDefinition[] }> {
  const { configuration, files, rights, notes } = parts;
  const { model, agent: settings } = configuration;
  const { tools, delegates, deny } = chooseTools(
    {
      tools: parts.tools,
      agents: files.map(({ name }) => name),
      maxChildren: settings.subagent.maxExecutions,
    },
    rights,
  );
  // What the root may not use it cannot pass on: a file does not widen what was typed.
  const agents = toDefinitions(files, { tools, delegates, notes });
  if (model === undefined)
    throw new MissingKey(
      "No model is chosen: give --model provider/model, set SOUS_MODEL, or write model: in the configuration",
    );
  const [{ agent }, { namedAgentTool }] = await Promise.all([
    import("../core/agent.ts"),
    import("../subagents/named-agent.ts"),
  ]);
  // Calling one needs consent, or a rule: the default rules allow those that were read here.
  const named = delegates ? agents.map((each) => namedAgentTool(each, { tier: "confirm" })) : [];
  const callable = named.filter(({ name }) => !deny.includes(name));
  const starting = delegates ? ["subagent", "parallel_subagent"].filter((name) => !deny.includes(name)) : [];
  const root = agent({
    name: ROOT_NAME,
    instructions: rootPrompt([...starting, ...callable.map(({ name }) => name)]),
    notes: notes.whole,
    model,
    tools: [...tools, ...callable],
    delegate: delegates,
    maxTurns: settings.maxTurns,
    deny,
  });
  return { root, agents };
}

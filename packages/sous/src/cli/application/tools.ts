/** Stage 3 of an application: models, the tools of the command line, and the rules about calls to them. */

import { isOutsideModel } from "../../core/model.ts";
import type { Tool } from "../../core/tool.ts";
import type { Policy } from "../../rights/policy.ts";
import { inertLine } from "../terminal/text.ts";
import { builtInFor } from "./built-in.ts";
import type { Machine } from "./machine.ts";
import { neededServers, openServerTools } from "./mcp.ts";
import { type ModelSource, modelSource } from "./models.ts";
import { rulesByMode } from "./modes.ts";
import type { NestedNoteBook } from "./nested-notes.ts";
import type { Opened } from "./opened.ts";
import { ROOT_NAME } from "./root.ts";
import { commandReading, policyFor, withAgentRules } from "./rules.ts";
import type { Settings } from "./settings.ts";
import { allowanceInside } from "./within.ts";

export type CommandTools = {
  readonly models: ModelSource;
  /** All that the command line has, those of MCP servers included. */
  readonly tools: readonly Tool[];
  /** The notes of sub-folders, which results of tools carry; undefined when there are none. */
  readonly nested: NestedNoteBook | undefined;
  readonly rules: Policy;
};

export async function openTools(settings: Settings, machine: Machine, opened: Opened): Promise<CommandTools> {
  const { request, outer, configuration, files, chosen } = settings;
  const { cwd, env, flags } = request;
  const { programs } = machine;
  const nested = await openNested(settings, machine);
  const builtIn = await builtInFor(request, configuration, machine);
  const models = await modelSource({ cwd, env, programs }, configuration);
  const users = { rights: flags.rights, rootName: chosen?.name ?? ROOT_NAME, chosen, files };
  const needed = neededServers(configuration, users);
  if (needed.length > 0) await checkBefore(configuration.model, models);
  const served = await openServerTools(needed, request, {
    programs,
    allowHosts: configuration.tools.fetch.allowHosts,
    allowance: allowanceInside(configuration, outer),
    opened,
  });
  const tools = [...(nested?.tools(builtIn) ?? builtIn), ...served];
  return { models, tools, nested, rules: rulesAbout(tools, settings, machine) };
}

/** A missing key is said before servers are waited for. An agent outside is not a model that could be looked at. */
async function checkBefore(model: string | undefined, { resolve }: Pick<ModelSource, "resolve">): Promise<void> {
  if (model !== undefined && !isOutsideModel(model)) await resolve(model);
}

/** The notes of sub-folders; undefined when there are none to read. */
async function openNested(
  { project, files, request: { warn } }: Settings,
  { store }: Machine,
): Promise<NestedNoteBook | undefined> {
  if (project === undefined || project.nested.length === 0) return undefined;
  const [{ readNested }, { NestedNoteBook }] = await Promise.all([
    import("../../config/trust/nested-notes.ts"),
    import("./nested-notes.ts"),
  ]);
  const { byFolder, changed } = await readNested(project.root, project.nested);
  if (changed.length > 0)
    warn(
      inertLine(
        `notes of folders have changed since the project was trusted, so agents do not read them (${changed.join(", ")}); sous trust shows them and asks`,
        1000,
      ),
    );
  if (byFolder.size === 0) return undefined;
  const without = files.filter(({ notes }) => !notes).map(({ name }) => name);
  return new NestedNoteBook({ root: project.root, notes: byFolder, store, without });
}

/** Of the flags, or of the mode that a session has at a moment. */
function rulesAbout(
  tools: readonly Tool[],
  { request: { env, flags, mode }, trust, configuration, files }: Settings,
  { guards }: Machine,
): Policy {
  const bounds = { heldRules: trust?.heldRules ?? [], guards, agents: files };
  const reading = commandReading({ env }, configuration, guards);
  const rulesFor = (allowsAll: boolean): Policy => {
    const policy = policyFor({ env, flags: { rights: { ...flags.rights, allowsAll } } }, configuration, bounds);
    return withAgentRules(policy, files, { allowsAll, ...reading });
  };
  return mode === undefined ? rulesFor(flags.rights.allowsAll) : rulesByMode({ mode, rulesFor, tools });
}

/** The tools of MCP servers, ready for a run. */

import type { McpServer, McpTransport } from "../../core/configuration.ts";
import { ignore, messageOf, UserError } from "../../core/errors.ts";
import type { Tool } from "../../core/tool.ts";
import { McpConnection, StartFailure } from "./connection.ts";
import { usable } from "./definitions.ts";
import { describeChange } from "./diff.ts";
import { located, type McpGround } from "./ground.ts";
import { ServerLife } from "./life.ts";
import { makeTool } from "./make-tool.ts";
import { type KnownTool, type McpDefinition, namesOf, type ServerPins, stateOf, toolNameOf } from "./pins.ts";
import { tailOf } from "./words.ts";

export type { McpGround } from "./ground.ts";

export type McpTools = AsyncDisposable & {
  readonly tools: readonly Tool[];
  /** One sentence each: servers that could not be started, tools that were left out. For people. */
  readonly problems: readonly string[];
  /** The servers that could not be started or reached, by name. */
  readonly failed: readonly string[];
};

/** A person who sees nothing for longer believes that it hangs. */
export const SLOW_START_MS = 3000;

export type OpenOptions = {
  /** Aborting it ends the wait, and the servers. */
  readonly signal?: AbortSignal | undefined;
  /** Is called once, with the names of the servers that take long to start. */
  readonly onSlow?: ((servers: readonly string[]) => void) | undefined;
};

/**
 * Starts what must be started to know the tools, all at once; never rejects for what is wrong with a server, or when the package of
 * the protocol is missing. Rejects with a `UserError` when what was approved cannot be read, and with the reason of the signal.
 */
export async function openMcpTools(
  servers: readonly McpServer[],
  ground: McpGround,
  { signal = new AbortController().signal, onSlow }: OpenOptions = {},
): Promise<McpTools> {
  const lives = servers
    .filter(({ isDisabled }) => !isDisabled)
    .map((each) => new ServerLife(located(each, ground), ground));
  const end = async (): Promise<void> => {
    await Promise.all(lives.map((life) => life[Symbol.asyncDispose]()));
  };
  const starting = new Set(lives);
  using _ = onSlow && ground.clock.timer(SLOW_START_MS, () => onSlow([...starting].map(({ server }) => server.name)));
  try {
    const found = await Promise.all(
      lives.map((life) => toolsOf(life, ground, signal).finally(() => starting.delete(life))),
    );
    const { tools, clashes } = withoutClashes(found.flatMap(({ tools }) => tools));
    const [failures, others] = [found.filter(({ isFailed }) => isFailed), found.filter(({ isFailed }) => !isFailed)];
    // A problem of all of them is said once.
    const failed = new Set(failures.flatMap(({ problems }) => problems));
    const problems = [...failed, ...others.flatMap(({ problems }) => problems), ...clashes];
    const names = lives.filter((_, index) => found[index]?.isFailed).map(({ server }) => server.name);
    return { tools, problems, failed: names, [Symbol.asyncDispose]: end };
  } catch (error) {
    await end();
    throw error;
  }
}

type Found = { readonly tools: readonly Tool[]; readonly problems: readonly string[]; readonly isFailed?: boolean };

async function toolsOf(life: ServerLife, ground: McpGround, signal: AbortSignal): Promise<Found> {
  const { server } = life;
  const { pins } = ground;
  const known = await pins.read(server);
  const pinned = allApproved(server, known, ground);
  if (pinned !== undefined) return { tools: pinned.map((each) => makeTool(each, life, pins)), problems: [] };
  try {
    const { listed } = await life.connect(signal);
    const tools = listed.definitions.map((now) =>
      makeTool(offeredOf(now, approvedOf(server, now, known), ground), life, pins),
    );
    return { tools, problems: listed.notes };
  } catch (error) {
    if (error instanceof UserError || signal.aborted) throw error;
    return { tools: [], problems: [messageOf(error)], isFailed: true };
  }
}

/** The tools that were seen last, if each of them was approved as it is: then nothing has to be started to know them. */
function allApproved(
  server: McpServer,
  known: ServerPins,
  { checkSchema = ignore }: McpGround,
): readonly McpDefinition[] | undefined {
  const { seen } = known;
  if (seen === undefined || seen.length === 0) return undefined;
  const isKnown = seen.every(
    (each) => approvedOf(server, each, known)?.sha256 === each.sha256 && usable(each, checkSchema),
  );
  return isKnown ? seen : undefined;
}

function approvedOf(server: McpServer, { name }: McpDefinition, known: ServerPins): McpDefinition | undefined {
  return known.approved.get(toolNameOf(server.name, name));
}

/** A model never reads a changed text in place of the one that was approved. */
function offeredOf(
  now: McpDefinition,
  known: McpDefinition | undefined,
  { checkSchema = ignore }: McpGround,
): McpDefinition {
  return known !== undefined && known.sha256 !== now.sha256 && usable(known, checkSchema) ? known : now;
}

/** Names of servers that read the same as names of tools: the first server keeps its tools. */
function withoutClashes(all: readonly Tool[]): { tools: readonly Tool[]; clashes: readonly string[] } {
  const tools = new Map<string, Tool>();
  const clashes: string[] = [];
  for (const each of all) {
    const { name, displayName } = each;
    const first = tools.get(name);
    if (first === undefined) tools.set(name, each);
    else clashes.push(`The tool ${displayName} was left out: ${first.displayName} has the same name here, ${name}`);
  }
  return { tools: [...tools.values()], clashes };
}

/** A tool of a server that was checked. */
export type CheckedMcpTool = KnownTool & {
  readonly definition: McpDefinition;
  /** The differences from what was approved, for people; set for `changed`. */
  readonly change?: string | undefined;
};

/** The findings of a check. */
export type CheckedMcpServer = {
  readonly transport: McpTransport["type"];
  readonly tools: readonly CheckedMcpTool[];
  /** Tools that were left out, one sentence each. */
  readonly notes: readonly string[];
  readonly handshakeMs: number | undefined;
  /** The name that the server gives itself, cleaned. */
  readonly serverName: string | undefined;
  readonly version: string | undefined;
  /** The reason why it could not be used; undefined when it could. */
  readonly problem: string | undefined;
  /** The end of its standard error; empty without one. */
  readonly stderrTail: string;
};

/** Starts one server, lists its tools, ends it: for `mcp check` and doctor. Changes no pins; rejects as `openMcpTools` does. */
export async function checkMcpServer(
  given: McpServer,
  ground: McpGround,
  signal: AbortSignal = new AbortController().signal,
): Promise<CheckedMcpServer> {
  const server = located(given, ground);
  const transport = server.transport.type;
  const known = await ground.pins.read(server);
  try {
    const connection = await McpConnection.open(server, ground, signal);
    const { listed, handshakeMs, identity, stderrTail } = connection;
    await connection.close();
    const tools = listed.definitions.map((each) => checkedTool(server, each, approvedOf(server, each, known)));
    return { transport, tools, notes: listed.notes, handshakeMs, ...identity, problem: undefined, stderrTail };
  } catch (error) {
    if (error instanceof UserError || signal.aborted) throw error;
    const stderrTail = error instanceof StartFailure ? tailOf(error.stderr) : "";
    const nothing = { handshakeMs: undefined, serverName: undefined, version: undefined };
    return { transport, tools: [], notes: [], ...nothing, problem: messageOf(error), stderrTail };
  }
}

function checkedTool(server: McpServer, now: McpDefinition, approved: McpDefinition | undefined): CheckedMcpTool {
  const state = stateOf(now, approved);
  const tool = { ...namesOf(server, now), state, definition: now };
  return approved === undefined || state !== "changed" ? tool : { ...tool, change: describeChange(approved, now) };
}

/** Stores the tools of a server as those that it listed last. Approves none. */
export async function noteMcpTools(
  server: McpServer,
  tools: readonly CheckedMcpTool[],
  ground: Pick<McpGround, "cwd" | "pins">,
): Promise<void> {
  const definitions = tools.map(({ definition }) => definition);
  await ground.pins.noteSeen(located(server, ground), definitions);
}

/** Approves the tools of a server as they were found. */
export async function approveMcpTools(
  server: McpServer,
  tools: readonly CheckedMcpTool[],
  ground: Pick<McpGround, "cwd" | "pins">,
): Promise<void> {
  const definitions = tools.map(({ definition }) => definition);
  await ground.pins.approve(located(server, ground), definitions);
}

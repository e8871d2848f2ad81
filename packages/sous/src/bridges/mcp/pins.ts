/** The approved tools of MCP servers: a private file in the user's state folder, or the memory of this process. */

import { createHash } from "node:crypto";
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import type { McpServer } from "../../core/configuration.ts";
import { messageOf, UserError } from "../../core/errors.ts";
import { mcpToolName } from "../../core/mcp-names.ts";
import { isRecord, type JsonSchema } from "../../core/schema.ts";
import { changeLocked, readRegular, replaceFile, whyNotOurs } from "../../machine/private-file.ts";
import { toolHash } from "../../machine/tool-hash.ts";
import { located, type McpGround } from "./ground.ts";

/** A tool as its server described it: cleaned and cut for models and people, with the hash of the whole. */
export type McpDefinition = {
  /** The name that the server gives it. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  /** The hash of name, description and schema as they came. */
  readonly sha256: string;
};

/** The known and approved tools of one server. */
export type ServerPins = {
  /** The tools it listed last; undefined when it was never asked. */
  readonly seen: readonly McpDefinition[] | undefined;
  /**
   * The definitions that a person or a rule has allowed, by their names here: rules and people know them by that name, and two
   * names of a server can become the same one.
   */
  readonly approved: ReadonlyMap<string, McpDefinition>;
};

/** Servers are known by their name and by how they are reached, without the values of variables and headers. */
export type PinBook = {
  /** Rejects with a `UserError` for a file that is damaged or not ours. */
  read(server: McpServer): Promise<ServerPins>;
  noteSeen(server: McpServer, seen: readonly McpDefinition[]): Promise<void>;
  approve(server: McpServer, definitions: readonly McpDefinition[]): Promise<void>;
};

type ServerRecord = {
  readonly key: string;
  /** The name, for people who read the file. */
  readonly name: string;
  readonly seen: readonly McpDefinition[] | undefined;
  /** The settings `tools` and `deny` that chose what was seen: with others it says nothing. */
  readonly choice: string;
  readonly approved: readonly McpDefinition[];
};

type Records = {
  read(): Promise<readonly ServerRecord[]>;
  change(change: (records: readonly ServerRecord[]) => readonly ServerRecord[]): Promise<void>;
};

const MAX_SERVERS = 500;
/** Max tools of one server over all time, so that one that comes back is known. */
const MAX_APPROVED = 1000;
const MAX_BYTES = 256 * 1024 * 1024;

/** `mcp-tools.json` in the folder; without one, pins are kept in memory. Reads nothing before it is asked. */
export function openPinBook(stateFolder: string | undefined): PinBook {
  return openPinFile(stateFolder && join(stateFolder, "mcp-tools.json"));
}

/** The same with a file of this name. */
export function openPinFile(file: string | undefined): PinBook {
  const records = file === undefined ? memoryRecords() : fileRecords(file);
  return {
    async read(server) {
      const record = find(await records.read(), server);
      const seen = record.choice === choiceOf(server) ? record.seen : undefined;
      return { seen, approved: new Map(record.approved.map((each) => [toolNameOf(server.name, each.name), each])) };
    },
    async noteSeen(server, seen) {
      const choice = choiceOf(server);
      const before = find(await records.read(), server);
      if (before.seen !== undefined && before.choice === choice && isSame(before.seen, seen)) return;
      await records.change((all) => put(all, { ...find(all, server), seen, choice }));
    },
    async approve(server, definitions) {
      const names = new Set(definitions.map(({ name }) => toolNameOf(server.name, name)));
      await records.change((all) => {
        const record = find(all, server);
        const others = record.approved.filter(({ name }) => !names.has(toolNameOf(server.name, name)));
        return put(all, { ...record, approved: [...others, ...definitions].slice(-MAX_APPROVED) });
      });
    },
  };
}

function isSame(one: readonly McpDefinition[], other: readonly McpDefinition[]): boolean {
  return one.length === other.length && one.every(({ sha256 }, index) => sha256 === other[index]?.sha256);
}

function find(records: readonly ServerRecord[], server: McpServer): ServerRecord {
  const key = keyOf(server);
  return (
    records.find((each) => each.key === key) ?? { key, name: server.name, seen: undefined, choice: "", approved: [] }
  );
}

function choiceOf({ tools, deny }: McpServer): string {
  return JSON.stringify([tools ?? "all", deny]);
}

/** The record comes last: those that were not used for longest are dropped first. */
function put(records: readonly ServerRecord[], record: ServerRecord): readonly ServerRecord[] {
  return [...records.filter(({ key }) => key !== record.key), record].slice(-MAX_SERVERS);
}

/** A hash: arguments and addresses may hold secrets. */
function keyOf({ name, transport }: McpServer): string {
  const way = transport.type === "stdio" ? [transport.command, transport.args, transport.cwd ?? ""] : [transport.url];
  return createHash("sha256")
    .update(JSON.stringify([name, transport.type === "stdio" ? "stdio" : "http", ...way]))
    .digest("hex");
}

function memoryRecords(): Records {
  let records: readonly ServerRecord[] = [];
  return {
    read: async () => records,
    change: async (change) => {
      records = change(records);
    },
  };
}

function fileRecords(file: string): Records {
  return {
    read: () => readRecords(file),
    change: async (change) => {
      try {
        await changeLocked(file, async () => {
          const servers = change(await readRecords(file));
          await replaceFile(file, `${JSON.stringify({ version: 1, servers })}\n`);
        });
      } catch (error) {
        if (error instanceof UserError) throw error;
        throw new UserError(`${file} cannot be written: ${messageOf(error)}`, { cause: error });
      }
    },
  };
}

const HOW_TO_MEND = "remove it, then allow the tools of MCP servers again";

async function readRecords(file: string): Promise<readonly ServerRecord[]> {
  if ((await lstat(file).catch(() => undefined)) === undefined) return [];
  const problem = await whyNotOurs(file);
  if (problem !== undefined) throw new UserError(`${file} ${problem}: ${HOW_TO_MEND}`);
  try {
    const value: unknown = JSON.parse((await readRegular(file, MAX_BYTES)).toString("utf8"));
    if (!isRecord(value) || !Array.isArray(value.servers)) throw new Error("it is damaged");
    return value.servers.map(toRecord);
  } catch (error) {
    throw new UserError(`${file} cannot be read (${messageOf(error)}): ${HOW_TO_MEND}`, { cause: error });
  }
}

function toRecord(value: unknown): ServerRecord {
  const { key, name, seen, choice, approved } = isRecord(value) ? value : {};
  if (typeof key !== "string" || typeof name !== "string" || typeof choice !== "string" || !isDefinitions(approved))
    throw new Error("it is damaged");
  if (seen !== undefined && !isDefinitions(seen)) throw new Error("it is damaged");
  return { key, name, seen, choice, approved };
}

function isDefinitions(value: unknown): value is McpDefinition[] {
  return Array.isArray(value) && value.every(isDefinition);
}

function isDefinition(value: unknown): value is McpDefinition {
  const { name, description, inputSchema, sha256 } = isRecord(value) ? value : {};
  const isText = typeof name === "string" && typeof description === "string" && typeof sha256 === "string";
  return isText && isRecord(inputSchema);
}

/** The name of a server's tool in sous. */
export function toolNameOf(server: string, name: string): string {
  return mcpToolName(server, name, toolHash);
}

export type ToolState = "new" | "approved" | "changed";

export type KnownTool = {
  /** The name that the server gives it. */
  readonly name: string;
  /** The name in rules, agent files and models. */
  readonly toolName: string;
  readonly state: ToolState;
};

/** The tools that are known without starting the server, as it listed them last; undefined when it was never asked. */
export async function knownTools(
  server: McpServer,
  ground: Pick<McpGround, "cwd" | "pins">,
): Promise<readonly KnownTool[] | undefined> {
  const { seen, approved } = await ground.pins.read(located(server, ground));
  return seen?.map((now) => {
    const names = namesOf(server, now);
    return { ...names, state: stateOf(now, approved.get(names.toolName)) };
  });
}

export function namesOf(server: McpServer, { name }: McpDefinition): Pick<KnownTool, "name" | "toolName"> {
  return { name, toolName: toolNameOf(server.name, name) };
}

export function stateOf(now: McpDefinition, approved: McpDefinition | undefined): ToolState {
  if (approved === undefined) return "new";
  return approved.sha256 === now.sha256 ? "approved" : "changed";
}

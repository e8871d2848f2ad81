/**
 * The messages of agents, as far as they are used here. Lenient where a field is only for people, strict where it decides: an optional
 * field of a wrong type is taken as missing, a required one makes the message invalid.
 */

import { z } from "zod";
import { isRecord } from "../../core/schema.ts";

/** Longer ids are refused: they are recorded and sent back. */
const MAX_ID = 500;
const MAX_ITEMS = 1000;

const id = z.string().min(1).max(MAX_ID);
const text = z.string();

/** Undefined for a value of a wrong type. */
function lenient<Schema extends z.ZodType>(schema: Schema) {
  return schema.optional().catch(undefined);
}

/** The valid ones of a list. */
function listOf<Schema extends z.ZodType>(schema: Schema) {
  return z
    .array(z.unknown())
    .catch([])
    .transform((items) =>
      items.slice(0, MAX_ITEMS).flatMap((item): z.output<Schema>[] => {
        const found = schema.safeParse(item);
        return found.success ? [found.data] : [];
      }),
    );
}

/** True for a capability that is there: an object, also an empty one, or true. */
const capability = z
  .unknown()
  .optional()
  .transform((given) => given === true || (typeof given === "object" && given !== null));

const sessionCapabilities = z.object({ list: capability, delete: capability, resume: capability, close: capability });

export const initializeResult = z.object({
  protocolVersion: z.number(),
  agentInfo: lenient(z.object({ name: text, title: lenient(text), version: lenient(text) })),
  agentCapabilities: lenient(z.object({ loadSession: capability, sessionCapabilities: lenient(sessionCapabilities) })),
  authMethods: listOf(z.object({ id, name: lenient(text) })),
});

const choice = z.object({ value: id, name: lenient(text) });
const configOption = z.object({
  id,
  category: lenient(text),
  type: z.literal("select"),
  currentValue: lenient(text),
  // Options may stand in groups.
  options: listOf(z.union([choice, z.object({ options: listOf(choice) })])).transform((given) =>
    given.flatMap((each) => ("value" in each ? [each] : each.options)),
  ),
});

export const sessionState = z.object({
  modes: lenient(
    z.object({ currentModeId: lenient(text), availableModes: listOf(z.object({ id, name: lenient(text) })) }),
  ),
  configOptions: listOf(configOption),
});

export const newSessionResult = sessionState.extend({ sessionId: id });

export const listResult = z.object({
  sessions: listOf(z.object({ sessionId: id, cwd: lenient(text), title: lenient(text), updatedAt: lenient(text) })),
  nextCursor: lenient(text),
});

export const promptResult = z.object({
  stopReason: z.string(),
  usage: z.unknown().optional(),
  _meta: z.unknown().optional(),
});

const content = z.union([
  z.object({ type: z.literal("content"), content: z.object({ type: z.literal("text"), text }) }),
  z.object({ type: z.literal("diff"), path: text, newText: text, oldText: lenient(text) }),
]);

const toolCallFields = z.object({
  toolCallId: id,
  title: lenient(text),
  name: lenient(text),
  kind: lenient(text),
  status: lenient(text),
  content: lenient(listOf(content)),
  locations: lenient(listOf(z.object({ path: text }))),
  rawInput: z.unknown().optional(),
  rawOutput: z.unknown().optional(),
  unread: z.unknown().optional(),
});

/** `unread` is what a call says beyond the fields that are read here and that may be about a file; undefined when it says no more. */
export const toolCall = z.preprocess(
  (given) => (isRecord(given) ? { ...given, unread: unreadOf(given) } : given),
  toolCallFields,
);

function unreadOf({ locations, content: shown, ...others }: Record<string, unknown>): unknown {
  const isUpdate = Object.hasOwn(others, "sessionUpdate");
  const names = Object.keys(others).filter((name) => name !== "_meta" && !Object.hasOwn(toolCallFields.shape, name));
  const unread = {
    locations: unreadItems(locations, isReadLocation),
    content: unreadItems(shown, isReadContent),
    // Agents announce calls with fields of their own; a question is about what it says.
    ...(isUpdate ? {} : Object.fromEntries(names.map((name) => [name, others[name] ?? undefined]))),
  };
  return Object.values(unread).some((each) => each !== undefined) ? unread : undefined;
}

function unreadItems(items: unknown, isRead: (item: unknown) => boolean): unknown {
  if (items === undefined || items === null) return undefined;
  const isAll = Array.isArray(items) && items.length <= MAX_ITEMS && items.every(isRead);
  return isAll ? undefined : items;
}

function isReadLocation(item: unknown): boolean {
  return isRecord(item) && typeof item.path === "string" && hasOnly(item, ["path", "line"]);
}

/** Texts, pictures and terminals only show something. */
function isReadContent(item: unknown): boolean {
  if (!isRecord(item)) return false;
  if (item.type === "content" || item.type === "terminal") return true;
  const isDiff = item.type === "diff" && typeof item.path === "string" && typeof item.newText === "string";
  return isDiff && hasOnly(item, ["type", "path", "oldText", "newText"]);
}

function hasOnly(item: Record<string, unknown>, names: readonly string[]): boolean {
  return Object.keys(item).every((name) => name === "_meta" || names.includes(name));
}

export const notification = z.object({
  sessionId: id,
  update: z.looseObject({ sessionUpdate: z.string() }),
});

export const chunk = z.object({ content: z.object({ type: z.literal("text"), text }) });
export const plan = z.object({ entries: listOf(z.object({ content: text, status: lenient(text) })) });
export const usageUpdate = z.object({
  /** The size of the context. */
  used: lenient(z.int().min(0)),
  cost: lenient(z.object({ amount: z.number(), currency: text })),
});
export const modeUpdate = z.object({ currentModeId: text });
export const configUpdate = z.object({ configOptions: listOf(configOption) });

export const permissionRequest = z.object({
  sessionId: id,
  toolCall,
  options: listOf(z.object({ optionId: id, kind: text })),
});

export const readRequest = z.object({
  sessionId: id,
  path: z.string().min(1),
  line: z.int().min(0).nullish(),
  limit: z.int().min(0).nullish(),
});
export const writeRequest = z.object({ sessionId: id, path: z.string().min(1), content: text });
export const terminalStart = z.object({
  sessionId: id,
  command: z.string().min(1),
  args: z.array(text).max(MAX_ITEMS).nullish(),
  env: z
    .array(z.object({ name: text, value: text }))
    .max(MAX_ITEMS)
    .nullish(),
  cwd: text.nullish(),
  outputByteLimit: z.number().min(0).nullish(),
});
export const terminalRequest = z.object({ sessionId: id, terminalId: id });
/** The session that every request of an agent names. */
export const sessionOf = z.object({ sessionId: id });

export type AgentInfo = z.output<typeof initializeResult>;
export type SessionSettings = z.output<typeof sessionState>;
export type ConfigOption = z.output<typeof configOption>;
export type ToolCallData = z.output<typeof toolCall>;
export type PermissionRequest = z.output<typeof permissionRequest>;
export type PromptResult = z.output<typeof promptResult>;

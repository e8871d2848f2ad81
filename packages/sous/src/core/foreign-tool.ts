/** AI SDK tools as they are: given a name and turned into ours. */

import { foundWords, ToolFailure, UserError } from "./errors.ts";
import type { FilePart } from "./message.ts";
import { isRecord } from "./schema.ts";
import { type ForeignTool, type ProviderTool, type Tool, type ToolList, type ToolResult, tool } from "./tool.ts";

/** The tools of a list or a record, all ours. Throws a `UserError` for what is no tool, has no name or cannot run; `whose` begins it. */
export function toTools(list: ToolList | undefined, whose = "tools"): Tool[] {
  const isList = Array.isArray(list);
  return Object.entries(list ?? {}).map(([key, given]: [string, unknown]) => {
    if (!isRecord(given) || !("inputSchema" in given))
      throw new UserError(`${whose}: ${key} is ${foundWords(given)} and not a tool`);
    if (isOurs(given)) {
      if (isList || key === given.name) return given;
      throw new UserError(
        `${whose}: the tool ${given.name} stands under the key ${JSON.stringify(key)}. Rights and rules know it by its own name: use that as the key, or give the tools in a list`,
      );
    }
    const name = isList ? ownNameOf(given) : key;
    if (name !== undefined) return fromForeignTool(name, given as ForeignTool);
    throw new UserError(
      `${whose}: the tool at position ${key} has no name. Give the tools in a record, in which each key is the name of its tool: tools: { weather }`,
    );
  });
}

function isOurs(candidate: object): candidate is Tool {
  return "tier" in candidate && "effect" in candidate && "name" in candidate;
}

const VERSION = /_\d{8}$/;

/** `anthropic.web_search_20250305` is called `web_search`. */
function ownNameOf({ name, id, type }: Readonly<Record<string, unknown>>): string | undefined {
  if (typeof name === "string") return name;
  if (!isProviderType(type) || typeof id !== "string") return undefined;
  return calledName(id) ?? id.slice(id.indexOf(".") + 1).replace(VERSION, "");
}

/** Earlier versions of the AI SDK write the second one. */
function isProviderType(type: unknown): boolean {
  return type === "provider" || type === "provider-defined";
}

function fromForeignTool(name: string, foreign: ForeignTool): Tool {
  const { description, inputSchema, execute, needsApproval, toModelOutput } = foreign;
  const provider = providerOf(name, foreign);
  if (provider?.runsThere === true) return providerTool(name, provider, needsApproval);
  if (typeof execute !== "function") throw new UserError(`The tool ${name} has no execute function`);
  const made = tool({
    name,
    description: typeof description === "string" ? description : name,
    tier: needsApproval === undefined || needsApproval === false ? "observe" : "confirm",
    inputSchema: inputSchema as Tool["inputSchema"],
    async execute(input, context) {
      // The second argument that the AI SDK passes. The history stays with the agent that has it.
      const options = { toolCallId: context.callId, messages: [], abortSignal: context.signal };
      const output = await lastOf(execute(input, options));
      if (typeof toModelOutput !== "function") return output;
      return fromModelOutput(await toModelOutput({ toolCallId: context.callId, input, output }), output);
    },
  }) as Tool;
  return provider === undefined ? made : Object.freeze({ ...made, provider });
}

/** Tools that a provider defines and the caller runs, whose results may be text and pictures. Others want an object of their own. */
const CALLED = /^anthropic\.(bash|computer|memory|text_editor)_(\d{8})$/;

/** The name by which its provider calls such a tool. */
function calledName(id: string): string | undefined {
  const [, name, version = ""] = CALLED.exec(id) ?? [];
  if (name !== "text_editor") return name;
  return version < "20250429" ? "str_replace_editor" : "str_replace_based_edit_tool";
}

function providerOf(name: string, foreign: ForeignTool): ProviderTool | undefined {
  const { type, args, execute, isProviderExecuted } = foreign;
  if (!isProviderType(type)) return undefined;
  const id = "id" in foreign ? foreign.id : undefined;
  if (typeof id !== "string" || !id.includes("."))
    throw new UserError(`The tool ${name} is a provider's and has no id such as anthropic.web_search_20250305`);
  const runsThere = isProviderExecuted !== false && typeof execute !== "function";
  const called = calledName(id);
  if (!runsThere && called === undefined)
    throw new UserError(
      `The tool ${name} (${id}) is defined by its provider and run by the caller, which sous supports only for bash, computer, memory and text_editor of Anthropic. Write a tool of your own with tool()`,
    );
  if (!runsThere && called !== name)
    throw new UserError(`The tool ${name} (${id}) is called ${called} by its provider: give it that name`);
  return Object.freeze({ id, args: Object.freeze({ ...(isRecord(args) ? args : {}) }), runsThere });
}

/** The provider runs it while it answers: no one can be asked before, and there is nothing to call here. */
function providerTool(name: string, provider: ProviderTool, needsApproval: unknown): Tool {
  if (needsApproval !== undefined && needsApproval !== false)
    throw new UserError(
      `The tool ${name} (${provider.id}) runs at the provider, so no one can be asked before it runs: leave out needsApproval, or the tool`,
    );
  const made = tool({
    name,
    description: `Runs at the provider (${provider.id}).`,
    effect: "read",
    inputSchema: { type: "object" },
    execute() {
      throw new ToolFailure(`${name} runs at the provider and cannot be called here. Continue without it.`);
    },
  });
  return Object.freeze({ ...made, provider }) as Tool;
}

/** A tool may stream preliminary results; the last one counts. */
async function lastOf(value: unknown): Promise<unknown> {
  if (typeof value !== "object" || value === null || !(Symbol.asyncIterator in value)) return value;
  let last: unknown;
  for await (const each of value as AsyncIterable<unknown>) last = each;
  return last;
}

type ForeignOutput = { type: string; value?: unknown; reason?: string };

const OUTPUT_TYPES: readonly unknown[] = ["text", "json", "content", "error-text", "error-json", "execution-denied"];

/** Anything else is not shown to the model as it is: `toModelOutput` may be there to hide a part of it. */
function fromModelOutput(shown: ForeignOutput | undefined, data: unknown): ToolResult {
  if (!isRecord(shown) || !OUTPUT_TYPES.includes(shown.type))
    return { success: false, output: "", error: "The tool ran, but its toModelOutput gave nothing readable.", data };
  const said = shown.type === "execution-denied" ? (shown.reason ?? "It was denied.") : (shown.value ?? "");
  const text = typeof said === "string" ? said : JSON.stringify(said);
  if (shown.type === "error-text" || shown.type === "error-json" || shown.type === "execution-denied") {
    return { success: false, output: "", error: text, data };
  }
  if (shown.type !== "content" || !Array.isArray(shown.value)) return { success: true, output: text, data };
  const parts = shown.value as ForeignContent[];
  return {
    success: true,
    output: parts.flatMap((part) => (part.type === "text" ? [part.text ?? ""] : [])).join("\n"),
    documents: parts.flatMap(toFilePart),
    data,
  };
}

/** A part of a result: text, or a file in one of the several ways the AI SDK has had to write one. */
type ForeignContent = {
  type: string;
  text?: string;
  mediaType?: string;
  filename?: string;
  data?: unknown;
  url?: unknown;
};

/** A file kept by a provider is known to that provider alone, so it is left out. */
function toFilePart({ type, mediaType, filename, data, url }: ForeignContent): FilePart[] {
  const text = fileData(data ?? url);
  if (type === "text" || text === undefined) return [];
  const file: FilePart = { type: "file", mediaType: mediaType ?? type.split("-")[0] ?? "file", data: text };
  return [filename === undefined ? file : { ...file, filename }];
}

function fileData(data: unknown): string | undefined {
  if (typeof data === "string") return data;
  if (data instanceof URL) return data.href;
  if (data instanceof ArrayBuffer || data instanceof Uint8Array)
    return Buffer.from(new Uint8Array(data)).toString("base64");
  if (typeof data !== "object" || data === null || !("type" in data)) return undefined;
  if (data.type === "data" && "data" in data) return fileData(data.data);
  if (data.type === "url" && "url" in data) return fileData(data.url);
  if (data.type === "text" && "text" in data) return Buffer.from(String(data.text)).toString("base64");
  return undefined;
}

/** The action of a call in the terms of rules and people: the command, the real path, the host, the agents. */

import { realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { RESERVED_AGENT_NAMES } from "../../core/agent.ts";
import type { ApprovalRequest } from "../../core/approval.ts";
import { trimEndOf } from "../../core/truncate.ts";
import { childTools, DELEGATE_TOOL, toolRow } from "../../core/words/tools.ts";
import { type CommandContext, type CommandReading, readCommandLine } from "./command-reading.ts";
import { followLinks, isOfProcess } from "./follow-links.ts";

export type PathAction = {
  readonly kind: "path";
  /** The path below the workspace with forward slashes, links followed; absolute when it leads outside. */
  readonly path: string;
  /** The same without following links. */
  readonly named: string;
  /** Both as absolute paths, for rules that begin elsewhere. */
  readonly absolute: { readonly path: string; readonly named: string };
  /** True when it was written from the root on and not through the workspace: its path says where it is. */
  readonly isFromRoot: boolean;
  /** True for a tool that looks at everything below. */
  readonly isFolder: boolean;
};

export type FoundPath = Omit<PathAction, "kind" | "isFolder">;

type HostAction = {
  readonly kind: "host";
  /** The host as it would be connected to: small letters, punycode, no trailing dot, with a port that is not the usual one. */
  readonly host: string;
  /** The host, and the scheme when it is not https. */
  readonly origin: string;
  /** True without user names and passwords, which are put before a host to make it look like another. */
  readonly isPlain: boolean;
};

export type Action = {
  readonly toolName: string;
  /** The whole action as one text: two calls with the same text do the same. */
  readonly exact: string;
} & (
  | {
      readonly kind: "command";
      readonly command: string;
      /** The folder it starts in, relative to the workspace; undefined for the workspace itself. */
      readonly folder: string | undefined;
      readonly reading: CommandReading;
    }
  | PathAction
  | HostAction
  | { readonly kind: "agents"; readonly names: readonly string[] }
  /** An external agent, by the name of its server. */
  | { readonly kind: "server"; readonly name: string }
  | { readonly kind: "fields"; readonly fields: Readonly<Record<string, unknown>> }
  /** Looks at or ends what an allowed call has started. */
  | { readonly kind: "follow-up" }
  /** The input does not have the shape that rules know. */
  | { readonly kind: "unknown" }
);

export type ActionKind = Exclude<Action["kind"], "unknown" | "follow-up">;

export type CommandAction = Extract<Action, { kind: "command" }>;

/** Gives the real path of what exists, and throws for what does not. */
export type RealPath = (path: string) => string;

export type ActionOptions = Pick<CommandContext, "home" | "variables"> & {
  readonly realPath?: RealPath | undefined;
  /** The server of a delegation that names none. */
  readonly defaultServer?: string | undefined;
};

export function readAction(request: ApprovalRequest, options: ActionOptions = {}): Action {
  const { toolName, input, cwd, target, real } = request;
  const { realPath = realpathSync.native } = options;
  const fields: Fields = typeof input === "object" && input !== null ? { ...input } : { input };
  const whole = { toolName, exact: canonicalJson(input) };
  switch (kindOf(toolName)) {
    case "command":
      return readCommand(fields, whole, {
        ...options,
        cwd,
        toPath: (path) => readPath(path, { cwd, realPath, root: real?.cwd }, real?.path).path,
      });
    case "path": {
      const isFolder = toolRow(toolName)?.action === "folder";
      const path = fields.path ?? (isFolder ? "." : undefined);
      if (typeof path !== "string" || path.length > MAX_PATH) return { ...whole, kind: "unknown" };
      const found = readPath(path, { cwd, realPath, root: real?.cwd }, real?.path ?? target?.paths[0]);
      return { ...whole, kind: "path", ...found, isFolder, exact: found.path };
    }
    case "host": {
      const host = readHost(fields.url);
      return host === undefined ? { ...whole, kind: "unknown" } : { ...whole, ...host, exact: host.origin };
    }
    case "agents": {
      const names = agentNames(toolName, fields);
      return { ...whole, kind: "agents", names, exact: [...new Set(names)].sort().join(",") };
    }
    case "server": {
      // An agent that is named without its server may be of any of them.
      const name = fields.serverName ?? (fields.agentId === undefined ? options.defaultServer : undefined);
      return typeof name === "string" ? { ...whole, kind: "server", name, exact: name } : { ...whole, kind: "unknown" };
    }
    case "fields":
      return { ...whole, kind: "fields", fields };
  }
}

/** The kind of action that this tool takes. */
export function kindOf(toolName: string): ActionKind {
  const action = toolRow(toolName)?.action;
  if (action !== undefined) return action === "file" || action === "folder" ? "path" : action;
  if (toolName === DELEGATE_TOOL) return "server";
  return STARTING.includes(toolName) || namedAgent(toolName) !== undefined ? "agents" : "fields";
}

/** `scout` of `subagent_scout`; undefined for the tools that serve every child. */
export function namedAgent(toolName: string): string | undefined {
  const name = /^subagent_(.+)$/.exec(toolName)?.[1];
  return name === undefined || RESERVED_AGENT_NAMES.includes(name) ? undefined : name;
}

const STARTING = childTools("start");

/** No system has longer paths. */
const MAX_PATH = 8192;

/** These do not change what a command does. */
const HARMLESS_FIELDS = new Set(["command", "timeout", "timeout_ms", "timeout_seconds", "description"]);

/** Fields of the terminal about a command in the background. */
const FOLLOW_UPS = new Set(["output_of", "stop"]);

type Fields = Record<string, unknown>;
type Whole = { toolName: string; exact: string };

type CommandOptions = ActionOptions & { cwd: string; toPath: (path: string) => string };

function readCommand(given: Fields, whole: Whole, { home, variables, cwd, toPath }: CommandOptions): Action {
  const { command } = given;
  const others = Object.entries(given).filter(([name, value]) => value !== undefined && !HARMLESS_FIELDS.has(name));
  const [only, more] = others;
  if (command === undefined && only !== undefined && more === undefined && FOLLOW_UPS.has(only[0])) {
    return { ...whole, kind: "follow-up" };
  }
  if (typeof command !== "string") return { ...whole, kind: "unknown" };
  const folder = typeof given.cwd === "string" ? toPath(given.cwd) : ".";
  const isTop = typeof given.cwd === "string" && folder === ".";
  const settings = others.filter(([name, value]) => !(name === "cwd" && isTop) && value !== false);
  const start = folder === "." ? undefined : folder;
  const reading = readCommandLine(command, {
    home,
    variables,
    folder: start,
    workspace: cwd,
  });
  const unknown = settings.find(([name]) => name !== "background" && name !== "cwd")?.[0];
  const text = reading.canonical ?? command;
  const isText = settings.length === 0 && !text.startsWith("{");
  return {
    ...whole,
    kind: "command",
    command,
    folder: start,
    reading:
      unknown === undefined ? reading : { ...reading, problem: `it has a setting that is not known: ${unknown}` },
    exact: isText ? text : canonicalJson({ ...Object.fromEntries(settings), command: text }),
  };
}

/** A file that the shell opens; not `isSure` when another program of the line could change what it is. */
export type FileAction = Action & { readonly isSure: boolean };

/** The files that the shell opens, as calls of the tool that does the same. */
export function fileActions(
  { files }: CommandReading,
  { cwd, real }: Pick<ApprovalRequest, "cwd" | "real">,
  { realPath = realpathSync.native }: ActionOptions,
): FileAction[] {
  return files.flatMap(({ kind, paths, isSure }) =>
    paths.map((path): FileAction => {
      const found = readPath(path, { cwd, realPath, root: real?.cwd });
      const toolName = fileTool(kind);
      return { toolName, kind: "path", ...found, isFolder: false, exact: found.path, isSure };
    }),
  );
}

/** The tool that does to a file what a shell does. */
export function fileTool(kind: CommandReading["files"][number]["kind"]): string {
  return kind === "write" ? "write_file" : "read_file";
}

/** `root` is the real path of `cwd`, if that is known already. */
type Folder = { readonly cwd: string; readonly realPath?: RealPath | undefined; readonly root?: string | undefined };

/** `found` is where it leads, if that is known already. */
export function readPath(
  path: string,
  { cwd, realPath = realpathSync.native, root = realOf(resolve(cwd), realPath) }: Folder,
  found?: string,
): FoundPath {
  const asked = resolve(cwd, path);
  const real = found ?? realOf(asked, realPath);
  const named = below(resolve(cwd), asked);
  return {
    path: below(root, real),
    named,
    isFromRoot: isAbsolute(path) && isAbsolute(named),
    absolute: { path: real, named: asked },
  };
}

/** The real folder that a command runs in. */
export function realFolder(
  { input, cwd }: Pick<ApprovalRequest, "input" | "cwd">,
  { realPath = realpathSync.native }: ActionOptions,
): string {
  const given = (input as { cwd?: unknown } | null)?.cwd;
  return realOf(typeof given === "string" ? resolve(cwd, given) : resolve(cwd), realPath);
}

/** The same action as it is seen from another folder. */
export function seenFrom(root: string, action: Action): Action {
  if (action.kind !== "path") return action;
  const { path, named } = action.absolute;
  return { ...action, path: below(root, path), named: below(root, named) };
}

/** Follows the links as the kernel does; of what exists, each name is then written as the file system has it. */
function realOf(path: string, realPath: RealPath): string {
  if (realIfThere(path, realPath) === path && !isOfProcess(path)) return path;
  const followed = followLinks(path);
  if (isOfProcess(followed)) return followed;
  const missing: string[] = [];
  for (let folder = followed; ; folder = dirname(folder)) {
    const real = realIfThere(folder, realPath);
    if (real !== undefined) return join(real, ...missing.reverse());
    if (dirname(folder) === folder) return followed;
    missing.push(basename(folder));
  }
}

function realIfThere(path: string, realPath: RealPath): string | undefined {
  try {
    return realPath(path);
  } catch {
    return undefined;
  }
}

function below(root: string, path: string): string {
  const way = relative(root, path);
  if (way === "") return ".";
  const isOutside = way === ".." || way.startsWith(`..${sep}`) || isAbsolute(way);
  return (isOutside ? path : way).replaceAll(sep, "/");
}

/** Undefined for anything but an address of the web. */
export function readHost(url: unknown): HostAction | undefined {
  if (typeof url !== "string" || !URL.canParse(url)) return undefined;
  const { protocol, hostname, port, username, password } = new URL(url);
  if ((protocol !== "https:" && protocol !== "http:") || hostname === "") return undefined;
  const host = trimEndOf(hostname, ".") + (port === "" ? "" : `:${port}`);
  const origin = protocol === "https:" ? host : `http://${host}`;
  return { kind: "host", host, origin, isPlain: username === "" && password === "" };
}

function agentNames(toolName: string, fields: Fields): string[] {
  const named = namedAgent(toolName);
  if (named !== undefined) return [named];
  const tasks: unknown[] = toolName === "subagent" ? [fields] : Array.isArray(fields.tasks) ? fields.tasks : [{}];
  return tasks.map((task) => {
    const name = typeof task === "object" && task !== null && "agent" in task ? task.agent : undefined;
    return typeof name === "string" ? name : "";
  });
}

/** The same text for the same value: the order of keys does not matter. */
export function canonicalJson(value: unknown): string {
  const sorted = (_: string, item: unknown): unknown =>
    typeof item === "object" && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : typeof item === "bigint"
        ? String(item)
        : item;
  return JSON.stringify(value, sorted) ?? "null";
}

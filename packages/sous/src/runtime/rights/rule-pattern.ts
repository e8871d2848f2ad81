/** The pattern of a rule: `terminal(git status*)`, `write_file(.env*)`, `fetch(example.com)`, or a tool alone. */

import { shortened } from "../../core/clean-text.ts";
import { externalName } from "../../core/external-agent.ts";
import { matchesGlob, matchesPath, mayStart, pathNames, wildcardSegments } from "../../core/glob.ts";
import { mayMeanMcpTool, readMcpName } from "../../core/mcp-names.ts";
import { type Action, type ActionKind, kindOf, namedAgent, readHost } from "./action.ts";
import { compileCommandPattern } from "./command-pattern.ts";
import { readCommandLine } from "./command-reading.ts";

export type RulePattern = {
  /** `tool`: every call of it. `exact`: one action as it stands. Both hold for a command that is not understood, too. */
  readonly scope: "tool" | "exact" | "pattern";
  /** True for a rule about this tool, whatever the call is. */
  isFor(toolName: string): boolean;
  /**
   * True, for a rule that allows: this part of the action surely matches, so that several rules can allow a compound action
   * together.
   */
  covers(action: Action, part: number): boolean;
  /** True, for a rule that forbids or asks: something in the action may match. */
  touches(action: Action): boolean;
};

/** The part in the brackets. */
type Inner = Omit<RulePattern, "isFor">;

/** Characters of a rule in a sentence about it. */
const MAX_SHOWN = 80;

/** The sentence that says what is wrong with a pattern, for its author; undefined for a good one. */
export function checkPattern(text: string): string | undefined {
  const pattern = compilePattern(text);
  return typeof pattern === "string" ? pattern : undefined;
}

/** The pattern, or the sentence that says what is wrong with it. `home` is what `~/` stands for in commands. */
export function compilePattern(text: string, home?: string): RulePattern | string {
  const written = text.trim();
  const [, toolName, argument] = /^([A-Za-z0-9_*-]{1,64})(?:\((.*)\))?$/s.exec(written) ?? [];
  if (toolName === undefined) {
    return `${JSON.stringify(shortened(written, MAX_SHOWN))} is not a rule; write tool or tool(pattern), such as terminal(git status*)`;
  }
  if (argument === undefined) return toolPattern(toolName);
  if (toolName.includes("*"))
    return `${toolName} stands for several tools, so it takes no pattern in brackets; name one tool`;
  if (argument.trim() === "")
    return `${toolName}() has nothing in its brackets; write ${toolName} for every call of it`;
  const inner = argument.startsWith("=")
    ? exactPattern(exactText(toolName, argument.slice(1), home))
    : compileInner(kindOf(toolName), argument.trim(), home);
  if (typeof inner === "string") return `In ${shortened(written, MAX_SHOWN)}: ${inner}`;
  // `subagent(scout)` is about the agent, whichever tool calls it.
  const isForAgents = toolName === "subagent" && !argument.startsWith("=");
  const isMeant = (action: Action): boolean => (isForAgents ? action.kind === "agents" : action.toolName === toolName);
  const mayBeMeant = (action: Action): boolean => isMeant(action) || mayMeanMcpTool(toolName, action.toolName);
  return {
    scope: inner.scope,
    isFor: (name) => name === toolName,
    covers: (action, part) => isMeant(action) && inner.covers(action, part),
    // An input of an unexpected shape could be what is forbidden.
    touches: (action) => mayBeMeant(action) && (action.kind === "unknown" || inner.touches(action)),
  };
}

/** Counts the parts of an action, each of which must be allowed. */
export function countParts(action: Action): number {
  if (action.kind === "command") return action.reading.problem === undefined ? action.reading.parts.length : 1;
  return action.kind === "agents" ? action.names.length : 1;
}

/** A tool without brackets. `subagent_scout` is the same agent as `subagent(scout)`, by whichever tool it is called. */
function toolPattern(toolName: string): RulePattern {
  const agent = namedAgent(toolName);
  if (agent !== undefined && !agent.includes("*")) {
    return {
      scope: "pattern",
      isFor: (name) => name === toolName,
      covers: (action, part) => action.kind === "agents" && action.names[part] === agent,
      touches: (action) => action.kind === "agents" && action.names.includes(agent),
    };
  }
  // `mcp__github` is every tool of that server, as in agent files and options.
  const server = readMcpName(toolName);
  const whole = server !== undefined && server.tool === undefined ? `mcp__${server.server}__*` : toolName;
  const isFor = (name: string): boolean => matchesGlob(toolName, name) || matchesGlob(whole, name);
  // `subagent_*` is every agent that has a name, by whichever tool it is called.
  // `subagent` is every child that a call starts, with a definition or without, by whichever tool.
  const isForAgent = (name = ""): boolean => toolName === "subagent" || (name !== "" && isFor(`subagent_${name}`));
  return {
    scope: "tool",
    isFor,
    covers: (action, part) => isFor(action.toolName) || (action.kind === "agents" && isForAgent(action.names[part])),
    touches: (action) =>
      isFor(action.toolName) ||
      mayMeanMcpTool(toolName, action.toolName) ||
      (action.kind === "agents" && action.names.some((name) => isForAgent(name))),
  };
}

/** A command has one spelling here, as in `Action.exact`. */
function exactText(toolName: string, text: string, home: string | undefined): string {
  return kindOf(toolName) === "command" ? (readCommandLine(text, { home }).canonical ?? text) : text;
}

/** Everything after `=` is taken as it stands: exactly this action and no other. */
function exactPattern(exact: string): Inner {
  const isSame = (action: Action): boolean => action.exact === exact;
  return { scope: "exact", covers: isSame, touches: isSame };
}

type ActionOf<Kind extends ActionKind> = Extract<Action, { kind: Kind }>;

/** A pattern for actions of one kind. */
type KindPattern<Kind extends ActionKind> = {
  /** True, for a rule that allows: this part of the action surely matches, spelled like this. */
  covers(action: ActionOf<Kind>, part: number): boolean;
  /** True, for a rule that forbids or asks: something in the action may match, however it is spelled. */
  touches(action: ActionOf<Kind>): boolean;
};

/** Gives the pattern, or the sentence that says what is wrong with it. */
type Compile<Kind extends ActionKind> = (text: string, home: string | undefined) => KindPattern<Kind> | string;

const COMPILERS: { readonly [Kind in ActionKind]: Compile<Kind> } = {
  command: commandPattern,
  path: pathPattern,
  host: hostPattern,
  agents: agentPattern,
  server: serverPattern,
  fields: fieldPattern,
};

function compileInner<Kind extends ActionKind>(kind: Kind, text: string, home: string | undefined): Inner | string {
  const compile: Compile<Kind> = COMPILERS[kind];
  const pattern = compile(text, home);
  if (typeof pattern === "string") return pattern;
  const isOfKind = (action: Action): action is ActionOf<Kind> => action.kind === kind;
  return {
    scope: "pattern",
    covers: (action, part) => isOfKind(action) && pattern.covers(action, part),
    touches: (action) => isOfKind(action) && pattern.touches(action),
  };
}

function commandPattern(text: string, home: string | undefined): KindPattern<"command"> | string {
  const pattern = compileCommandPattern(text, home);
  if (typeof pattern === "string") return pattern;
  return {
    covers: ({ reading: { parts, problem } }, part) => {
      const found = parts[part];
      return problem === undefined && found !== undefined && pattern.covers(found);
    },
    // A command that is not understood still has the parts before the problem.
    touches: ({ reading }) => reading.parts.some((part) => pattern.touches(part)),
  };
}

/** `src/**`. As in .gitignore, a pattern without a slash matches names at any depth. */
function pathPattern(text: string): KindPattern<"path"> | string {
  if (/[[\]{}]/.test(text)) return "[ ] and { } are not known here: write one rule for each choice, with *, ** and ?";
  if (/[\\\p{Cc}]/u.test(text)) return "paths are written with / and without control characters";
  const written = text.replace(/^(?:\.\/)+/, "");
  const names = written.split("/").filter((name) => name !== "" && name !== ".");
  if (names.length === 0 || names.includes("..") || names[0] === "~") {
    return "a path is relative to the workspace, such as src/** or .env*";
  }
  if (names.at(-1) === "**") names.push("*");
  const segments = names.length === 1 && !/\/./.test(written) && !written.startsWith("/") ? ["**", ...names] : names;
  const exact = wildcardSegments(segments);
  const folded = wildcardSegments(segments.map(fold));
  const touches = (path: string): boolean => {
    const given = pathNames(fold(path));
    return given.some((_, index) => matchesPath(folded, given.slice(0, index + 1)));
  };
  const touchesBelow = (folder: string): boolean =>
    touches(folder) || mayStart(folded, folder === "." ? [] : pathNames(fold(folder)));
  return {
    covers: ({ path }) => matchesPath(exact, pathNames(path)),
    // The file or a folder it lies in; for a tool that looks at everything below a folder, also what is below.
    touches: ({ path, named, isFolder }) => [path, named].some(isFolder ? touchesBelow : touches),
  };
}

/** Some file systems take `.ENV` for `.env`, and one way to write é for another. */
function fold(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}

/** `example.com`, `*.example.com` and `example.com:8443`. */
function hostPattern(text: string): KindPattern<"host"> | string {
  if (text === "*") return { covers: ({ isPlain }) => isPlain, touches: () => true };
  const isBelow = text.startsWith("*.");
  const name = isBelow ? text.slice(2) : text;
  const host = /[\s/?#@\\*%]/.test(name) ? undefined : readHost(`https://${name}`)?.host;
  if (host === undefined) return "it must be a host, such as example.com, *.example.com or example.com:8443";
  const fits = (found: string): boolean => (isBelow ? found.endsWith(`.${host}`) : found === host);
  return {
    covers: ({ isPlain, host: found }) => isPlain && fits(found),
    // The rule matches on any port, unless it names one.
    touches: ({ host: found }) => fits(found) || fits(found.replace(/:\d+$/, "")),
  };
}

function agentPattern(text: string): KindPattern<"agents"> | string {
  if (!/^[^\s()=,]+$/.test(text)) return "it must be the name of an agent, such as scout or review-*";
  return {
    covers: ({ names }, part) => matchesGlob(text, names[part] ?? ""),
    touches: ({ names }) => names.some((name) => matchesGlob(text.toLowerCase(), name.toLowerCase())),
  };
}

/** The name of a server in `agent_servers`, as it is written there or behind `external/`: no two have the same short name. */
function serverPattern(text: string): KindPattern<"server"> | string {
  const name = text.replace(/^serverName=/, "").replace(/^external\//, "");
  if (!/^[\w .:+()*-]+$/.test(name)) return "it must be the name of a server in agent_servers, such as claude or *";
  const short = name.toLowerCase().replace(/[^a-z0-9._*]+/g, "-");
  const fits = ({ name: found }: ActionOf<"server">): boolean => matchesGlob(short, externalName(found));
  return { covers: fits, touches: fits };
}

/** `owner=acme, repo=*`, for a tool whose input has no meaning of its own here, such as one of MCP. */
function fieldPattern(text: string): KindPattern<"fields"> | string {
  const pairs: [name: string, value: string][] = [];
  for (const pair of text.split(",")) {
    const equals = pair.indexOf("=");
    const name = pair.slice(0, Math.max(0, equals)).trim();
    const value = pair.slice(equals + 1).trim();
    if (!/^[\w.-]+$/.test(name)) {
      return "it must name fields of the input, such as owner=acme, repo=*; a rule for exactly one input begins with =";
    }
    pairs.push([name, value]);
  }
  const matches = (fields: Fields, fold: (text: string) => string): boolean =>
    pairs.every(([name, value]) => {
      const found = textOf(fields, name);
      return found !== undefined && matchesGlob(fold(value), fold(found));
    });
  return {
    covers: ({ fields }) => matches(fields, (each) => each),
    touches: ({ fields }) => matches(fields, (each) => each.toLowerCase()),
  };
}

type Fields = Readonly<Record<string, unknown>>;

/** Lists and objects are compared as JSON. */
function textOf(fields: Fields, name: string): string | undefined {
  if (!Object.hasOwn(fields, name)) return undefined;
  const value = fields[name];
  return typeof value === "string" ? value : JSON.stringify(value);
}

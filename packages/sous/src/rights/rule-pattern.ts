/** The pattern of a rule: `terminal(git status*)`, `write_file(.env*)`, `fetch(example.com)`, or a tool alone. */

import { matchesGlob } from "../core/glob.ts";
import { type Action, type ActionKind, kindOf, namedAgent } from "./action.ts";
import { compileCommandPattern } from "./command-pattern.ts";
import { readCommandLine } from "./command-reading.ts";
import { compileFieldPattern, compileHostPattern, compilePathPattern } from "./input-patterns.ts";

export type RulePattern = {
  /** `tool`: every call of it. `exact`: one action as it stands. Both hold for a command that is not understood, too. */
  readonly scope: "tool" | "exact" | "pattern";
  /** True for a rule about this tool, whatever the call is. */
  isFor(toolName: string): boolean;
  /** For a rule that allows: surely this, part by part, so that several rules can allow a compound action together. */
  covers(action: Action, part: number): boolean;
  /** For a rule that forbids or asks: perhaps this, anywhere in the action. */
  touches(action: Action): boolean;
};

/** What stands in the brackets. */
type Inner = Omit<RulePattern, "isFor">;

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
    return `${JSON.stringify(shortened(written))} is not a rule; write tool or tool(pattern), such as terminal(git status*)`;
  }
  if (argument === undefined) return toolPattern(toolName);
  if (toolName.includes("*"))
    return `${toolName} stands for several tools, so it takes no pattern in brackets; name one tool`;
  if (argument.trim() === "")
    return `${toolName}() has nothing in its brackets; write ${toolName} for every call of it`;
  const inner = argument.startsWith("=")
    ? exactPattern(exactText(toolName, argument.slice(1), home))
    : PATTERNS[kindOf(toolName)](argument.trim(), home);
  if (typeof inner === "string") return `In ${shortened(written)}: ${inner}`;
  const isMeant = toolTest(toolName, argument);
  return {
    scope: inner.scope,
    isFor: (name) => name === toolName,
    covers: (action, part) => isMeant(action) && inner.covers(action, part),
    // An input of an unexpected shape could be what is forbidden.
    touches: (action) => isMeant(action) && (action.kind === "unknown" || inner.touches(action)),
  };
}

/** How many parts of an action must each be allowed. */
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
  const isFor = (name: string): boolean => matchesGlob(toolName, name);
  // `subagent_*` is every agent that has a name, by whichever tool it is called.
  const isForAgent = (name = ""): boolean => name !== "" && isFor(`subagent_${name}`);
  return {
    scope: "tool",
    isFor,
    covers: (action, part) => isFor(action.toolName) || (action.kind === "agents" && isForAgent(action.names[part])),
    touches: (action) =>
      isFor(action.toolName) || (action.kind === "agents" && action.names.some((name) => isForAgent(name))),
  };
}

function toolTest(toolName: string, argument: string): (action: Action) => boolean {
  // `subagent(scout)` is about the agent, whichever tool calls it.
  if (toolName === "subagent" && !argument.startsWith("=")) return (action) => action.kind === "agents";
  return (action) => action.toolName === toolName;
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

const PATTERNS: Record<ActionKind, (text: string, home: string | undefined) => Inner | string> = {
  command: (text, home) => {
    const pattern = compileCommandPattern(text, home);
    if (typeof pattern === "string") return pattern;
    return {
      scope: "pattern",
      covers: (action, part) => {
        if (action.kind !== "command" || action.reading.problem !== undefined) return false;
        const found = action.reading.parts[part];
        return found !== undefined && pattern.covers(found);
      },
      // Of a command that is not understood, what was read before the problem.
      touches: (action) => action.kind === "command" && action.reading.parts.some((part) => pattern.touches(part)),
    };
  },
  path: (text) => {
    const pattern = compilePathPattern(text);
    if (typeof pattern === "string") return pattern;
    return {
      scope: "pattern",
      covers: (action) => action.kind === "path" && pattern.covers(action.path),
      touches: (action) => {
        if (action.kind !== "path") return false;
        const touches = action.isFolder ? pattern.touchesBelow : pattern.touches;
        return touches(action.path) || touches(action.named);
      },
    };
  },
  host: (text) => {
    const pattern = compileHostPattern(text);
    if (typeof pattern === "string") return pattern;
    return {
      scope: "pattern",
      covers: (action) => action.kind === "host" && pattern.covers(action),
      touches: (action) => action.kind === "host" && pattern.touches(action),
    };
  },
  agents: (text) => {
    if (!/^[^\s()=,]+$/.test(text)) return "it must be the name of an agent, such as scout or review-*";
    return {
      scope: "pattern",
      covers: (action, part) => action.kind === "agents" && matchesGlob(text, action.names[part] ?? ""),
      touches: (action) =>
        action.kind === "agents" && action.names.some((name) => matchesGlob(text.toLowerCase(), name.toLowerCase())),
    };
  },
  fields: (text) => {
    const pattern = compileFieldPattern(text);
    if (typeof pattern === "string") return pattern;
    return {
      scope: "pattern",
      covers: (action) => action.kind === "fields" && pattern.covers(action.fields),
      touches: (action) => action.kind === "fields" && pattern.touches(action.fields),
    };
  },
};

function shortened(text: string): string {
  return text.length <= 80 ? text : `${text.slice(0, 80)}…`;
}

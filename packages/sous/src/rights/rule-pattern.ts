/** The pattern of a rule: `terminal(git status*)`, `write_file(.env*)`, `fetch(example.com)`, or a tool alone. */

import { matchesGlob } from "../core/matches-glob.ts";
import { type Action, type ActionKind, kindOf, namedAgent } from "./action.ts";
import { compileCommandPattern } from "./command-pattern.ts";
import { compileFieldPattern } from "./field-pattern.ts";
import { compileHostPattern } from "./host-pattern.ts";
import { compilePathPattern } from "./path-pattern.ts";

export type RulePattern = {
  /** For a rule that allows: surely this, part by part, so that several rules can allow a compound action together. */
  covers(action: Action, part: number): boolean;
  /** For a rule that forbids or asks: perhaps this, anywhere in the action. */
  touches(action: Action): boolean;
};

/** The sentence that says what is wrong with a pattern, for whoever wrote it; undefined for a good one. */
export function checkPattern(text: string): string | undefined {
  const pattern = compilePattern(text);
  return typeof pattern === "string" ? pattern : undefined;
}

/** The pattern, or the sentence that says what is wrong with it. */
export function compilePattern(text: string): RulePattern | string {
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
    ? exactPattern(argument.slice(1))
    : PATTERNS[kindOf(toolName)](argument.trim());
  if (typeof inner === "string") return `In ${shortened(written)}: ${inner}`;
  const isMeant = toolTest(toolName, argument);
  return {
    covers: (action, part) => isMeant(action) && inner.covers(action, part),
    // An input of a shape that nobody expected could be what is forbidden.
    touches: (action) => isMeant(action) && (action.kind === "unknown" || inner.touches(action)),
  };
}

/** How many parts of an action must each be allowed. */
export function countParts(action: Action): number {
  if (action.kind === "command") return action.reading.isPlain ? action.reading.parts.length : 1;
  return action.kind === "agents" ? action.names.length : 1;
}

/** A tool without brackets. `subagent_scout` is the same agent as `subagent(scout)`, by whichever tool it is called. */
function toolPattern(toolName: string): RulePattern {
  const agent = namedAgent(toolName);
  if (agent !== undefined && !agent.includes("*")) {
    return {
      covers: (action, part) => action.kind === "agents" && action.names[part] === agent,
      touches: (action) => action.kind === "agents" && action.names.includes(agent),
    };
  }
  const isMeant = (action: Action): boolean => matchesGlob(toolName, action.toolName);
  return { covers: isMeant, touches: isMeant };
}

function toolTest(toolName: string, argument: string): (action: Action) => boolean {
  // `subagent(scout)` is about the agent, whichever tool calls it.
  if (toolName === "subagent" && !argument.startsWith("=")) return (action) => action.kind === "agents";
  return (action) => action.toolName === toolName;
}

/** Everything after `=` is taken as it stands: exactly this action and no other. */
function exactPattern(exact: string): RulePattern {
  const isSame = (action: Action): boolean => action.exact === exact;
  return { covers: isSame, touches: isSame };
}

const PATTERNS: Record<ActionKind, (text: string) => RulePattern | string> = {
  command: (text) => {
    const pattern = compileCommandPattern(text);
    if (typeof pattern === "string") return pattern;
    return {
      covers: (action, part) =>
        action.kind === "command" && action.reading.isPlain && pattern.covers(action.reading.parts[part] ?? []),
      touches: (action) => action.kind === "command" && pattern.touches(action.command, action.reading),
    };
  },
  path: (text) => {
    const pattern = compilePathPattern(text);
    if (typeof pattern === "string") return pattern;
    return {
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
      covers: (action) => action.kind === "host" && pattern.covers(action),
      touches: (action) => action.kind === "host" && pattern.touches(action),
    };
  },
  agents: (text) => {
    if (!/^[^\s()=,]+$/.test(text)) return "it must be the name of an agent, such as scout or review-*";
    return {
      covers: (action, part) => action.kind === "agents" && matchesGlob(text, action.names[part] ?? ""),
      touches: (action) =>
        action.kind === "agents" && action.names.some((name) => matchesGlob(text.toLowerCase(), name.toLowerCase())),
    };
  },
  fields: (text) => {
    const pattern = compileFieldPattern(text);
    if (typeof pattern === "string") return pattern;
    return {
      covers: (action) => action.kind === "fields" && pattern.covers(action.fields),
      touches: (action) => action.kind === "fields" && pattern.touches(action.fields),
    };
  },
};

function shortened(text: string): string {
  return text.length <= 80 ? text : `${text.slice(0, 80)}…`;
}

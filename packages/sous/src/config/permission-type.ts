/** The rules of consent as a file has them: a list of `allow`, `ask` or `deny`, each with a tool and a pattern. */

import type { PermissionEffect } from "../core/configuration.ts";
import { nearest } from "../core/nearest.ts";
import type { Complaint, ValueType } from "./value-type.ts";

/** Its place in the list it came from is kept: people are told which line decided. */
export type GivenRule = { readonly effect: PermissionEffect; readonly pattern: string; readonly index: number };

const EFFECTS = ["allow", "ask", "deny"] as const;
const PATTERN = /^[\w*.:/-]+(\(.*\))?$/;
const EXAMPLE = '{ allow: "terminal(git status*)" }';

export function permissions(): ValueType<readonly GivenRule[]> {
  const rule = (effect: string) => ({
    type: "object",
    properties: { [effect]: { type: "string", pattern: PATTERN.source } },
    required: [effect],
    additionalProperties: false,
  });
  return {
    allowed: `a list of rules such as ${EXAMPLE}`,
    advice: `a list of rules such as ${EXAMPLE}`,
    jsonSchema: { type: "array", items: { anyOf: EFFECTS.map(rule) } },
    read(given) {
      if (!Array.isArray(given)) {
        return { complaints: [{ kind: "type", path: [], message: `must be a list of rules such as ${EXAMPLE}` }] };
      }
      const read = given.map((each: unknown, index) => readRule(each, index));
      const complaints = read.flatMap((each) => ("complaint" in each ? [each.complaint] : []));
      if (complaints.length > 0) return { complaints };
      return { value: read.flatMap((each) => ("rule" in each ? [each.rule] : [])) };
    },
    show: (rules) =>
      rules.length === 0 ? "none" : rules.map(({ effect, pattern }) => `${effect} ${pattern}`).join(", "),
  };
}

function readRule(given: unknown, index: number): { rule: GivenRule } | { complaint: Complaint } {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    return { complaint: { kind: "type", path: [index], message: `must be a rule such as ${EXAMPLE}` } };
  }
  const [first, ...others] = Object.entries(given);
  if (first === undefined || others.length > 0) {
    const message = `must have exactly one of allow, ask and deny, such as ${EXAMPLE}`;
    return { complaint: { kind: "range", path: [index], message } };
  }
  const [name, pattern] = first;
  const effect = EFFECTS.find((each) => each === name);
  if (effect === undefined) {
    const meant = nearest(name, EFFECTS);
    const fix = meant === undefined ? `write ${EXAMPLE}` : `did you mean ${meant}?`;
    return { complaint: { kind: "unknown-key", path: [index, name], message: "is not known", fix } };
  }
  if (typeof pattern !== "string" || pattern.length > MAX_PATTERN || !PATTERN.test(pattern)) {
    const message = "must be a tool, or a tool with a pattern such as terminal(git status*)";
    return { complaint: { kind: typeof pattern === "string" ? "range" : "type", path: [index, name], message } };
  }
  return { rule: { effect, pattern, index } };
}

const MAX_PATTERN = 1000;

/** Settings that are texts, lists of them, rules and prices: names, addresses, hosts, models, permissions. */

import * as z from "zod";
import type { PermissionEffect } from "../../core/configuration.ts";
import { isAllowEntry, isExternalModel } from "../../core/model.ts";
import { nearest } from "../../core/nearest.ts";
import type { Price } from "../../core/usage.ts";
import { type Fields, groupsOf } from "./group-types.ts";
import { type Complaint, described, type Read, readBy } from "./value-type.ts";

type TextRules = {
  readonly allowed: string;
  readonly example: string;
  /** The form as a schema for editors; `refuse` may want more. */
  readonly pattern?: RegExp | undefined;
  /** Says why a text is not allowed; undefined when it is. */
  refuse?(text: string): string | undefined;
};

const MAX_LENGTH = 4096;

export function text({ allowed, example, pattern, refuse }: TextRules) {
  const wants = `must be ${allowed}`;
  const type = z.string(`must be a text (allowed: ${allowed})`).min(1, wants);
  const matching = (pattern === undefined ? type : type.regex(pattern, wants)).refine(
    (given) => given.length <= MAX_LENGTH && !CONTROL.test(given),
    wants,
  );
  const refusing = matching.superRefine((given, context) => {
    const message = refuse?.(given);
    if (message !== undefined) context.addIssue({ code: "custom", message });
  });
  return described(refusing, {
    allowed,
    advice: `${allowed}, such as ${example}`,
    fromText: (variable) => variable,
  });
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: a setting is one line, and none acts on a terminal.
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

export function model() {
  return text({
    allowed: "provider/model",
    example: "anthropic/claude-sonnet-4-5",
    pattern: /^[a-z][a-z0-9-]*\/\S(.*\S)?$/,
    refuse: (given) =>
      isExternalModel(given)
        ? "cannot be an external agent: the root needs a model of its own, and an agent file may say model: external/NAME"
        : undefined,
  });
}

/** A password in an address would be shown wherever the address is. */
export function address() {
  return text({
    allowed: "an address that begins with http:// or https://",
    example: "http://127.0.0.1:8080/v1",
    pattern: /^https?:\/\/\S+$/,
    refuse(given) {
      const url = URL.parse(given);
      if (url === null) return "must be an address that begins with http:// or https://";
      return url.username === "" && url.password === ""
        ? undefined
        : "must not contain a name or a password (a key belongs in a variable, see provider.api_key_env)";
    },
  });
}

export function variableName() {
  return text({ allowed: "the name of a variable, not its value", example: "MY_API_KEY", pattern: VARIABLE });
}

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Names of variables, such as those that a command may set. */
export function variableNames() {
  const allowed = "a list of names of variables";
  const about = { allowed, advice: `${allowed} such as [DATABASE_URL, APP_ENV]`, fromText: splitWords };
  return listOf({ pattern: VARIABLE, wants: "the name of a variable, not its value" }, about);
}

/** Lower-case host names; `*.` in front stands for everything below. */
export function hosts() {
  const allowed = "a list of host names";
  const item = {
    pattern: /^(\*\.)?[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/,
    wants: "a host name such as docs.example.com or *.example.com, without scheme and path",
    accepts: (host: string) => host.length <= MAX_HOST,
    toValue: (host: string) => host.toLowerCase(),
  };
  const advice = `${allowed} such as [docs.example.com, "*.example.org"]`;
  return listOf(item, { allowed, advice, fromText: splitWords });
}

const MAX_HOST = 255;

/** `provider/model`, or `provider/*` for all of one. */
export function modelList() {
  const allowed = "a list of provider/model or provider/*";
  const item = {
    pattern: /^[a-z][a-z0-9-]*\/(\*|[^*\s]+)$/,
    wants: "provider/model, or provider/* for every model of a provider; external agents (external/) are not models",
    accepts: isAllowEntry,
  };
  return listOf(item, { allowed, advice: `${allowed}, such as [openai/gpt-5, "ollama/*"]` });
}

type Item = {
  readonly pattern: RegExp;
  /** Follows "must be". */
  readonly wants: string;
  /** Checks what the pattern cannot say. */
  accepts?(text: string): boolean;
  toValue?(text: string): string;
};

function listOf(item: Item, about: Parameters<typeof described>[1]) {
  const { pattern, accepts = () => true, toValue = String } = item;
  const wants = `must be ${item.wants}`;
  const each = z.string(wants).regex(pattern, wants).refine(accepts, wants);
  const list = z.array(each, `must be a list (allowed: ${about.allowed})`);
  return described(
    list.transform((texts): readonly string[] => texts.map(toValue)),
    about,
  );
}

function splitWords(variable: string): string[] {
  return variable.split(/[\s,]+/).filter((each) => each !== "");
}

/** Keeps its index in the list it came from: people are told which line decided. */
export type GivenRule = { readonly effect: PermissionEffect; readonly pattern: string; readonly index: number };

const EFFECTS = ["allow", "ask", "deny"] as const;
const PATTERN = /^[\w*.:/-]+(\(.*\))?$/;
const EXAMPLE = '{ allow: "terminal(git status*)" }';

export function permissions() {
  const rule = (effect: string) => ({
    type: "object",
    properties: { [effect]: { type: "string", pattern: PATTERN.source } },
    required: [effect],
    additionalProperties: false,
  });
  const allowed = `a list of rules such as ${EXAMPLE}`;
  const type = readBy(z.array(z.unknown(), `must be ${allowed}`), (given): Read<readonly GivenRule[]> => {
    const read = given.map((each, index) => readRule(each, index));
    const complaints = read.flatMap((each) => ("complaint" in each ? [each.complaint] : []));
    if (complaints.length > 0) return { complaints };
    return { value: read.flatMap((each) => ("rule" in each ? [each.rule] : [])) };
  });
  return described(type, {
    allowed,
    advice: allowed,
    schema: () => ({ type: "array", items: { anyOf: EFFECTS.map(rule) } }),
    show: (rules: readonly GivenRule[]) =>
      rules.length === 0 ? "none" : rules.map(({ effect, pattern }) => `${effect} ${pattern}`).join(", "),
  });
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

/** US dollars per million tokens, by model. */
export function prices() {
  const allowed = `prices by provider/model, each with ${Object.keys(PRICE_FIELDS).join(", ")} in US dollars per million tokens`;
  return groupsOf({
    allowed,
    advice: `${allowed}, such as { "ollama/llama3.2": { input: 0, output: 0 } }`,
    name: { pattern: /^[a-z][a-z0-9-]*\/\S(.*\S)?$/, wants: "the name of a model: provider/model" },
    fields: PRICE_FIELDS,
    needed: { all: ["input", "output"] },
    toValue: (given): Price => ({
      input: Number(given.input),
      output: Number(given.output),
      ...(given.cache_read === undefined ? {} : { cachedInput: Number(given.cache_read) }),
      ...(given.cache_write === undefined ? {} : { cacheWrite: Number(given.cache_write) }),
    }),
  });
}

const AMOUNT = z.number("must be a number of US dollars per million tokens").min(0, "must be 0 or more");
const PRICE_FIELDS: Fields = { input: AMOUNT, output: AMOUNT, cache_read: AMOUNT, cache_write: AMOUNT };

/** Absolute, or below the home folder. */
export function agentFolders() {
  const allowed = "a list of folders";
  const item = {
    pattern: /^((sous|claude|gemini|opencode):)?(\/|~\/)[^\p{Cc}]*$/u,
    wants: "a folder that begins with / or ~/, if need be with claude:, gemini:, opencode: or sous: before it",
  };
  return listOf(item, { allowed, advice: `${allowed} such as ["~/.claude/agents", "claude:~/team/agents"]` });
}

/** Names of agents, or files and folders as `sous agents check` names them. */
export function agentNames() {
  const allowed = "a list of names, files or folders";
  const item = { pattern: /^[^\p{Cc}]+$/u, wants: "the name of an agent, a file or a folder" };
  return listOf(item, { allowed, advice: `${allowed} such as [reviewer, .claude/agents/]` });
}

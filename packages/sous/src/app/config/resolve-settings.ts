/** Resolves layers to values: the highest layer that may speak wins, every layer is checked, and no problem is reported twice. */

import type { ServerFields, Servers } from "./group-types.ts";
import { hideSecrets, type Layer, type LayerEntry, type Origin } from "./layer.ts";
import type { ConfigurationCode, Problem } from "./problem.ts";
import type { GivenRule } from "./setting-types.ts";
import type { Given, Setting } from "./settings.ts";
import { aboutOf, type Complaint, readValue, showValue, valueAt } from "./value-type.ts";

/** A value, where it came from, and what it hides: the lower layers that said something else. */
export type Resolved = {
  readonly setting: Setting;
  readonly value: unknown;
  readonly origin: Origin;
  readonly behind: readonly { readonly value: unknown; readonly origin: Origin }[];
};

export type Resolver = {
  readonly resolved: Map<string, Resolved>;
  readonly problems: Problem[];
  readonly warnings: string[];
  valueOf<Value>(setting: Setting<Value>): Value | undefined;
  /** The rules of the user, then those of the project. */
  rules(setting: Given<readonly GivenRule[]>): readonly ResolvedRule[];
  /** The servers of the user, then those of the project. */
  servers(setting: Given<Servers>, rules: ServerRules): readonly ResolvedServer[];
};

/** One entry, and where it is. */
export type ResolvedServer = {
  readonly name: string;
  readonly server: ServerFields;
  readonly origin: string;
  readonly isProject: boolean;
};

/** The limits of what a project may add to a setting of servers. */
export type ServerRules = {
  /** Rules and agent files know a server by it: `Claude-Code` must not answer for `claude code`. */
  shortName(name: string): string;
  /** Fields that a project may not give to a server. */
  readonly usersFields: readonly string[];
};

type ResolvedRule = GivenRule & { readonly origin: string; readonly isProject: boolean };

const DEFAULT: Origin = { layer: "default", where: "default" };

/** Says what is wrong with the pattern of a rule; undefined for a good one. */
export type CheckRule = (pattern: string) => string | undefined;

/** `layers` from the highest to the lowest. */
export function createResolver(layers: readonly Layer[], checkRule: CheckRule): Resolver {
  const resolved = new Map<string, Resolved>();
  const problems: Problem[] = [];
  const warnings: string[] = [];

  function effective<Value>(setting: Setting<Value>): Value | undefined {
    // The loop starts at the lowest layer, since a project is measured by what is below it.
    const said: { value: Value | undefined; origin: Origin }[] = [{ value: setting.default, origin: DEFAULT }];
    for (const { name, entry } of entriesFor(setting)) {
      const [last] = said;
      // A value that a project may never set is not checked.
      const isForbidden = name === "project" && setting.project === "never";
      const read = isForbidden ? { value: undefined } : readEntry(setting, entry);
      if (read === undefined) continue;
      const refusal =
        name === "project" ? projectRefusal(setting, read.value, last?.value ?? setting.bound) : undefined;
      if (refusal === undefined) said.unshift({ value: read.value, origin: entry.origin() });
      else ignore({ what: "", why: refusal, origin: entry.origin() }, setting);
    }
    const [{ value, origin } = { value: setting.default, origin: DEFAULT }, ...behind] = said;
    keep(setting, value, origin, behind);
    return value;
  }

  function keep(setting: Setting, value: unknown, origin: Origin, behind: Resolved["behind"]): void {
    resolved.set(setting.key, { setting, value, origin, behind });
  }

  function entriesFor({ key }: Setting): { name: Layer["name"]; entry: LayerEntry }[] {
    return layers.toReversed().flatMap(({ name, entries }) => {
      const entry = entries.get(key);
      return entry === undefined ? [] : [{ name, entry }];
    });
  }

  function readEntry<Value>(setting: Setting<Value>, entry: LayerEntry): { value: Value | undefined } | undefined {
    if (entry.given === null && setting.default === undefined) return { value: undefined };
    const read = readValue(setting.type, entry.given);
    if ("value" in read) return read;
    problems.push(...read.complaints.map((complaint) => toProblem(setting, entry, complaint)));
    return undefined;
  }

  function checkPattern(setting: Setting, entry: LayerEntry, { effect, pattern, index }: GivenRule): void {
    const complaint = checkRule(pattern);
    if (complaint === undefined) return;
    const message = `is not a rule: ${complaint}`;
    problems.push(toProblem(setting, entry, { kind: "range", path: [index, effect], message }));
  }

  function ignore({ what, why, origin }: Ignored, { key }: Setting): void {
    warnings.push(`${origin.where}: ${key}${what === "" ? "" : `: ${what}`} is ignored: ${why}`);
  }

  function partsOf<Value>(setting: Given<Value>, narrow: Narrow<Value>): Part<Value>[] {
    const parts: Part<Value>[] = [];
    for (const { name, entry } of entriesFor(setting)) {
      const value = readEntry(setting, entry)?.value;
      if (value === undefined) continue;
      const isProject = name === "project";
      const { taken, ignored } = isProject ? narrow(value, entry, parts) : { taken: value, ignored: [] };
      for (const each of ignored) ignore(each, setting);
      parts.push({ taken, entry, isProject });
    }
    return parts;
  }

  return {
    resolved,
    problems,
    warnings,
    valueOf: effective,
    rules(setting) {
      const parts = partsOf(setting, narrowingRules);
      for (const { taken, entry } of parts) for (const rule of taken) checkPattern(setting, entry, rule);
      const rules = parts.flatMap(({ taken, entry, isProject }) =>
        taken.map((rule) => ({ ...rule, origin: entry.origin([rule.index]).where, isProject })),
      );
      keep(setting, rules, together(parts.filter(({ taken }) => taken.length > 0)), []);
      return rules;
    },
    servers(setting, rules) {
      const parts = partsOf(setting, (wanted, entry, earlier) => addedServers(wanted, entry, earlier, rules));
      const all: Servers = Object.assign(Object.create(null), ...parts.map(({ taken }) => taken));
      keep(setting, all, together(parts.filter(({ taken }) => Object.keys(taken).length > 0)), []);
      return parts.flatMap(({ taken, entry, isProject }) =>
        Object.entries(taken).map(([name, server]) => ({
          ...{ name, server, isProject },
          origin: entry.origin([name]).where,
        })),
      );
    },
  };
}

/** The part that one layer adds to a setting that several add to. */
type Part<Value> = { readonly taken: Value; readonly entry: LayerEntry; readonly isProject: boolean };

/** The part that a project may add; `earlier` is what lower layers said. */
type Narrow<Value> = (wanted: Value, entry: LayerEntry, earlier: readonly Part<Value>[]) => Narrowed<Value>;
type Narrowed<Value> = { readonly taken: Value; readonly ignored: readonly Ignored[] };

/** The origin of a value that several layers add to. */
function together(parts: readonly Part<unknown>[]): Origin {
  const origins = parts.map(({ entry }) => entry.origin());
  const [first] = origins;
  if (first === undefined) return DEFAULT;
  return { layer: first.layer, where: origins.map(({ where }) => where).join(", ") };
}

const CODES: Readonly<Record<Complaint["kind"], ConfigurationCode>> = {
  range: "SOUS-C003",
  type: "SOUS-C004",
  "unknown-key": "SOUS-C005",
};

function toProblem(setting: Setting, entry: LayerEntry, { kind, path, message, fix, isName }: Complaint): Problem {
  const inner = path.map((part) => (typeof part === "number" ? `[${part}]` : `.${part}`)).join("");
  const found = setting.isSecret ? undefined : describe(setting.key, valueAt(entry.given, path));
  const isKey = kind === "unknown-key" || isName === true;
  const location = entry.location(path, isKey ? "key" : "value");
  return {
    code: CODES[kind],
    location,
    message: `${setting.key}${inner} ${message}`,
    ...(found === undefined || isKey ? {} : { found }),
    fix: fix ?? (path.length > 0 ? `give ${aboutOf(setting.type)?.advice}` : adviceFor(setting, location.kind)),
  };
}

const REMOVE = { file: "remove the line", variable: "unset it", flag: "leave it out" };

function adviceFor({ type, default: fallback }: Setting, location: keyof typeof REMOVE): string {
  const without = fallback === undefined ? "" : ` for the default (${showValue(type, fallback)})`;
  return `${REMOVE[location]}${without}, or give ${aboutOf(type)?.advice}`;
}

const MAX_FOUND = 60;

/** Shortened, and without secrets: also when a key stands where its name belongs. */
function describe(key: string, value: unknown): string | undefined {
  if (hideSecrets(`${key}: x`) !== `${key}: x`) return undefined;
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "a group";
  if (typeof value === "number") return String(value);
  const text = hideSecrets(JSON.stringify(value) ?? "nothing");
  return text.length <= MAX_FOUND ? text : `${text.slice(0, MAX_FOUND)}…`;
}

/** Says why a project's value is ignored; undefined when it is taken. `users` is what holds without the project. */
function projectRefusal(setting: Setting, wanted: unknown, users: unknown): string | undefined {
  switch (setting.project) {
    case "never":
      return "only your own configuration may set it";
    case "free":
    case "add":
      return undefined;
    case "lower":
      return isLower(wanted, users)
        ? undefined
        : `a project may only lower it, and yours is ${users === undefined ? "not set" : showValue(setting.type, users)}`;
    case "same-provider":
      // The name of a model says whose server gets the conversation and which key is used. A project that was trusted to
      // be read was not asked about that, so it may choose among the models of a provider that the user has chosen.
      return providerOf(wanted) === providerOf(users)
        ? undefined
        : "a project may only choose another model of the provider that your own configuration names";
    default:
      return setting.project satisfies never;
  }
}

function isLower(wanted: unknown, users: unknown): boolean {
  if (users === undefined) return true;
  return typeof wanted === "number" && typeof users === "number" && wanted <= users;
}

function providerOf(model: unknown): unknown {
  return typeof model === "string" ? model.split("/", 1)[0] : Symbol("no model chosen");
}

/** An ignored part of a project's value, and where it is. */
type Ignored = { readonly what: string; readonly why: string; readonly origin: Origin };

/** Takes the project's rules that ask or deny: one that allows would let a repository give itself rights. */
function narrowingRules(rules: readonly GivenRule[], entry: LayerEntry): Narrowed<readonly GivenRule[]> {
  const taken = rules.filter(({ effect }) => effect !== "allow");
  const ignored = rules
    .filter(({ effect }) => effect === "allow")
    .map(({ pattern, index }) => ({
      what: `allow ${JSON.stringify(pattern)}`,
      why: "a project may only ask or deny",
      origin: entry.origin([index]),
    }));
  return { taken, ignored };
}

/** Takes the project's servers with names that no lower layer has, and without what only the user may set. */
function addedServers(
  wanted: Servers,
  entry: LayerEntry,
  earlier: readonly Part<Servers>[],
  { shortName, usersFields }: ServerRules,
): Narrowed<Servers> {
  const taken: Record<string, ServerFields> = Object.create(null);
  const ignored: Ignored[] = [];
  for (const [name, server] of Object.entries(wanted)) {
    const origin = entry.origin([name]);
    const isSame = (other: string): boolean => shortName(other) === shortName(name);
    const owner = earlier.find((part) => Object.keys(part.taken).some(isSame));
    if (owner !== undefined) {
      const whose = owner.isProject ? "the project's own configuration" : "your own configuration";
      ignored.push({ what: name, why: `${whose} has a server of this name`, origin });
      continue;
    }
    for (const field of usersFields.filter((each) => Object.hasOwn(server, each))) {
      const why = "a project may not set it for a server";
      ignored.push({ what: `${name}.${field}`, why, origin: entry.origin([name, field]) });
    }
    taken[name] = Object.fromEntries(Object.entries(server).filter(([field]) => !usersFields.includes(field)));
  }
  return { taken, ignored };
}

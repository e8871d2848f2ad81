/** The settings of one file: every value with its line, and every key that is not known with what was probably meant. */

import { nearest } from "../../core/nearest.ts";
import { isRecord } from "../../core/schema.ts";
import { type Layer, type LayerEntry, linesAround } from "./layer.ts";
import type { ConfigurationCode, Problem, ProblemLocation } from "./problem.ts";
import { MAX_CONFIGURATION_BYTES } from "./read-file.ts";
import { ALL_SETTINGS, SETTINGS } from "./settings.ts";
import type { ProjectFile } from "./trust/files.ts";
import type { NarrowingRule } from "./trust/record.ts";
import { readValue } from "./value-type.ts";
import { readYaml, type YamlDocument } from "./yaml/document.ts";

type FileLayer = { readonly layer: Layer; readonly problems: readonly Problem[] };

type Opened = { readonly file: string; readonly lines: readonly string[]; readonly document: YamlDocument };

/** `file` is how it is named to people. */
export function readFileLayer(bytes: Uint8Array, file: string, name: "user" | "project"): FileLayer {
  const document = readYaml(bytes, { file, maxBytes: MAX_CONFIGURATION_BYTES });
  const opened: Opened = { file, lines: new TextDecoder().decode(bytes).split(/\r?\n/), document };
  const entries = new Map<string, LayerEntry>();
  const problems: Problem[] = document.problems.map(({ message, fix, line, column }) => ({
    code: "SOUS-C002" satisfies ConfigurationCode,
    location: { kind: "file", file, line, column, source: linesAround(opened.lines, line) },
    message,
    fix,
  }));
  if (problems.length === 0) collect(document.value, [], { opened, entries, problems, name });
  return { layer: { name, entries }, problems };
}

/** More than a person reads; a hostile file has thousands. */
const MAX_PROBLEMS = 100;

type Collection = {
  readonly opened: Opened;
  readonly entries: Map<string, LayerEntry>;
  readonly problems: Problem[];
  readonly name: "user" | "project";
};

const SETTING_KEYS = new Set(ALL_SETTINGS.map(({ key }) => key));
const GROUPS = new Set(ALL_SETTINGS.flatMap(({ key }) => groupsOf(key)));

function groupsOf(key: string): string[] {
  const parts = key.split(".");
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("."));
}

/** An empty group says nothing, as a group does whose lines are all comments. */
function collect(value: unknown, path: readonly string[], into: Collection): void {
  if (value === null) return;
  if (!isRecord(value)) {
    const subject = path.length === 0 ? "a configuration" : path.join(".");
    const message = `${subject} must be a group of settings (allowed: ${namesIn(path).join(", ")})`;
    const location = locationIn(into.opened, path, "value");
    into.problems.push({ code: "SOUS-C004", location, message, fix: "write the settings below it, indented" });
    return;
  }
  for (const [name, inner] of Object.entries(value)) {
    if (into.problems.length >= MAX_PROBLEMS) return;
    const innerPath = [...path, name];
    const key = innerPath.join(".");
    if (name.includes(".") || !(SETTING_KEYS.has(key) || GROUPS.has(key)))
      into.problems.push(unknownKey(innerPath, into));
    else if (SETTING_KEYS.has(key)) into.entries.set(key, entryOf(inner, innerPath, into));
    else collect(inner, innerPath, into);
  }
}

function entryOf(given: unknown, path: readonly string[], { opened, name }: Collection): LayerEntry {
  return {
    given,
    origin: (inner = []) => {
      const { line } = opened.document.at([...path, ...inner], "key");
      return { layer: name, where: `${opened.file}:${line}` };
    },
    location: (inner, part) => locationIn(opened, [...path, ...inner], part),
  };
}

function locationIn(
  { file, lines, document }: Opened,
  path: readonly (string | number)[],
  part: "key" | "value",
): ProblemLocation {
  const { line, column } = document.at(path, part);
  const source = linesAround(lines, line).filter(({ text, number }) => !mayShowValues(path, text, number === line));
  return { kind: "file", file, line, column, source };
}

/** Variables and headers of servers hold keys under any name: of a mistake beside them only its own line is shown. */
function mayShowValues(path: readonly (string | number)[], text: string, isOwn: boolean): boolean {
  if (!HAVE_VALUES.has(path[0])) return false;
  return !isOwn || path.some((step) => VALUES.test(String(step))) || VALUES.test(text);
}

const HAVE_VALUES: ReadonlySet<unknown> = new Set(["mcp_servers", "agent_servers"] satisfies (keyof typeof SETTINGS)[]);
const VALUES = /env|header/i;

function unknownKey(path: readonly string[], { opened }: Collection): Problem {
  const name = path.at(-1) ?? "";
  const location = locationIn(opened, path, "key");
  return {
    code: "SOUS-C005",
    location,
    message: `${shortened(path.join("."))} is not a known setting`,
    fix: suggestion(path, name),
  };
}

function suggestion(path: readonly string[], name: string): string {
  const group = path.slice(0, -1);
  const snake = name
    .replaceAll(/([a-z])([A-Z])/g, "$1_$2")
    .replaceAll("-", "_")
    .toLowerCase();
  if (/^(api_?)?key$|^token$/.test(snake)) {
    return "a key does not belong in a file: set the variable of the provider, or name one with provider.api_key_env";
  }
  if (SETTING_KEYS.has(name)) return `write ${name} as nested keys, one below the other`;
  const close = nearest(snake, namesIn(group));
  if (close !== undefined) return `did you mean ${[...group, close].join(".")}?`;
  const elsewhere = ALL_SETTINGS.find(({ key }) => key === snake || key.endsWith(`.${snake}`));
  if (elsewhere !== undefined) return `did you mean ${elsewhere.key}?`;
  return `remove the line, or use one of ${namesIn(group).join(", ")}`;
}

/** The names that may stand in a group. */
function namesIn(group: readonly string[]): string[] {
  const prefix = group.length === 0 ? "" : `${group.join(".")}.`;
  const inside = [...SETTING_KEYS].filter((key) => key.startsWith(prefix));
  return [...new Set(inside.map((key) => key.slice(prefix.length).split(".", 1)[0] ?? ""))];
}

function shortened(text: string): string {
  return text.length <= 100 ? text : `${text.slice(0, 100)}…`;
}

/** Empty for a configuration with mistakes: with those no run starts while the project is trusted. */
export function rulesOfProject(files: readonly ProjectFile[]): NarrowingRule[] {
  const file = ".sous/config.yaml";
  const content = files.find(({ path }) => path === file)?.content;
  if (content === undefined) return [];
  const entry = readFileLayer(content, file, "project").layer.entries.get("permissions");
  const read = entry === undefined ? undefined : readValue(SETTINGS.permissions.type, entry.given);
  if (read === undefined || !("value" in read)) return [];
  return read.value.flatMap(({ effect, pattern }) => (effect === "allow" ? [] : [{ effect, pattern }]));
}

/** The two halves of an agent file: the settings between the dashes, and the text below them. */

import { visibleText } from "../../core/clean-text.ts";
import { MAX_AGENT_BYTES } from "../read-file.ts";
import { readYaml, type YamlDocument } from "../yaml/document.ts";
import type { AgentSource } from "./file.ts";

const MAX_FRONT_MATTER_BYTES = 64 * 1024;
const MAX_BODY_BYTES = 64 * 1024;

export type FrontMatter = {
  readonly settings: Readonly<Record<string, unknown>>;
  readonly at: YamlDocument["at"];
  readonly body: string;
};

/** Why a file is not one, and where. */
export type FrontMatterProblem = { line: number; column: number; message: string; fix: string };

const FENCE = /^---[ \t]*$/;

/** Never throws, whatever it is given. */
export function readFrontMatter({ file, text: given }: AgentSource): FrontMatter | FrontMatterProblem[] {
  const text = typeof given === "string" ? given : decode(given);
  if (text === undefined || text.includes("\0"))
    return problem(1, "this is not a text file", "save it as UTF-8 text without NUL characters");
  if (Buffer.byteLength(text) > MAX_AGENT_BYTES)
    return problem(1, "the file is larger than 128 KB", "shorten it: settings and text may have 64 KB each");
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\r|\n/);
  if (!FENCE.test(lines[0] ?? ""))
    return problem(
      1,
      "the file does not begin with front matter",
      "begin it with a line ---, settings, and a line ---",
    );
  const end = lines.findIndex((line, index) => index > 0 && FENCE.test(line));
  if (end === -1) return problem(1, "the front matter is not closed", "put a line --- below the settings");
  const body = lines.slice(end + 1).join("\n");
  if (Buffer.byteLength(body) > MAX_BODY_BYTES)
    return problem(end + 2, "the text below the front matter is larger than 64 KB", "shorten it");
  const yaml = `${lines.slice(1, end).join("\n")}\n`;
  const document = readYaml(yaml, { file, maxBytes: MAX_FRONT_MATTER_BYTES, firstLine: 2 });
  if (document.problems.length > 0)
    return document.problems.map(({ line, column, message, fix }) => ({ line, column, message, fix }));
  const { value, at } = document;
  if (!isSettings(value ?? {}))
    return problem(2, "the front matter is not a list of `key: value`", "write `name: scout`");
  return { settings: (value ?? {}) as FrontMatter["settings"], at, body: visibleText(body).trim() };
}

/** Undefined when the bytes are no UTF-8. */
function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function problem(line: number, message: string, fix: string): FrontMatterProblem[] {
  return [{ line, column: 1, message, fix }];
}

export function isSettings(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The two halves of an agent file. What people write between the dashes is often not YAML; texts are then read as plain lines. */

import { visibleText } from "../../core/clean-text.ts";
import { isRecord } from "../../core/schema.ts";
import { MAX_AGENT_BYTES } from "../read-file.ts";
import { readYaml, type YamlDocument } from "../yaml/document.ts";
import type { AgentProblem, AgentSource, FrontMatter } from "./file.ts";
import { findHiddenLine, quoteTexts } from "./quote-texts.ts";

const MAX_FRONT_MATTER_BYTES = 64 * 1024;
const MAX_BODY_BYTES = 64 * 1024;
const FENCE = /^---[ \t]*$/;

/** Why a file is not one, and where. */
type FrontMatterProblem = Omit<AgentProblem, "file" | "code">;

/** `note` is for a file that can be read and should still be changed. */
type ReadFrontMatter = { parts: FrontMatter; note: FrontMatterProblem | undefined } | { problem: FrontMatterProblem };

/** Never throws, whatever it is given. One problem a file: what follows from the first one is not told. */
export function readFrontMatter({ file, text: given }: AgentSource): ReadFrontMatter {
  const text = typeof given === "string" ? given : decode(given);
  if (text === undefined || text.includes("\0"))
    return problem(1, "this is not a text file", "save it as UTF-8 text without NUL characters");
  if (Buffer.byteLength(text) > MAX_AGENT_BYTES)
    return problem(1, "the file is larger than 128 KB", "shorten it: settings and text may have 64 KB each");
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\r|\n/);
  const start = lines.findIndex((line) => line.trim() !== "");
  if (!FENCE.test(lines[start] ?? "")) return noFrontMatter();
  const end = lines.findIndex((line, index) => index > start && FENCE.test(line));
  if (end === -1) return problem(start + 1, "the front matter is not closed", "put a line --- below the settings");
  const body = lines.slice(end + 1).join("\n");
  if (Buffer.byteLength(body) > MAX_BODY_BYTES)
    return problem(end + 2, "the text below the front matter is larger than 64 KB", "shorten it");
  const read = readSettings(lines.slice(start + 1, end), { file, firstLine: start + 2 });
  if ("problem" in read) return read;
  const { value, at } = read.document;
  if (!isRecord(value ?? {}))
    return problem(start + 2, "the front matter is not a list of `key: value`", "write `name: scout`");
  const settings = (value ?? {}) as FrontMatter["settings"];
  return { parts: { settings, at, body: visibleText(body).trim() }, note: read.note };
}

type ReadSettings = { document: YamlDocument; note: FrontMatterProblem | undefined } | { problem: FrontMatterProblem };

/** As YAML; when that fails, once more with texts in quotes. */
function readSettings(lines: readonly string[], where: { file: string; firstLine: number }): ReadSettings {
  const hidden = findHiddenLine(lines, where.firstLine);
  if (hidden !== undefined) return { problem: { severity: "error", ...hidden } };
  const options = { ...where, maxBytes: MAX_FRONT_MATTER_BYTES };
  const document = readYaml(`${lines.join("\n")}\n`, options);
  const [first] = document.problems;
  if (first === undefined) return { document, note: undefined };
  const isTooLarge = Buffer.byteLength(lines.join("\n")) > MAX_FRONT_MATTER_BYTES;
  const quoted = isTooLarge ? undefined : quoteTexts(lines, where.firstLine);
  if (quoted === undefined) return { problem: toProblem(first) };
  if ("problem" in quoted) return { problem: { severity: "error", ...quoted.problem } };
  const again = readYaml(`${quoted.lines.join("\n")}\n`, options);
  const [still] = again.problems;
  if (still !== undefined) return { problem: toProblem(still) };
  return { document: again, note: { severity: "warning", ...quoted.note } };
}

function toProblem({ line, column, message, fix }: YamlDocument["problems"][number]): FrontMatterProblem {
  return { severity: "error", line, column, message, fix };
}

/** Folders of agents have notes, too. */
function noFrontMatter(): { problem: FrontMatterProblem } {
  return {
    problem: {
      severity: "warning",
      line: 1,
      column: 1,
      message: "the file does not begin with front matter, so it is no agent",
      fix: "begin it with a line ---, settings, and a line ---; or move it away",
    },
  };
}

/** Undefined when the bytes are not UTF-8. */
function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function problem(line: number, message: string, fix: string): { problem: FrontMatterProblem } {
  return { problem: { severity: "error", line, column: 1, message, fix } };
}

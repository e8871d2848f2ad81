/** Bundles of agent files: each file with its path, what it may do here, and the shape it stands for. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentDialect } from "../../../../src/app/config/agents/file.ts";

export type CorpusFile = {
  readonly bundle: string;
  readonly dialect: AgentDialect;
  /** The heading it stands under. */
  readonly shape: string;
  /** Below the folder of agents. */
  readonly path: string;
  readonly text: string;
  /** `refused`, `none` for a file that gives no agent and no error, else letters of tools; `+c` is children. */
  readonly expected: string;
  /** `name=…`, and every rule. */
  readonly more: readonly string[];
};

/** One letter for each tool. */
export const LETTERS: Readonly<Record<string, string>> = {
  r: "read_file",
  l: "list_files",
  g: "glob",
  s: "grep",
  w: "write_file",
  e: "edit_file",
  t: "terminal",
  f: "fetch",
};

const FOLDER = join(import.meta.dirname, "../../../support/app/config/corpus");
const DIALECTS: readonly string[] = ["sous", "claude", "gemini", "opencode"];

/** A bundle begins in the dialect of Claude Code; `@@@` changes it, `###` names a shape, `%%% path | expected | …` begins a file. */
export function corpus(): CorpusFile[] {
  return readdirSync(FOLDER).flatMap((bundle) => filesOf(bundle, readFileSync(join(FOLDER, bundle), "utf8")));
}

function filesOf(bundle: string, text: string): CorpusFile[] {
  const files: (CorpusFile & { text: string })[] = [];
  let dialect: AgentDialect = "claude";
  let shape = "";
  for (const line of text.split("\n")) {
    const [mark, ...words] = line.split(" ");
    const rest = words.join(" ");
    if (mark === "@@@" && DIALECTS.includes(rest)) dialect = rest as AgentDialect;
    else if (mark === "###") shape = rest;
    else if (mark === "%%%") {
      const [path = "", expected = "", ...more] = rest.split(" | ").map((part) => part.trim());
      files.push({ bundle, dialect, shape, path, expected, more, text: "" });
    } else {
      const last = files.at(-1);
      if (last !== undefined) last.text += `${line}\n`;
    }
  }
  return files.map(withBytes);
}

/** `bom` and `crlf` say how the file is stored. */
function withBytes(file: CorpusFile): CorpusFile {
  const marks = new Set(file.more);
  const lines = marks.has("crlf") ? file.text.replaceAll("\n", "\r\n") : file.text;
  const more = file.more.filter((each) => each !== "bom" && each !== "crlf");
  return { ...file, more, text: marks.has("bom") ? `\uFEFF${lines}` : lines };
}

/** R16: texts of strangers that were built to be slow, of 1 to 5 MB where their reader takes so much. */

import { type HostileText, type Place, toolCalls } from "./r16-place.ts";
import { HOSTILE_SCHEMAS, type HostileSchema } from "./r16-schemas.ts";

const MB = 1024 * 1024;

function fill(piece: string, length: number = 5 * MB): string {
  return piece.repeat(Math.ceil(length / piece.length)).slice(0, length);
}

/** `glob` over a repository with this ignore file. */
function ignoreFile(name: string, text: string, files: Record<string, string> = {}): HostileText {
  return {
    name: `ignore file: ${name}`,
    kind: "command",
    async prepare(place) {
      await place.write({ ".gitignore": text, "a.txt": "a", ...files });
      return toolCalls(place, "glob", { pattern: "**/*.nothing" });
    },
  };
}

const MANY_FILES = Object.fromEntries(Array.from({ length: 2000 }, (_, index) => [`${"a".repeat(200)}${index}`, ""]));
const DEEP_FILE = { [`${"a/".repeat(1500)}b`]: "" };

const IGNORE_FILES: readonly HostileText[] = [
  ignoreFile("blanks within a line", `a${fill(" ", 250_000)}b`),
  ignoreFile("blanks behind a backslash", `a\\${fill(" ", 250_000)}b`),
  ignoreFile("brackets that never close", fill("[", 4000).concat("\n").repeat(64)),
  ignoreFile("quoted brackets", fill("[\\]", 4000).concat("\n").repeat(64)),
  ignoreFile("stars in a name", fill("*a*a*a*a*a*a*a*a*a*b\n"), MANY_FILES),
  ignoreFile("folders between stars", fill(`${"**/a/".repeat(200)}c\n`), DEEP_FILE),
  ignoreFile("one long path behind stars", fill(`**/${"a/".repeat(1000)}c\n`), DEEP_FILE),
  ignoreFile("a set of thousands of ranges", fill(`*[${"b-c".repeat(1300)}]*\n`), MANY_FILES),
  ignoreFile("line ends", fill("\n")),
  ignoreFile("carriage returns", fill("\r")),
];

/** A call of a tool on one file of the workspace. */
function fileTool(name: string, content: () => string, tool: string, input: object): HostileText {
  return {
    name: `${tool}: ${name}`,
    kind: "command",
    async prepare(place) {
      await place.write({ "big.txt": content() });
      return [...(await toolCalls(place, tool, input)), "--yes"];
    },
  };
}

const NEAR = { path: "big.txt", old: `${"a\n".repeat(20_000)}b`, new: "c" };

const FILES: readonly HostileText[] = [
  fileTool("equal lines, and what is sought is nearly there", () => fill("a \n"), "edit_file", NEAR),
  fileTool("one long line", () => fill("ab"), "edit_file", { path: "big.txt", old: fill("ba", 100_000), new: "c" }),
  fileTool("blanks at the ends of lines", () => fill(`x${" ".repeat(5000)}y\n`), "edit_file", {
    path: "big.txt",
    old: `x${" ".repeat(4999)}y`,
    new: "c",
  }),
  fileTool("a million places", () => fill("a\n"), "edit_file", { path: "big.txt", old: "a", new: "b", all: true }),
  fileTool("invisible characters", () => fill("a\u200b"), "read_file", { path: "big.txt" }),
  fileTool("lines without an end", () => fill("a".repeat(9000)), "read_file", { path: "big.txt", offset: 1 }),
  fileTool("one line and a pattern that nearly fits", () => fill("a"), "grep", { pattern: "(a+)+b" }),
  fileTool("short lines", () => fill("aaaaaaaa!\n"), "grep", { pattern: "^(a|aa)+$" }),
];

/** What a program prints. */
function programOutput(name: string, piece: string): HostileText {
  return fileTool(name, () => fill(piece), "terminal", { command: "cat big.txt" });
}

const OUTPUTS: readonly HostileText[] = [
  programOutput("codes of terminals that never end", "\u001b]8;;"),
  programOutput("joiners and selectors", "\ufe0f\u200d"),
  programOutput("tag characters", "\u{1f3f4}\u{e0041}"),
  programOutput("headers of keys in notes", "a: -----BEGIN PRIVATE KEY-----\n"),
  programOutput("credentials that are none", ` : Basic ${btoa(`${":".repeat(2990)}\u0001`)}`),
  programOutput("beginnings of tokens", "eyJaaaaaaaaaaaa-sk-"),
];

/** What the model says in the end, printed. */
function answer(name: string, piece: string): HostileText {
  return {
    name: `answer: ${name}`,
    kind: "command",
    prepare: (place) => place.script([{ text: fill(piece, 2 * MB) }]),
  };
}

const ANSWERS: readonly HostileText[] = [
  answer("marks of Markdown", "**a"),
  answer("brackets", "[a]("),
  answer("tabs", "a\t"),
  answer("codes of terminals", "\u001b["),
];

function agentFile(name: string, text: string): HostileText {
  return {
    name: `agent file: ${name}`,
    kind: "command",
    async prepare(place) {
      await place.write({ "../config/sous/agents/x.md": text });
      return ["agents", "check"];
    },
  };
}

const front = (lines: string): string => `---\nname: x\ndescription: y\n${lines}\n---\nDo it.\n`;

const AGENT_FILES: readonly HostileText[] = [
  agentFile("tools with commas", front(`tools: "(${fill(",", 60_000)}"`)),
  agentFile("a name of dashes", front("").replace("name: x", `name: "a${fill("-", 60_000)}b"`)),
  agentFile("blanks in a nickname", front(`nickname: "a${fill(" ", 60_000)}b"`)),
  agentFile("5 MB", front(`tools: [${fill("a, ")}]`)),
  agentFile("blanks in the body", `${front("")}a${fill(" ", 60_000)}b`),
  {
    name: "agent file: stars in a permission",
    kind: "command",
    async prepare(place) {
      const text = `---\ndescription: y\npermission:\n  "${"*".repeat(1000)}x": deny\n---\nDo it.\n`;
      await place.write({ ".opencode/agent/x.md": text });
      await place.command(["trust", "--yes"]);
      return ["agents", "list"];
    },
  },
];

/** A configuration of the largest size that is read. */
function configuration(name: string, text: string): HostileText {
  return {
    name: `YAML: ${name}`,
    kind: "command",
    async prepare(place) {
      await place.write({ "config.yaml": text.slice(0, 1_000_000) });
      return ["config", "check", "--config", "config.yaml"];
    },
  };
}

const CONFIGURATIONS: readonly HostileText[] = [
  configuration("nested lists", fill("[", MB)),
  configuration("folded lines", `a: >\n${fill(" x\n\n", MB)}`),
  configuration("blanks in quotes", `a: "x${fill(" ".repeat(2000).concat("\n"), MB)}`),
  configuration("a long key above many", `${"k".repeat(500_000)}:\n${fill(" b: {}\n", 100_000)}`),
  configuration("names of secrets", `model: ${fill("secret", MB)}`),
  configuration("aliases", `a: &a [1]\nb: [${fill("*a, ", 900_000)}]`),
];

const NOTES: HostileText = {
  name: "AGENTS.md: the beginning of our own mark",
  kind: "command",
  async prepare(place) {
    await place.write({ "AGENTS.md": `<${fill(" ", 60_000)}` });
    await place.command(["trust", "--yes"]);
    return place.script([{ text: "Read." }]);
  },
};

/** What a provider says is wrong. */
function providerError(name: string, piece: string): HostileText {
  return {
    name: `provider error: ${name}`,
    kind: "command",
    async prepare(place) {
      await place.answerRequests(JSON.stringify({ type: "error", error: { type: "x", message: fill(piece) } }));
      return ["run", "Go", "--model", "anthropic/claude-sonnet-4-5"];
    },
  };
}

const ERRORS: readonly HostileText[] = [
  providerError("limits", "usage limit "),
  providerError("counts", "input token count "),
  providerError("blanks", " "),
];

function page(name: string, text: () => string): HostileText {
  return { name: `page: ${name}`, kind: "page", text };
}

const PAGES: readonly HostileText[] = [
  page("tables in tables", () => fill("<table><tr><td>")),
  page("blanks in code", () => `<pre>${fill(" ")}x`),
  page("marks that never end", () => fill("<b>")),
  page("rows", () => `<table>${fill("<tr><td>a<td>b")}`),
  page("line breaks between blanks", () => fill("<br>   ")),
  page("brackets in a hidden element", () => `<div hidden>${fill("<")}`),
  page("links", () => fill("<a href=x>")),
  page("attributes", () => `<a ${fill("b ")}`),
];

const SCHEMAS: readonly HostileText[] = HOSTILE_SCHEMAS.filter(isWritable).map(({ name, schema, answer: text }) => ({
  name: `schema: ${name}`,
  kind: "command",
  async prepare(place: Place) {
    const child = { label: "scout", task_prompt: "Look", output_schema: schema };
    const script = {
      sous: [{ calls: [{ tool: "subagent", input: child }] }, { text: "Done." }],
      "**": [{ text }, { text }],
    };
    return place.script(script);
  },
}));

/** What cannot be written as JSON cannot come from a model. */
function isWritable({ schema }: HostileSchema): boolean {
  try {
    return JSON.stringify(schema) !== undefined;
  } catch {
    return false;
  }
}

export const HOSTILE_TEXTS: readonly HostileText[] = [
  ...IGNORE_FILES,
  ...FILES,
  ...OUTPUTS,
  ...ANSWERS,
  ...AGENT_FILES,
  ...CONFIGURATIONS,
  NOTES,
  ...ERRORS,
  ...PAGES,
  ...SCHEMAS,
];

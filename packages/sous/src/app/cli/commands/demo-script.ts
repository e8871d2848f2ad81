/**
 * The script of the model of `sous demo`. Each answer is made from what the tools really found, so it is true in any
 * folder; only the choice of the next step is written down beforehand.
 */

import type { ModelRequest } from "../../../core/model.ts";
import type { Step } from "../../../testing/steps.ts";
import { plural } from "../terminal/text.ts";

/** A stored run of this model is one of the demo. */
export const DEMO_MODEL = "scripted/demo";

export const DEMO_TASK = "What is in this folder? Ask three children at once and put their answers together.";

/** The deepest level that may exist: the lead is 0, its children 1, theirs 2. */
export const DEMO_MAX_DEPTH = 2;

/** A child that is asked again is `lead/files#2`, and answers as the first would have. */
export function demoAnswer(request: ModelRequest): Step[] {
  const answer = BY_PATH.get(request.caller.path.replaceAll(/#\d+/g, ""));
  if (answer === undefined) throw new Error(`The demo has no agent at ${request.caller.path}`);
  return answer(request);
}

const BY_PATH: ReadonlyMap<string, (request: ModelRequest) => Step[]> = new Map([
  ["lead", leadNext],
  ["lead/files", countFiles],
  ["lead/definitions", findDefinitions],
  ["lead/definitions/closest", lookCloser],
  ["lead/reader", keepReading],
]);

const TASKS = [
  { label: "files", task_prompt: "Which kinds of files are here, and how many of each?" },
  { label: "definitions", task_prompt: "Where are things defined? Let a child look at the richest file." },
  { label: "reader", task_prompt: "Read every text file, from the first to the last.", max_turns: 3 },
];

const MAX_ROUNDS = 3;

/**
 * Every answer depends only on what was found so far, so a run that continues after a crash gets the right one. After a stop
 * only the children that were stopped are asked again.
 */
function leadNext(request: ModelRequest): Step[] {
  const rounds = resultsOf(request, "parallel_subagent").filter(({ isError }) => !isError);
  const reports = new Map<string, Report>();
  for (const { output } of rounds) {
    const { results } = JSON.parse(output) as { results: Report[] };
    for (const report of results) if (report.success || !reports.has(report.label)) reports.set(report.label, report);
  }
  const open = TASKS.filter(({ label }) => reports.get(label)?.success !== true);
  if (open.length === 0 || rounds.length === MAX_ROUNDS) return putTogether([...reports.values()]);
  const text = rounds.length === 0 ? "Three questions, three children." : "Some of them were stopped.";
  return call(300, "parallel_subagent", { tasks: open }, text);
}

type Report = { label: string; success: boolean; output: string; error?: string };

function putTogether(reports: readonly Report[]): Step[] {
  const lines = reports.map(({ label, output, error = "" }) => {
    return `${label}: ${output === "" ? error : output.replace(/^\[Notice: (.*?)\]\n/, "($1) ")}`;
  });
  return say(350, lines.join("\n"));
}

function countFiles(request: ModelRequest): Step[] {
  const [found] = resultsOf(request, "glob");
  if (found === undefined) return call(250, "glob", { pattern: "**" });
  const names = linesOf(found.output);
  const largest = counted(names.map((name) => /[^/.](\.[^./]+)$/.exec(name)?.[1] ?? "no ending")).slice(0, 4);
  const rest = names.length - largest.reduce((sum, [, count]) => sum + count, 0);
  const words = [...largest.map(([kind, count]) => `${count} ${kind}`), ...(rest > 0 ? [`${rest} others`] : [])];
  const more = isPart(found.output) ? "at least " : "";
  return say(200, names.length === 0 ? "No files." : `${more}${plural(names.length, "file")}: ${words.join(", ")}.`);
}

/** The way most languages begin a definition. */
const DEFINITION = "^\\s*((export|public|pub|static|async|abstract) )*(function|class|def|func|fn|struct) \\w+";

const CODE = "*.{ts,js,mjs,py,go,rs,java,kt,c,cc,rb,swift,php}";

function findDefinitions(request: ModelRequest): Step[] {
  const [found] = resultsOf(request, "grep");
  if (found === undefined) return call(250, "grep", { pattern: DEFINITION, glob: CODE, limit: 1000 });
  const definedIn = linesOf(found.output).flatMap((line) => /^(.*?):\d+:/.exec(line)?.[1] ?? []);
  const files = counted(definedIn);
  const [richest] = files;
  const [closer] = resultsOf(request, "subagent");
  if (closer === undefined) {
    const task_prompt = richest === undefined ? "Look at the top folder." : `Look at ${richest[0]}.`;
    return call(350, "subagent", { label: "closest", task_prompt });
  }
  const report = closer.output.replace(/\n\(subagent_id: .*\)$/, "");
  if (richest === undefined) return say(300, `No definitions. My child says: ${report}`);
  const atLeast = isPart(found.output) ? "at least " : "";
  const where = `${plural(definedIn.length, "definition")} in ${plural(files.length, "file")}, most in ${richest[0]} (${richest[1]})`;
  return say(300, `${atLeast}${where}. My child says: ${report}`);
}

/** Each word once, with how often it comes; the most frequent first. */
function counted(words: readonly string[]): [word: string, count: number][] {
  const groups = [...Map.groupBy(words, (word) => word)];
  return groups.map(([word, { length }]): [string, number] => [word, length]).sort(([, a], [, b]) => b - a);
}

function lookCloser(request: ModelRequest): Step[] {
  const path = /^Look at (.*)\.$/.exec(taskOf(request))?.[1] ?? "";
  const toolName = path === "the top folder" ? "list_files" : "read_file";
  const [seen] = resultsOf(request, toolName);
  if (seen === undefined) return call(300, toolName, toolName === "read_file" ? { path } : {});
  const [refused] = resultsOf(request, "subagent");
  if (refused === undefined) {
    return call(
      350,
      "subagent",
      { label: "deeper", task_prompt: `Read ${path} line by line.` },
      "Let another agent do this.",
    );
  }
  const size = plural(linesOf(seen.output).length, toolName === "read_file" ? "line" : "name");
  const more = isPart(seen.output) ? "at least " : "";
  const told = /^.*?Current depth: \d+/.exec(refused.output)?.[0] ?? refused.output;
  return say(350, `${path} has ${more}${size}. I wanted a child of my own and was told: ${told}.`);
}

function keepReading(request: ModelRequest): Step[] {
  const [found] = resultsOf(request, "glob");
  if (found === undefined) return call(300, "glob", { pattern: "*.{md,txt,rst,json,ts,js,py,go,rs,java,c,html}" });
  const names = linesOf(found.output);
  const read = resultsOf(request, "read_file");
  const next = names[read.length];
  if (!request.mayCallTools) return say(250, `Read ${read.length} of ${plural(names.length, "file")}.`);
  if (next === undefined) return call(450, "list_files", {}, "There must be something.");
  return call(450, "read_file", { path: next, limit: 200 }, `${read.length + 1} of ${names.length}.`);
}

function say(pauseMs: number, text: string): Step[] {
  return [
    { step: "wait", delayMs: pauseMs },
    { step: "text", chunks: [text] },
  ];
}

function call(pauseMs: number, toolName: string, input: unknown, text = ""): Step[] {
  const words: Step[] = text === "" ? [] : [{ step: "text", chunks: [text] }];
  return [{ step: "wait", delayMs: pauseMs }, ...words, { step: "call", toolName, input, callId: undefined }];
}

/** The results of this agent's calls of a tool, in their order. */
function resultsOf({ messages }: ModelRequest, toolName: string): { output: string; isError: boolean }[] {
  return messages.flatMap((message) =>
    message.role === "tool" ? message.content.filter((part) => part.toolName === toolName) : [],
  );
}

function taskOf({ messages }: ModelRequest): string {
  const [first] = messages[0]?.content ?? [];
  return first?.type === "text" ? first.text : "";
}

/** The lines of a result without what the tool says about it. */
function linesOf(output: string): string[] {
  return output
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("[") && !/^No (files|matches)\b/.test(line));
}

/** The tool says when it did not show everything. */
function isPart(output: string): boolean {
  return /^\[(only the first|lines \d)/m.test(output);
}

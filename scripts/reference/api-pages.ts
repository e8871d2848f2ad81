/** The pages of the library, by task: every exported name with its sentence, its signature, its defaults and a link to an example. */

import { readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { DEFAULT_CONVERSATION } from "../../packages/sous/src/core/conversation.ts";
import { DEFAULT_LIMITS } from "../../packages/sous/src/core/words/limits.ts";
import { exampleFiles } from "../repository-files.ts";
import { code, page, wrap } from "./markdown.ts";
import { signatureOf, simplified } from "./signature.ts";
import { docBefore, type Exported, exportedNames, findExported } from "./source.ts";

type ApiPage = { file: string; title: string; intro: string; names: readonly string[] };

/** The files behind the subpaths, and the page of each; those of `sous` itself are listed below. */
const DOORS: Record<string, { door: string; page: string | undefined }> = {
  sous: { door: "index.ts", page: undefined },
  "sous/embed": { door: "embed.ts", page: "delegation" },
  "sous/replay": { door: "replay.ts", page: "replay" },
  "sous/store": { door: "store.ts", page: "stores" },
  "sous/sqlite": { door: "sqlite.ts", page: "stores" },
  "sous/postgres": { door: "postgres.ts", page: "stores" },
  "sous/acp": { door: "acp.ts", page: "agent-servers" },
  "sous/mcp": { door: "mcp.ts", page: "mcp-servers" },
  "sous/otel": { door: "otel.ts", page: "traces" },
  "sous/engine": { door: "engine.ts", page: "workers" },
  "sous/tools": { door: "tools.ts", page: "tools-and-files" },
  "sous/testing": { door: "testing.ts", page: "testing" },
};

const PAGES: readonly ApiPage[] = [
  {
    file: "run",
    title: "Run agents",
    intro: "Start a run, wait for it, read along, stop it, continue it. [Outcomes](../outcomes.md) says what rejects.",
    names: [
      ...["run", "createRuntime", "fanOut", "resume", "fork", "RunError", "UserError", "RunHandle", "RunOptions"],
      ...["RuntimeOptions", "Runtime", "FanOutOptions", "ResumeOptions", "ForkOptions", "CancelMode", "RunResult"],
      ...["RunStatus", "StopReason", "ErrorType", "AgentSummary", "Host", "Clock"],
    ],
  },
  {
    file: "agents",
    title: "Define agents",
    intro: "What an agent is: instructions, model, tools, subagents, output, hooks.",
    names: [
      ...["agent", "AgentOptions", "AgentDefinition", "ModelChoice", "ForeignModel", "ConversationLimits", "Hooks"],
      ...["HookCall", "HookDecision", "Effort", "ToolChoice", "ProviderOptions"],
      ...["AnySchema", "JsonSchema", "StandardSchema", "OutputOf"],
    ],
  },
  {
    file: "tools",
    title: "Define tools",
    intro: "What a tool is, what it gets and what it returns.",
    names: [
      ...["tool", "ToolRegistry", "ToolFailure", "ToolOptions", "Tool", "ToolContext", "ToolResult"],
      ...["ToolTier", "ToolEffect", "ToolCategory", "CleanUp"],
    ],
  },
  {
    file: "approval",
    title: "Ask for approval",
    intro:
      "What is asked before a `confirm` tool runs. [Ask before a tool runs](../../how-to/ask-before-a-tool-runs.md).",
    names: [
      "Approve",
      "ApprovalRequest",
      "ApprovalAnswer",
      "ApprovalPolicy",
      "RuleAnswer",
      "OpenQuestion",
      "CallTarget",
    ],
  },
  {
    file: "delegation",
    title: "Delegate and embed",
    intro:
      "Everything of `sous/embed`: subagent tools for a registry of your own, specialists from code, what a panel or a log shows of children, and the ports of models and agents of your own.",
    names: ["registerSubagentTools", "subagentFactory"],
  },
  {
    file: "budgets",
    title: "Limit what is spent",
    intro:
      "Budgets of a tree, limits of delegation, budgets that several trees share. [Budget](../../explanation/budget.md).",
    names: [...["Budget", "RootBudget", "OnExhausted", "DelegationLimits", "SharedBudget", "Price", "Usage"]],
  },
  {
    file: "models",
    title: "Use models",
    intro:
      "Which models a run may use, and a model of your own. [Models and providers](../providers.md) lists the names.",
    names: ["ModelError", "ModelErrorKind", "ModelOptions", "Model"],
  },
  {
    file: "messages",
    title: "Messages and events",
    intro:
      "What is said in a run, and the types around events. [Events](../events.md) lists every event with its fields.",
    names: [
      ...["UserInput", "Message", "UserMessage", "AssistantMessage", "TextPart", "FilePart"],
      ...["SousEvent", "StoredEvent", "EventOf", "EventListener"],
    ],
  },
  {
    file: "stores",
    title: "Store runs",
    intro: "Where runs are stored: in memory, in a SQLite file, in Postgres, or in a store of your own.",
    names: ["openMemoryStore", "StoreError", "Store"],
  },
  {
    file: "replay",
    title: "Read, rerun and compare stored runs",
    intro: "Everything of `sous/replay`. [Debug a subagent](../../how-to/debug-a-subagent.md).",
    names: [],
  },
  {
    file: "agent-servers",
    title: "Use external agents",
    intro:
      "Everything of `sous/acp`: agents that speak the Agent Client Protocol. [Delegate to Claude Code](../../how-to/delegate-to-claude-code.md), [Three agents, one tree](../../tutorials/05-three-agents-one-tree.md).",
    names: [],
  },
  {
    file: "mcp-servers",
    title: "Use tools of MCP servers",
    intro: "Everything of `sous/mcp`: servers that are started or reached, and their tools.",
    names: [],
  },
  {
    file: "traces",
    title: "Trace and measure runs",
    intro:
      "Everything of `sous/otel`: runs as spans and metrics of OpenTelemetry. [See traces](../../how-to/see-traces.md), [metrics and alerts](../../how-to/metrics-and-alerts.md), [every span, attribute and metric](../telemetry.md).",
    names: [],
  },
  {
    file: "workers",
    title: "Run trees over several workers",
    intro:
      "Everything of `sous/engine`: children and roots on other processes and machines. [Two workers on your machine](../../tutorials/06-two-workers.md), [what is promised](../../explanation/workers.md).",
    names: [],
  },
  {
    file: "tools-and-files",
    title: "Built-in tools, agent files, AI SDK tools",
    intro:
      "Everything of `sous/tools`. [AI SDK models and tools](../../how-to/use-ai-sdk-models-and-tools.md), [Agent files in code](../../how-to/agent-files-in-code.md).",
    names: [],
  },
  {
    file: "testing",
    title: "Test agents",
    intro: "Everything of `sous/testing`. [Test your agents](../../how-to/test-your-agents.md).",
    names: [],
  },
];

/** Values that options have when they are unset. */
const DEFAULTS: Record<string, object> = { DelegationLimits: DEFAULT_LIMITS, ConversationLimits: DEFAULT_CONVERSATION };

/** Types whose fields another page has, each with its meaning. */
const DESCRIBED_ELSEWHERE: Record<string, string> = {
  ...Object.fromEntries(
    ["send", "report", "wait", "cancel", "spawn", "delegate"].map((name) => [
      `Subagent${name.slice(0, 1).toUpperCase()}${name.slice(1)}Input`,
      `The input of [\`subagent_${name}\`](../tools.md#subagent_${name}).`,
    ]),
  ),
  StoredBody: "The [stored events](../events.md#stored-events), without the fields that all events begin with.",
  DeltaBody: "The [deltas](../events.md#deltas), without the fields that all events begin with.",
  RunStart: "The event [`run-start`](../events.md#run-start).",
  ToolProgress: "The event [`tool-progress`](../events.md#tool-progress).",
  SubagentInput: "The input of [`subagent`](../tools.md#subagent).",
  ParallelSubagentInput: "The input of [`parallel_subagent`](../tools.md#parallel_subagent).",
  NamedAgentInput: "The input of [`subagent_<name>`](../tools.md#subagent_scout).",
  NamedAgentResult: "The `data` of a result of [`subagent_<name>`](../tools.md#subagent_scout).",
  ParallelOutput: "The `data` of a result of [`parallel_subagent`](../tools.md#parallel_subagent).",
  ParallelResult: "One entry of `results` of [`parallel_subagent`](../tools.md#parallel_subagent).",
  ReportMetadata: "The `metadata` of a [report](../tools.md#report-of-a-subagent).",
  StartedMetadata: "The `metadata` of a child that has not reported yet: its id, label, depth and `path`.",
  RefusalMetadata: "The `metadata` of a call that made no child: `error_type`.",
};

type Entry = { name: string; specifier: string; isType: boolean; text: string };

export function apiPages(): [file: string, text: string][] {
  const entries = Object.entries(DOORS).flatMap(([specifier, { door }]) =>
    exportedNames(door).map(({ name, from }) => describe(name, specifier, findExported(from, name))),
  );
  const placed = entries.map((entry) => ({ ...entry, page: pageOf(entry.name, entry.specifier) }));
  const index = page("Reference: the library", INDEX_INTRO, [
    ...PAGES.map(({ file, title }) => {
      const names = placed.filter((entry) => entry.page === file).map(({ name }) => name);
      const links = names.toSorted(byLetters).map((name) => `[${name}](${file}.md#${name.toLowerCase()})`);
      return wrap(`**[${title}](${file}.md)**: ${links.join(", ")}`);
    }),
  ]);
  const pages = PAGES.map(({ file, title, intro, names }): [string, string] => {
    const here = placed.filter((entry) => entry.page === file);
    const order = (name: string) => (names.includes(name) ? names.indexOf(name) : names.length);
    here.sort((one, other) => order(one.name) - order(other.name));
    return [`api/${file}.md`, page(`Reference: ${title.toLowerCase()}`, intro, sectionsOf(here))];
  });
  return [["api/README.md", index], ...pages];
}

function byLetters(one: string, other: string): number {
  return one.toLowerCase() < other.toLowerCase() ? -1 : 1;
}

/** Functions and classes before types. On a page of several subpaths, each of them has a section. */
function sectionsOf(entries: readonly Entry[]): string[] {
  const texts = (isType: boolean, specifier?: string): string[] =>
    entries
      .filter((entry) => entry.isType === isType && (specifier === undefined || entry.specifier === specifier))
      .map(({ text }) => text);
  const specifiers = [...new Set(entries.map(({ specifier }) => specifier))];
  if (specifiers.length > 1)
    return specifiers.flatMap((each) => [`## From \`${each}\``, ...texts(false, each), ...texts(true, each)]);
  const values = texts(false);
  return values.length === 0
    ? ["## Types", ...texts(true)]
    : ["## Functions and classes", ...values, "## Types", ...texts(true)];
}

const INDEX_INTRO =
  "The names that programs can import, by task. Times are in milliseconds, and their names end in `Ms`. " +
  "Options that are unset have the defaults that their comments name. Signatures leave out `readonly` of fields, and `| undefined` of fields that may be left out.";

/** The page of an exported name. */
function pageOf(name: string, specifier: string): string {
  const { page: file = PAGES.find(({ names }) => names.includes(name))?.file } = DOORS[specifier] ?? {};
  if (file === undefined) throw new Error(`${name} of ${specifier} has no page in scripts/reference/api-pages.ts`);
  return file;
}

/** The place where an exported type is described, for a page beside the folder `api/`; undefined when no door has it. */
export function linkTo(name: string): string | undefined {
  const door = Object.entries(DOORS).find(([, { door }]) => exportedNames(door).some((each) => each.name === name));
  return door && `api/${pageOf(name, door[0])}.md#${name.toLowerCase()}`;
}

function describe(name: string, specifier: string, found: readonly Exported[]): Entry {
  const [first] = found;
  if (first === undefined) throw new Error(`${name} is exported and not declared where the door says`);
  const overloads = found.filter(({ declaration }) => declaration.type === "TSDeclareFunction");
  const shown = overloads.length > 0 ? overloads : [first];
  const signatures = shown.map(({ source, declaration }) => signatureOf(source, declaration));
  const documented = shown.map(({ source, start }) => docBefore(source, start)).filter((doc) => doc !== "");
  if (documented.length === 0) throw new Error(`${name} of ${specifier} needs a comment that says what it is for`);
  const isType = first.declaration.type === "TSTypeAliasDeclaration";
  const link = DESCRIBED_ELSEWHERE[name];
  if (link !== undefined) return { name, specifier, isType, text: `### ${name}\n\n${wrap(link)}` };
  const parts = [`### ${name}`, ...documented.map(wrap), code(simplified(signatures.join("\n")))];
  const defaults = DEFAULTS[name];
  if (defaults !== undefined) parts.push(wrap(`Defaults: ${inWords(defaults)}.`));
  const example = isType ? undefined : exampleOf(name);
  if (example !== undefined) parts.push(`Example: [${basename(dirname(example))}](${relative(API_FOLDER, example)})`);
  return { name, specifier, isType, text: parts.join("\n\n") };
}

function inWords(defaults: object): string {
  const set = Object.entries(defaults).filter(([, value]) => value !== undefined);
  return set.map(([name, value]) => `\`${name}\` ${JSON.stringify(value).replaceAll('"', "")}`).join(", ");
}

const root: string = resolve(import.meta.dirname, "../..");

const API_FOLDER = "docs/reference/api";

type Region = { file: string; text: string };

/** Regions of the examples, the shortest first. */
const regions: readonly Region[] = exampleFiles(root)
  .filter((file) => file.endsWith(".ts"))
  .flatMap((file) => {
    const source = readFileSync(join(root, file), "utf8");
    return [...source.matchAll(/^\/\/ #region \S+\n(.*?)^\/\/ #endregion/gms)].map(([, text = ""]) => ({ file, text }));
  })
  .sort((one, other) => one.text.length - other.text.length);

/** The file with the shortest region that calls, makes or tells apart what has this name. */
function exampleOf(name: string): string | undefined {
  const isUsed = new RegExp(String.raw`instanceof ${name}\b|(?<![.\w])${name}[(<]`);
  return regions.find(({ text }) => isUsed.test(text))?.file;
}

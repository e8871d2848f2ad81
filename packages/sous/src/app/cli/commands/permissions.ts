/** `sous permissions test COMMAND`: which rule decides about a command of the terminal tool, a tool of an MCP server, an agent, or a delegation. Runs nothing. */

import type { RuleAnswer } from "../../../core/approval.ts";
import { messageOf, UserError } from "../../../core/errors.ts";
import { ServerBook } from "../../../core/external-agent.ts";
import { readMcpName } from "../../../core/mcp-names.ts";
import { nearestFirst } from "../../../core/nearest.ts";
import { isRecord } from "../../../core/schema.ts";
import { DELEGATE_TOOL } from "../../../core/words/tools.ts";
import type { Judgement } from "../../../runtime/rights/policy.ts";
import { givenEntry } from "../../config/agents/mcp-entries.ts";
import type { Configuration } from "../../config/configuration.ts";
import { guardPaths } from "../application/guards.ts";
import { loadAgents, readWithProject } from "../application/project.ts";
import { ROOT_NAME } from "../application/root.ts";
import { commandRules } from "../application/rules.ts";
import { EXIT, usageError } from "../exit-codes.ts";
import { processContext } from "../files/paths.ts";
import { findMcpServer } from "../mcp/servers.ts";
import { quoted, readOptions, refusePositionals, wrongWord } from "../table/options.ts";
import { readRunFlags } from "../table/run-flags.ts";
import { PERMISSIONS } from "../table/setup-entries.ts";
import { openOutput, printJson } from "../terminal/output.ts";
import { inertLine } from "../terminal/text.ts";

const COMMAND = "sous permissions";

export async function permissions(parameters: readonly string[]): Promise<number> {
  const { values, positionals } = readOptions(PERMISSIONS, parameters);
  const [action, command, ...rest] = positionals;
  if (action !== "test") throw wrongWord(COMMAND, "takes test", action);
  if (command === undefined) throw usageError(`${COMMAND} test needs a command, such as 'git push'`);
  refusePositionals(`${COMMAND} test`, rest, " Put the command into quotes.");
  const context = processContext();
  const { trust, loaded } = await readWithProject(values.config, context);
  const { configuration } = loaded;
  const { rights } = readRunFlags(values);
  const guards = await guardPaths(
    { ...context, configFile: values.config, dbPath: configuration.agent.subagent.persistencePath, optionFiles: [] },
    configuration,
    trust,
  );
  const { agentServers, mcpServers } = configuration;
  const files = trust.state === "trusted" ? trust : { files: [] };
  const { agents } = await loadAgents(context, files, configuration);
  const bounds = { heldRules: trust.heldRules, guards, files: agents, tools: [] };
  const { rules } = commandRules({ flags: { rights }, env: context.env }, configuration, bounds);
  const who = { runId: "", path: ROOT_NAME, agent: ROOT_NAME, callId: "", above: [] };
  const call = delegationOf(command, agentServers) ?? mcpCallOf(command, mcpServers) ?? callOf(command, agents);
  const judgement = rules.explain({ ...who, ...call, cwd: context.cwd });
  if (values.json) printJson(judgementJson(command, judgement));
  else openOutput(process.stdout, values).printText(judgementLines(judgement).join("\n"));
  return EXIT.ok;
}

type Call = { readonly toolName: string; readonly input: object };

/** `subagent_delegate(claude)` is a task for that external agent. */
function delegationOf(given: string, servers: Configuration["agentServers"]): Call | undefined {
  const name = /^subagent_delegate\(([^()]*(?:\([^()]*\))?)\)$/.exec(given.trim())?.[1];
  if (name === undefined) return undefined;
  try {
    const { name: serverName } = new ServerBook(Object.values(servers)).find(name.trim());
    return { toolName: DELEGATE_TOOL, input: { serverName, task: "", description: "" } };
  } catch (error) {
    throw usageError(messageOf(error));
  }
}

/** `mcp__github__create_issue(owner=acme)` is a call of that tool; the input may also be an object in JSON. */
function mcpCallOf(given: string, servers: Configuration["mcpServers"]): Call | undefined {
  const [, name, input = ""] = /^(mcp__[^\s()]+)(?:\((.*)\))?$/s.exec(given.trim()) ?? [];
  const read = name === undefined ? undefined : readMcpName(name);
  if (name === undefined || read === undefined) return undefined;
  if (read.tool === undefined || /[*?]/.test(name))
    throw usageError(`${quoted(name)} is not one tool: name it whole, such as mcp__github__create_issue`);
  try {
    findMcpServer(servers, read.server);
    return { toolName: givenEntry(name), input: inputOf(input.trim()) };
  } catch (error) {
    throw usageError(messageOf(error));
  }
}

function inputOf(given: string): object {
  if (given === "") return {};
  if (!given.startsWith("{")) {
    const pairs = given.split(",").map((pair) => /^\s*([\w.-]+)\s*=(.*)$/s.exec(pair));
    if (pairs.every((pair) => pair !== null))
      return Object.fromEntries(pairs.map(([, field = "", value = ""]) => [field, value.trim()]));
  }
  const parsed = parsedOf(given);
  if (isRecord(parsed)) return parsed;
  throw new UserError(
    'The input must be fields such as owner=acme, repo=x, or an object in JSON such as {"owner":"acme"}',
  );
}

function parsedOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `subagent(scout)` is not a command but a call of that agent. */
function callOf(given: string, agents: readonly { readonly name: string }[]): Call {
  const name = /^subagent\(([A-Za-z0-9_-]+)\)$/.exec(given.trim())?.[1];
  if (name === undefined) return { toolName: "terminal", input: { command: given } };
  if (agents.some((each) => each.name === name)) return { toolName: `subagent_${name}`, input: { task: "" } };
  const known = nearestFirst(
    name,
    agents.map((each) => each.name),
  );
  throw usageError(
    `Unknown agent ${name}; ${known.length === 0 ? "no agent is defined" : `known: ${known.join(", ")}`}`,
  );
}

/** The answers in words. */
const ANSWERS: Record<RuleAnswer["effect"] | "tier", string> = {
  allow: "runs without a question",
  deny: "refused",
  ask: "a person is asked; without one it is refused",
  tier: "no rule decides: a person is asked, and without one it is refused",
};

/** Foreign text is made inert first, because spaces separate the parts of a line. */
function judgementLines({ answer, by, reading }: Judgement): string[] {
  const reason = answer !== undefined && "reason" in answer ? answer.reason : undefined;
  const parts = (reading?.parts ?? []).flatMap(({ views, problem }, index) => {
    const texts = views.map(({ words }) =>
      inert(words.map(({ text, isOpen }) => (isOpen ? `${text}…` : text)).join(" ")),
    );
    return [
      `part ${index + 1}: ${texts.join("  starts  ")}`,
      ...(problem === undefined ? [] : [`  not understood: ${inert(problem)}`]),
    ];
  });
  const files = (reading?.files ?? []).map(({ kind, paths }) => `${kind}s: ${inert(paths.join(" or "))}`);
  return [
    ANSWERS[answer?.effect ?? "tier"],
    `decided by: ${inert(by)}`,
    ...(reason === undefined || reason === by ? [] : [`because: ${inert(reason)}`]),
    ...(reading?.problem === undefined ? [] : [`not understood: ${inert(reading.problem)}`]),
    ...parts,
    ...files,
  ];
}

function inert(text: string): string {
  return inertLine(text, 2000);
}

function judgementJson(command: string, { answer, by, reading }: Judgement): object {
  return {
    schema: "sous.permission-test.v1",
    command,
    answer: answer?.effect ?? "tier",
    decided_by: by,
    reason: answer !== undefined && "reason" in answer ? (answer.reason ?? null) : null,
    understood: reading?.problem === undefined,
    problem: reading?.problem ?? null,
    parts: (reading?.parts ?? []).map(({ views }) => views.map(({ words }) => words.map(({ text }) => text))),
    files: reading?.files ?? [],
  };
}

/** One tool call, from the model's words to the result it reads: checked, allowed, recorded, run, recorded. */

import { messageOf, StoreError, stackOf, ToolFailure } from "../core/errors.ts";
import type { ToolCallPart, ToolResultPart } from "../core/message.ts";
import { isRedacted } from "../core/redact.ts";
import { mayUse } from "../core/rights.ts";
import type { ReadyTool, Run } from "../core/run.ts";
import type { EarlierCall } from "../core/run-state.ts";
import type { Parsed } from "../core/schema.ts";
import { askedLabels, depthMessage, isSubagentToolName } from "../core/subagent-names.ts";
import type { Tool, ToolResult } from "../core/tool.ts";
import { countsIn } from "../core/tool-counts.ts";
import { approvalRequest } from "./approval-request.ts";
import { askConsent, deniedByRule, NOBODY_THERE, notAllowed } from "./ask-consent.ts";
import { UNKNOWN_OUTCOME } from "./repair-history.ts";
import { afterToolCall, beforeToolCall, orAborted } from "./run-hooks.ts";
import { copyJson } from "./to-json.ts";
import { ToolCallContext } from "./tool-context.ts";
import { boundResult, failedResult, toToolResult } from "./tool-result.ts";
import { waitForTool } from "./wait-for-tool.ts";

/** A call that has begun. */
type Begun = {
  readonly call: ToolCallPart;
  readonly run: Run;
  readonly context: ToolCallContext;
  readonly startedAt: number;
  /** For the ledger: until it is disposed, something of the run moves, unless it waits for children. */
  readonly running: Disposable | undefined;
};

/** A lost store is returned: whoever runs several calls waits for all of them before it throws. */
type Settled = ToolResultPart | StoreError;

/**
 * Never rejects: what a tool or a model did wrong is a failed result the model can read. `earlier` is what became of the
 * call before a restart: one that has ended is not made again. A chain, not an async function: that would keep one more
 * frame for every live child.
 */
export function runToolCall(call: ToolCallPart, run: Run, earlier?: EarlierCall): Settled | Promise<Settled> {
  if (earlier?.state === "ended") return earlier.part;
  if (earlier === undefined || earlier.state === "open") {
    run.emit({ type: "tool-call-start", callId: call.callId, toolName: call.toolName, input: call.input });
    run.toolCount += 1;
  }
  const context = new ToolCallContext(run, call);
  const begun = {
    call,
    run,
    context,
    startedAt: run.tree.clock.monotonic(),
    running: run.holding?.runCall(call.callId),
  };
  let value: unknown;
  try {
    const checking = (earlier && answerEarlier(earlier, call, run)) ?? check(call, run);
    value =
      checking instanceof Promise ? checking.then((checked) => execute(checked, begun)) : execute(checking, begun);
  } catch (error) {
    return fail(begun, error);
  }
  return value instanceof Promise ? whenSettled(value, begun) : succeed(begun, value);
}

/** What the tool returns, or the result that says why it did not run. Whatever settles later is a real promise here. */
function execute(checked: Checked, begun: Begun): unknown {
  if ("refusal" in checked) return checked.refusal;
  const { run, context } = begun;
  const { tool, input } = checked;
  run.work.throwIfAborted();
  const value = tool.execute(input, context);
  const settling = isPromiseLike(value) ? stoppable(value, tool, run) : value;
  return run.profile.hooks?.afterToolCall === undefined ? settling : withHook(settling, input, begun);
}

async function withHook(value: unknown, input: unknown, { call, run }: Begun): Promise<ToolResult> {
  return afterToolCall(call, input, toToolResult(await value), run);
}

/** A function of its own: what it closes over lives as long as the call. */
function whenSettled(value: Promise<unknown>, begun: Begun): Promise<Settled> {
  return value.then(
    (returned) => succeed(begun, returned),
    (error: unknown) => fail(begun, error),
  );
}

function succeed(begun: Begun, value: unknown): Settled {
  let result: ToolResult;
  try {
    result = toToolResult(value);
  } catch (error) {
    return fail(begun, error);
  }
  return end(begun, result, undefined);
}

function fail(begun: Begun, error: unknown): Settled {
  const { work } = begun.run;
  if (error instanceof StoreError) {
    begun.context[Symbol.dispose]();
    begun.running?.[Symbol.dispose]();
    return error;
  }
  const stack = error instanceof ToolFailure ? undefined : stackOf(error);
  return end(begun, failedResult(work.aborted ? "The call was cancelled" : messageOf(error)), stack);
}

function end(begun: Begun, result: ToolResult, stack: string | undefined): ToolResultPart {
  const { call, run, context, startedAt, running } = begun;
  context[Symbol.dispose]();
  running?.[Symbol.dispose]();
  const { callId, toolName } = call;
  const { output, isError } = boundResult(result, call, run);
  // Whole milliseconds: a fraction would be an object of its own in memory, once per call.
  const durationMs = Math.round(run.tree.clock.monotonic() - startedAt);
  const { metadata } = result;
  const files = result.documents?.map((file) => run.tree.redactor.file(file));
  run.emit({ type: "tool-call-end", callId, toolName, output, isError, durationMs, stack, metadata, files });
  const part: ToolResultPart = { type: "tool-result", callId, toolName, output, isError };
  if (files !== undefined && files.length > 0) part.files = files;
  if (run.toolLog !== undefined) {
    const displayName = run.profile.tools.byName.get(toolName)?.tool.displayName;
    const isDenied = metadata === NOBODY_THERE;
    run.toolLog.add(call, part, { durationMs, isDenied, displayName, counts: countsIn(metadata) });
  }
  return part;
}

/** A call that was made and not recorded as done may have had its effect: only one that may be repeated is. */
function answerEarlier(earlier: EarlierCall, { toolName, input }: ToolCallPart, run: Run): Checked | undefined {
  if (earlier.state === "denied") return { refusal: failedResult(notAllowed(toolName, earlier.reason)) };
  const tool = run.profile.tools.byName.get(toolName)?.tool;
  // The gate knows children by their call, so asking it again starts none twice.
  if (tool === undefined || tool.category === "subagent") return undefined;
  const mayHaveRun = earlier.state === "started";
  const isKept = !isRedacted(input);
  if (isKept && (!mayHaveRun || tool.effect !== "unsafe")) return undefined;
  if (!mayHaveRun) return { refusal: failedResult(LOST_INPUT) };
  return { refusal: failedResult(UNKNOWN_OUTCOME, { error_type: "unknown_outcome" }) };
}

const LOST_INPUT =
  "This call was not made: the run was interrupted before it, and a secret in its input was not kept. Continue without it.";

/** A call that may run, with its parsed input, or the result that says why not. */
type Checked = { tool: Tool; input: unknown } | { refusal: ToolResult };

/** Rights, input, hook, consent, record: in this order. Costs no tick when none of them has to wait. */
function check(call: ToolCallPart, run: Run): Checked | Promise<Checked> {
  run.work.throwIfAborted();
  const { tool, schema } = findTool(call, run);
  const parsing = typeof call.input === "string" ? NOT_JSON : schema.parse(forTool(call.input, tool), run.work);
  const isPlain =
    tool.tier === "observe" && run.tree.rules === undefined && run.profile.hooks?.beforeToolCall === undefined;
  if (!isPlain || parsing instanceof Promise) return checkSlowly(call, run, tool, parsing);
  if (!parsing.ok) return invalidInput(parsing.problems);
  const recording = isInside(tool) ? undefined : run.tree.settled();
  const checked = { tool, input: parsing.value };
  return recording === undefined ? checked : recording.then(() => checked);
}

async function checkSlowly(
  call: ToolCallPart,
  run: Run,
  tool: Tool,
  parsing: Parsed | Promise<Parsed>,
): Promise<Checked> {
  const parsed = await orAborted(parsing, run);
  if (!parsed.ok) return invalidInput(parsed.problems);
  const input = parsed.value;
  const answer = await beforeToolCall(call, input, run);
  if (answer !== undefined) return { refusal: answer };
  const refusal = await consentTo(call, input, tool, run);
  if (refusal !== undefined) return { refusal };
  if (!isInside(tool)) await run.tree.settled();
  return { tool, input };
}

/** The rules of the user first, then the tier of the tool, then the person. Undefined when the call may run. */
function consentTo(
  call: ToolCallPart,
  input: unknown,
  tool: Tool,
  run: Run,
): Promise<ToolResult | undefined> | ToolResult | undefined {
  const { toolName } = call;
  const request = approvalRequest(call, input, run);
  const rule = run.tree.rules?.decide(request);
  if (rule?.effect === "deny") return failedResult(deniedByRule(toolName, rule.reason), { error_type: "consent" });
  const mustAsk = rule === undefined ? tool.tier === "confirm" : rule.effect === "ask";
  if (!mustAsk) return undefined;
  if (rule?.effect !== "ask") return askConsent(request, run);
  return askConsent({ ...request, reason: rule.reason }, run, rule.advice);
}

/** True for a call that does nothing outside: a child that it starts keeps it, together with its own start, before it acts. */
function isInside({ effect, category, name }: Tool): boolean {
  if (category !== "subagent" || effect !== "idempotent") return effect === "read";
  // To stop a child is to stop what it does outside.
  return name !== "subagent_cancel";
}

/** A tool may do with its input what it likes: what the model said stays as it was. Ours only read. */
function forTool(input: unknown, { category }: Tool): unknown {
  return category === "subagent" ? input : copyJson(input);
}

/** What arrives as text did not parse as JSON: no schema, however generous, takes it for an input. */
const NOT_JSON: Parsed = { ok: false, problems: ["The input is not valid JSON. Make the call again."] };

function invalidInput(problems: readonly string[]): Checked {
  return { refusal: failedResult(problems.join("; "), { error_type: "invalid_input" }) };
}

/** A subagent tool waits for its children to stop; any other that ignores its signal is left behind after a while. */
function stoppable(work: PromiseLike<unknown>, { category }: Tool, run: Run): Promise<unknown> {
  const settling = Promise.resolve(work);
  return category === "subagent" ? settling : waitForTool(settling, run.work, run.tree.clock);
}

/** Enforced here as well as by not showing the tool: a model may call what it was never shown. */
function findTool({ toolName: name, input }: ToolCallPart, run: Run): ReadyTool {
  const { tools } = run.profile;
  const ready = tools.byName.get(name);
  if (ready !== undefined && isUsable(ready, run)) return ready;
  // A fork is shown the tools of its parent, so it may be shown some that are too deep for it.
  const isTooDeep = tools.isDeepest || (ready !== undefined && run.who.depth >= run.tree.maxDepth);
  if (isTooDeep && isSubagentToolName(name)) {
    const message = depthMessage(run.tree.maxDepth, run.who.depth);
    for (const label of askedLabels(name, input))
      run.emit({ type: "spawn-refused", label, errorType: "depth_limit", message });
    throw new ToolFailure(message);
  }
  const usable = [...tools.byName.values()].filter((each) => isUsable(each, run));
  const isShown = tools.definitions.some((each) => each.name === name);
  const hint = usable.length === 0 ? "You have no tools." : `Your tools: ${usable.map(nameOf).join(", ")}.`;
  throw new ToolFailure(`${isShown ? "You may not use the tool" : "Unknown tool"}: ${name}. ${hint}`);
}

function isUsable({ tool }: ReadyTool, { profile, who, tree }: Run): boolean {
  return mayUse(tool, profile.rights) && (tool.category !== "subagent" || who.depth < tree.maxDepth);
}

function nameOf({ tool }: ReadyTool): string {
  return tool.name;
}

function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  return "then" in value && typeof value.then === "function";
}

/** The host of an external agent: while they are in session a run lends it its ears, its approvals and its own tools. */

import type { ApprovalRequest } from "../../core/approval.ts";
import { messageOf, StoreError } from "../../core/errors.ts";
import {
  type ExternalAction,
  type ExternalCall,
  type ExternalHost,
  LENT_TOOLS,
  type LentToolName,
} from "../../core/external-agent.ts";
import type { ToolCallPart } from "../../core/message.ts";
import type { Run } from "../../core/run.ts";
import type { ToolResult } from "../../core/tool.ts";
import { utf8Length } from "../../core/usage.ts";
import { approvalRequest, askApproval } from "./ask-approval.ts";
import { checkCall, mayCallExternal } from "./check-call.ts";
import { decideByRules } from "./decide-by-rules.ts";
import { waitForTool } from "./execute-tool.ts";
import { boundExternalCall } from "./provider-activity.ts";
import { beforeToolCall } from "./run-hooks.ts";
import { ToolCallContext } from "./tool-context.ts";
import { failedResult, toToolResult } from "./tool-result.ts";

/** More than any report has. */
const MAX_TEXT_BYTES = 4 * 1024 * 1024;
/** A run that may use this tool may do anything; other runs cannot be granted what none of our tools does. */
const ANYTHING = "terminal";

type ExternalListeners = {
  onUsage: ExternalHost["onUsage"];
  /** The agent says more than can be kept. */
  onTooMuch(): void;
};

export class RunHost implements ExternalHost, Disposable {
  readonly #run: Run;
  readonly #listeners: ExternalListeners;
  /** The text of the agent before its last call. */
  #earlierText = "";
  #textBytes = 0;
  #isClosed = false;
  /** Something that it wanted to do was not allowed. */
  wasRefused = false;

  get lends(): readonly LentToolName[] {
    const { tools, rights } = this.#run.profile;
    return LENT_TOOLS.filter((name) => tools.byName.has(name) && rights.use.has(name));
  }

  constructor(run: Run, listeners: ExternalListeners) {
    this.#run = run;
    this.#listeners = listeners;
  }

  /** Resets the text before a prompt. */
  begin(): void {
    this.#run.text = "";
    this.#earlierText = "";
    this.#textBytes = 0;
  }

  /** Returns the answer after a prompt: what the agent said last. */
  finish(): string {
    const run = this.#run;
    if (run.text.trim() === "") run.text = this.#earlierText;
    return run.text;
  }

  onText(text: string): void {
    if (!this.#isHeard() || text === "") return;
    this.#textBytes += utf8Length(text);
    if (this.#textBytes > MAX_TEXT_BYTES) {
      this.#listeners.onTooMuch();
      return;
    }
    this.#run.text += text;
    this.#run.tree.show(this.#run, { type: "text-delta", text });
  }

  onThought(text: string): void {
    if (this.#isHeard() && text !== "") this.#run.tree.show(this.#run, { type: "reasoning-delta", text });
  }

  onPlan(steps: readonly string[]): void {
    if (steps.length > 0) this.onThought(`Plan:\n${steps.map((step) => `- ${step}`).join("\n")}\n`);
  }

  onUsage(spent: Parameters<ExternalHost["onUsage"]>[0]): void {
    if (this.#isHeard()) this.#listeners.onUsage(spent);
  }

  onCall(call: ExternalCall): void {
    if (!this.#isHeard()) return;
    if (call.phase === "start" && this.#run.text.trim() !== "") {
      this.#earlierText = this.#run.text;
      this.#run.text = "";
    }
    this.#run.emit({ type: "outside-call", ...boundExternalCall(call, this.#run.tree.redactor) });
  }

  async approve(action: ExternalAction): Promise<boolean> {
    const run = this.#run;
    if (this.#isClosed || run.work.aborted) return false;
    const isAllowed = await this.#isAllowed(action);
    if (!isAllowed) this.wasRefused = true;
    // It may have been stopped while the person thought about it.
    return isAllowed && !this.#isClosed && !run.work.aborted;
  }

  async #isAllowed(action: ExternalAction): Promise<boolean> {
    const run = this.#run;
    const call = toCall(action);
    const asked = { ...approvalRequest(call, call.input, run), isExternal: true } as const;
    const { questions } = run.tree;
    const isRepeated = action.isRepeated === true;
    const request = isRepeated ? asked : questions.located(asked);
    const problem = isRepeated ? undefined : questions.externalProblem(request, action.otherPaths); // guard: external-target
    if (problem?.effect === "refuse") return false;
    try {
      const others = isRepeated ? [] : questions.otherReadings(request, action.otherPaths);
      const rules = others.map((other) => decideByRules(other, run));
      if (rules.some((rule) => rule?.effect === "deny")) return false;
      const isAsked = rules.some((rule) => rule?.effect === "ask");
      const unclear =
        action.unclear ?? problem?.reason ?? (isAsked ? "its path can mean a file that is asked about" : undefined);
      if (unclear !== undefined)
        return await this.#isAllowedByPerson({ ...request, reason: unclear, isFromTool: true });
      if (run.profile.tools.byName.has(call.toolName)) return await mayCallExternal(call, request, run);
      return await this.#isAllowedWithoutTool(request);
    } catch (error) {
      if (error instanceof StoreError) throw error;
      // It may not use that tool.
      return false;
    }
  }

  /** A run that may do anything may also do what none of our tools does. */
  async #isAllowedWithoutTool(request: ApprovalRequest): Promise<boolean> {
    if (!this.#mayDoAnything) return false;
    const rule = decideByRules(request, this.#run);
    if (rule !== undefined && rule.effect !== "ask") return rule.effect === "allow";
    return (await askApproval(request, this.#run)) === undefined;
  }

  /** It is not known what the action does: a rule can deny it, and none allows it. */
  async #isAllowedByPerson(request: ApprovalRequest): Promise<boolean> {
    const run = this.#run;
    if (!this.#mayDoAnything || decideByRules(request, run)?.effect === "deny") return false;
    const hook = run.profile.hooks?.beforeToolCall;
    if (hook && (await beforeToolCall(toCall(request), request.input, run)) !== undefined) return false;
    return (await askApproval(request, run)) === undefined;
  }

  get #mayDoAnything(): boolean {
    const { tools, rights } = this.#run.profile;
    return tools.byName.has(ANYTHING) && rights.use.has(ANYTHING);
  }

  async callTool(action: ExternalAction): Promise<ToolResult> {
    const run = this.#run;
    if (this.#isClosed || run.work.aborted) return failedResult("The call was cancelled");
    const { callId, toolName, input } = action;
    const about = { callId, name: toolName, kind: toolName, title: toolName, input };
    if (action.isPoll !== true) this.onCall({ ...about, phase: "start" });
    const result = await this.#execute(toCall(action));
    const output = run.tree.redactor.text(result.error ?? result.output);
    if (action.isPoll !== true) this.onCall({ ...about, phase: "end", output, isError: !result.success });
    return result.error === undefined ? { ...result, output } : { ...result, error: output };
  }

  async #execute(call: ToolCallPart): Promise<ToolResult> {
    const run = this.#run;
    using context = new ToolCallContext(run, call);
    try {
      const checked = await checkCall(call, run);
      if ("refusal" in checked) return checked.refusal;
      run.work.throwIfAborted();
      // Our own tools, which are all it is lent, never ask by themselves.
      return toToolResult(await waitForTool(checked.tool, checked.tool.execute(checked.input, context), run));
    } catch (error) {
      return failedResult(run.work.aborted ? "The call was cancelled" : messageOf(error));
    }
  }

  /** Nothing is heard any more. */
  [Symbol.dispose](): void {
    this.#isClosed = true;
  }

  #isHeard(): boolean {
    this.#run.beats += 1;
    return !this.#isClosed;
  }
}

function toCall({ callId, toolName, input }: ExternalAction): ToolCallPart {
  return { type: "tool-call", callId, toolName, input };
}

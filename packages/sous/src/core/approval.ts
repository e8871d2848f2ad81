/** Approval: the question that rules and then a person at the root are asked, and the answer that comes back. */

/** One call before it runs, the same for the rules and for the person. */
export type ApprovalRequest = {
  readonly runId: string;
  /** Which run asks: the full path from the root. */
  readonly path: string;
  /** The name of the definition that it follows; `subagent` for a child made up by a call. */
  readonly agent: string;
  /** The same of every run above it, from the root down: what binds one of them binds this call. */
  readonly above: readonly string[];
  readonly callId: string;
  readonly toolName: string;
  /** The parsed input: exactly what would run. */
  readonly input: unknown;
  /** The working directory where it would run. */
  readonly cwd: string;
  /** Why a rule has the person asked, where the rule says so; shown with the action. */
  readonly reason?: string | undefined;
};

/** The person's answer; `reason` is shown to the model. */
export type ApprovalAnswer = { allow: true } | { allow: false; reason?: string | undefined };

/** Asks the person. Aborting `signal` withdraws the question. */
export type Approve = (request: ApprovalRequest, signal: AbortSignal) => Promise<ApprovalAnswer> | ApprovalAnswer;

/** What the rules of the user say about a call. */
export type RuleAnswer =
  | { effect: "allow" }
  /** `reason` names the rule; without it the action speaks for itself. `advice` is for the model, when no one can be asked. */
  | { effect: "ask"; reason?: string | undefined; advice?: string | undefined }
  | { effect: "deny"; reason: string };

/** Rules before the person. Undefined leaves a call to the tier of its tool. */
export type ApprovalPolicy = {
  decide(request: ApprovalRequest): RuleAnswer | undefined;
  /** Without it the answer is no. */
  ask?: Approve | undefined;
};

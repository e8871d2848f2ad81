/** The application behind the protocol: which agents it offers as tools, and what a call of one comes to. */

import type { TraceContext } from "../core/trace-context.ts";

export type ServedAgents = {
  readonly version: string;
  readonly tools: readonly ServedTool[];
  /** JSON Schema of `ServedReport.data`. */
  readonly outputSchema: Readonly<Record<string, unknown>>;
  /** Resolves with a report however the run ends, also when it could not begin. */
  call(tool: string, task: string, call: ServedCall): Promise<ServedReport>;
};

export type ServedTool = {
  /** `[A-Za-z0-9_-]`, at most 64 characters. */
  readonly name: string;
  /** The agent, for people. */
  readonly title: string;
  readonly description: string;
  /** It has tools that read, and no others. */
  readonly isReadOnly: boolean;
};

export type ServedCall = {
  /** Aborting it cancels the run and everything below it. */
  readonly signal: AbortSignal;
  /** The trace that the client names; when unset that of the process. */
  readonly trace: TraceContext | undefined;
  /** Is given what the tree does, in one line, as often as it changes. */
  readonly show: (activity: string) => void;
};

export type ServedReport = {
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** The run did not complete. */
  readonly isError: boolean;
};

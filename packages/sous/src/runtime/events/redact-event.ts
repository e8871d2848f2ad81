/** An event without the secrets that its texts may hold. */

import type { PieceBody, RunStart, StoredBody, ToolProgress } from "../core/event.ts";
import type { AssistantMessage, FilePart, Message, TextPart, ToolResultPart, UserMessage } from "../core/message.ts";
import type { RunOutcome } from "../core/outcome.ts";
import type { Redactor } from "../core/redactor.ts";

/**
 * The body itself when it holds no secret, which is nearly always. Only texts are checked; ids are not, because events are
 * found by them.
 */
export function redactBody(body: StoredBody, redactor: Redactor): StoredBody {
  switch (body.type) {
    case "turn-start":
    case "outside-session":
    case "prune":
    case "truncation":
    case "cancel":
    case "resume":
      return body;
    case "message-end": {
      const message = redactAnswer(body.message, redactor);
      return message === body.message ? body : { ...body, message };
    }
    case "approval-request": {
      const { toolName, input, origin, toolReason } = body;
      return changed(body, {
        toolName: redactor.text(toolName),
        input: redactor.value(input),
        ...(origin !== undefined && {
          origin: changed(origin, { server: redactor.text(origin.server), tool: redactor.text(origin.tool) }),
        }),
        ...(toolReason !== undefined && { toolReason: redactor.text(toolReason) }),
      });
    }
    case "tool-call-start": {
      const toolName = redactor.text(body.toolName);
      const input = redactor.value(body.input);
      return toolName === body.toolName && input === body.input ? body : { ...body, toolName, input };
    }
    case "tool-call-end":
      return redactResult(body, redactor);
    case "outside-call":
      return changed(body, {
        name: redactor.text(body.name),
        kind: redactor.text(body.kind),
        title: redactor.text(body.title),
        input: redactor.value(body.input),
        ...(body.output === undefined ? {} : { output: redactor.text(body.output) }),
      });
    case "approval-end":
      return changed(body, { reason: optional(body.reason, redactor) });
    case "budget-warning":
    case "retry":
      return changed(body, { message: redactor.text(body.message) });
    case "spawn-refused":
      return changed(body, { label: redactor.text(body.label), message: redactor.text(body.message) });
    case "stalled":
      return changed(body, { waitingFor: redactor.text(body.waitingFor) });
    case "steer":
    case "notice":
    case "report": {
      const text = redactor.text(body.text);
      return text === body.text ? body : { ...body, text };
    }
    case "run-start":
      return redactStart(body, redactor);
    case "run-end":
      return redactEnd(body, redactor);
    default:
      return body satisfies never;
  }
}

/** `redact` knows the pieces before this one. */
export function redactPiece(body: PieceBody, redact: (piece: string) => string): PieceBody {
  const text = redact(body.text);
  return text === body.text ? body : { type: body.type, text };
}

/** Each line is whole: the next one does not continue it. */
export function redactProgress(body: ToolProgress, redactor: Redactor): ToolProgress {
  return changed(body, { toolName: redactor.text(body.toolName), text: redactor.text(body.text) });
}

function redactAnswer(message: AssistantMessage, redactor: Redactor): AssistantMessage {
  const content = mapped(message.content, redactor, redactPart);
  return content === message.content ? message : { ...message, content };
}

type Part = AssistantMessage["content"][number];

function redactPart(part: Part, redactor: Redactor): Part {
  switch (part.type) {
    case "text":
    case "file":
      return redactUserPart(part, redactor);
    case "reasoning": {
      const text = redactor.text(part.text);
      // What a provider signed is no longer what it says, and it would refuse the thought.
      return text === part.text ? part : { type: "reasoning", text };
    }
    case "tool-call": {
      const toolName = redactor.text(part.toolName);
      const input = redactor.value(part.input);
      return toolName === part.toolName && input === part.input ? part : { ...part, toolName, input };
    }
    case "provider":
      return changed(part, { toolName: redactor.text(part.toolName), value: redactor.value(part.value) });
    default:
      return part satisfies never;
  }
}

function redactUserPart(part: TextPart | FilePart, redactor: Redactor): TextPart | FilePart {
  if (part.type === "file") return redactor.file(part);
  const text = redactor.text(part.text);
  return text === part.text ? part : { ...part, text };
}

type ToolCallEnd = Extract<StoredBody, { type: "tool-call-end" }>;

/** The output was redacted before it was cut; here it is for what else may say that a call has ended. */
function redactResult(body: ToolCallEnd, redactor: Redactor): ToolCallEnd {
  const toolName = redactor.text(body.toolName);
  const output = redactor.text(body.output);
  const stack = optional(body.stack, redactor);
  const metadata = body.metadata === undefined ? undefined : redactor.value(body.metadata);
  const files = body.files === undefined ? undefined : mapped(body.files, redactor, redactFile);
  const isSame =
    toolName === body.toolName &&
    output === body.output &&
    stack === body.stack &&
    metadata === body.metadata &&
    files === body.files;
  return isSame ? body : { ...body, toolName, output, stack, metadata, files };
}

function redactStart(body: RunStart, redactor: Redactor): RunStart {
  const { origin } = body;
  const isBranch = origin?.kind === "branch";
  return changed(body, {
    nickname: optional(body.nickname, redactor),
    label: redactor.text(body.label),
    task: redactTask(body.task, redactor),
    instructions: optional(body.instructions, redactor),
    notes: optional(body.notes, redactor),
    tools: body.tools.shown === undefined ? body.tools : redactor.value(body.tools),
    outputSchema: body.outputSchema && redactor.value(body.outputSchema),
    summaryPrompt: optional(body.summaryPrompt, redactor),
    terms: body.terms?.fanOut === undefined ? body.terms : redactor.value(body.terms),
    cwd: optional(body.cwd, redactor),
    origin: isBranch ? changed(origin, { history: mapped(origin.history, redactor, redactMessage) }) : origin,
  });
}

function redactTask(message: UserMessage, redactor: Redactor): UserMessage {
  const content = mapped(message.content, redactor, redactUserPart);
  return content === message.content ? message : { ...message, content };
}

function redactMessage(message: Message, redactor: Redactor): Message {
  switch (message.role) {
    case "user":
      return redactTask(message, redactor);
    case "assistant":
      return redactAnswer(message, redactor);
    case "tool":
      return changed(message, { content: mapped(message.content, redactor, redactResultPart) });
    default:
      return message satisfies never;
  }
}

function redactResultPart(part: ToolResultPart, redactor: Redactor): ToolResultPart {
  const files = part.files && mapped(part.files, redactor, redactFile);
  const shown = changed(part, { toolName: redactor.text(part.toolName), output: redactor.text(part.output) });
  return files === undefined ? shown : changed(shown, { files });
}

function redactFile(file: FilePart, redactor: Redactor): FilePart {
  return redactor.file(file);
}

function redactEnd(body: { type: "run-end" } & RunOutcome, redactor: Redactor): { type: "run-end" } & RunOutcome {
  const text = redactor.text(body.text);
  const output = body.output === undefined ? undefined : redactor.value(body.output);
  const fault = body.fault === undefined ? undefined : redactor.value(body.fault);
  return text === body.text && output === body.output && fault === body.fault ? body : { ...body, text, output, fault };
}

function optional(text: string | undefined, redactor: Redactor): string | undefined {
  return text === undefined ? undefined : redactor.text(text);
}

/** The list itself when nothing in it changes. */
function mapped<T>(list: readonly T[], redactor: Redactor, redact: (item: T, redactor: Redactor) => T): readonly T[] {
  let copy: T[] | undefined;
  let index = 0;
  for (const item of list) {
    const shown = redact(item, redactor);
    if (shown !== item) {
      copy ??= [...list];
      copy[index] = shown;
    }
    index += 1;
  }
  return copy ?? list;
}

/** The value itself when the fields are what they were. */
function changed<T extends object>(value: T, fields: Partial<T>): T {
  for (const name in fields) if (fields[name] !== value[name]) return { ...value, ...fields };
  return value;
}

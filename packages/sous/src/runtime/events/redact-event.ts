/** An event without the secrets that its texts may hold. */

import type { Redactor } from "../../core/clean-text.ts";
import type { DeltaBody, PieceBody, StoredBody } from "../../core/event.ts";
import type { AssistantMessage, FilePart, Message, TextPart, ToolResultPart, UserMessage } from "../../core/message.ts";
import { EVENT_TYPES, ROWS } from "../../core/words/event-rows.ts";
import { type Kind, type Kinds, kindOf, type TextKind } from "../../core/words/kinds.ts";

/**
 * The body itself when it holds no secret, which is nearly always. Only texts are checked; ids are not, because events are
 * found by them. The kinds that every turn has are written out: 0.1 µs less per turn.
 */
export function redactBody(body: StoredBody, redactor: Redactor): StoredBody {
  switch (body.type) {
    case "message-end": {
      const message = redactAnswer(body.message, redactor);
      return message === body.message ? body : { ...body, message };
    }
    case "tool-call-start": {
      const toolName = redactor.text(body.toolName);
      const input = redactor.value(body.input);
      return toolName === body.toolName && input === body.input ? body : { ...body, toolName, input };
    }
    case "tool-call-end":
      return redactResult(body, redactor);
    default:
      return byRow(body, redactor);
  }
}

/** Pieces of a stream are redacted by `redactPiece`. */
export function redactDelta(body: Exclude<DeltaBody, PieceBody>, redactor: Redactor): DeltaBody {
  return byRow(body, redactor);
}

type Body = StoredBody | DeltaBody;

function byRow<Given extends Body>(body: Given, redactor: Redactor): Given {
  return (REDACT_EVENT[body.type]?.(body, redactor) as Given | undefined) ?? body;
}

type Redact<Value> = (value: Value, redactor: Redactor) => Value;

/** One function for each kind that can hold text; undefined for kinds by which things are found, or whose texts are names of sous. */
const REDACT_KIND: { readonly [Each in TextKind]: Redact<Kinds[Each]> | undefined } = {
  id: undefined,
  text: (text, redactor) => redactor.text(text),
  json: (value, redactor) => redactor.value(value),
  record: (value, redactor) => redactor.value(value),
  task: redactTask,
  answer: redactAnswer,
  files: (files, redactor) => mapped(files, redactor, redactFile),
  usage: undefined,
  providerCalls: undefined,
  price: undefined,
  tools: (tools, redactor) => (tools.shown === undefined ? tools : redactor.value(tools)),
  rights: undefined,
  origin: (origin, redactor) =>
    origin.kind === "branch" ? changed(origin, { history: mapped(origin.history, redactor, redactMessage) }) : origin,
  call: undefined,
  budget: undefined,
  terms: (terms, redactor) => (terms.fanOut === undefined ? terms : redactor.value(terms)),
  // Names and limits that the runtime made, as those of the terms.
  placed: undefined,
  toolOrigin: (origin, redactor) =>
    changed(origin, { server: redactor.text(origin.server), tool: redactor.text(origin.tool) }),
  callTarget: (target, redactor) => redactor.value(target),
  // The run is taken from its start, which was redacted.
  resumedRun: undefined,
  fault: (fault, redactor) => redactor.value(fault),
  limit: undefined,
};

/** The redactors, made once from the rows of the events. */
const REDACT_EVENT: Readonly<Partial<Record<Body["type"], Redact<Body>>>> = Object.fromEntries(
  EVENT_TYPES.map((type) => [type, redactorOf(type)]),
);

function redactorOf(type: Body["type"]): Redact<Body> | undefined {
  const fields = Object.entries(ROWS[type].fields).flatMap(([name, word]): TextField[] => {
    const redact = (REDACT_KIND as Partial<Record<Kind, Redact<unknown>>>)[kindOf(word)];
    return redact === undefined ? [] : [{ name, redact }];
  });
  return fields.length === 0 ? undefined : (body, redactor) => redactFields(body, fields, redactor);
}

type TextField = { readonly name: string; readonly redact: Redact<unknown> };

function redactFields(body: Body, fields: readonly TextField[], redactor: Redactor): Body {
  let copy: Record<string, unknown> | undefined;
  for (const { name, redact } of fields) {
    const value = (body as Readonly<Record<string, unknown>>)[name];
    const shown = value === undefined ? undefined : redact(value, redactor);
    if (shown === value) continue;
    copy ??= { ...body };
    copy[name] = shown;
  }
  return (copy ?? body) as Body;
}

/** `redact` knows the pieces before this one. */
export function redactPiece(body: PieceBody, redact: (piece: string) => string): PieceBody {
  const text = redact(body.text);
  return text === body.text ? body : { type: body.type, text };
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
      // The signature of the provider no longer fits the text, and it would refuse the thought.
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
  const stack = body.stack === undefined ? undefined : redactor.text(body.stack);
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

/**
 * One line of an agent's output as a message of JSON-RPC, or nothing. Lines that are not messages are skipped and never
 * answered: agents print banners and warnings, and an answer to them would be read as an answer to something else.
 */

import { isRecord } from "../../core/schema.ts";

export type RequestId = string | number | null;

export type RpcError = { readonly code: number; readonly message: string };

export type RpcMessage =
  | { readonly kind: "request"; readonly id: RequestId; readonly method: string; readonly params: unknown }
  | { readonly kind: "notification"; readonly method: string; readonly params: unknown }
  | { readonly kind: "result"; readonly id: number; readonly result: unknown }
  | { readonly kind: "error"; readonly id: number; readonly error: RpcError };

/** Longer names of methods and longer ids are no messages. */
const MAX_NAME = 200;
/** Max characters of the text of an error: people read it. */
const MAX_ERROR = 500;

export function parseMessage(line: string): RpcMessage | undefined {
  if (!line.trimStart().startsWith("{")) return undefined;
  const value = parsed(line);
  if (!isRecord(value)) return undefined;
  const { jsonrpc, id, method, params, result, error } = value;
  if (jsonrpc !== "2.0") return undefined;
  if (method !== undefined) {
    if (typeof method !== "string" || method.length > MAX_NAME) return undefined;
    if (!("id" in value)) return { kind: "notification", method, params };
    return isRequestId(id) ? { kind: "request", id, method, params } : undefined;
  }
  // Our own ids are whole numbers: an answer to anything else is an answer to nothing.
  if (typeof id !== "number" || !Number.isSafeInteger(id)) return undefined;
  if (error !== undefined && error !== null) return { kind: "error", id, error: readError(error) };
  return "result" in value ? { kind: "result", id, result } : undefined;
}

function isRequestId(id: unknown): id is RequestId {
  return id === null || typeof id === "number" || (typeof id === "string" && id.length <= MAX_NAME);
}

function readError(error: unknown): RpcError {
  const { code, message, data } = isRecord(error) ? error : {};
  const said = typeof message === "string" ? message : "an error without a text";
  // Most agents say only "Internal error" in the message, and what happened beside it.
  const details = detailsOf(data);
  return {
    code: typeof code === "number" ? code : 0,
    message: `${said}${details === "" ? "" : ` (${details})`}`.slice(0, MAX_ERROR),
  };
}

function detailsOf(data: unknown): string {
  if (typeof data === "string") return data;
  const { details, message } = isRecord(data) ? data : {};
  return typeof details === "string" ? details : typeof message === "string" ? message : "";
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

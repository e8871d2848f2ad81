/** Any AI SDK language model (specification V4) as a `Model`. */

import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { ForeignModel } from "../core/agent.ts";
import { ModelError, UserError } from "../core/errors.ts";
import type { Model, ModelRequest } from "../core/model.ts";
import { classifyError } from "./classify-error.ts";
import { readAnswer } from "./from-stream.ts";
import { isAccepted } from "./model-fetch.ts";
import { promptBuilder, toolConverter } from "./to-prompt.ts";

export type AdapterOptions = {
  /** `provider/model`; taken from the AI SDK model when unset. */
  id?: string | undefined;
  /** Sent with every request, keyed by provider name. */
  providerOptions?: LanguageModelV4CallOptions["providerOptions"] | undefined;
  maxRetries?: number | undefined;
  /** How long one call may take from its beginning to its end; 20 minutes when unset. */
  callTimeoutMs?: number | undefined;
};

const CALL_TIMEOUT_MS = 20 * 60_000;

const adapted = new WeakMap<object, Model>();

/** The same object gives the same `Model`, so that all its users share one governor. Refuses older specifications. */
export function fromAiSdk(foreign: LanguageModelV4 | ForeignModel, options: AdapterOptions = {}): Model {
  const known = adapted.get(foreign);
  if (known !== undefined) return known;
  const model = adapt(requireV4(foreign), options);
  adapted.set(foreign, model);
  return model;
}

/** True for a language model of the AI SDK of any specification; `fromAiSdk` says which of them it takes. */
export function isForeignModel(value: unknown): value is ForeignModel {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  return "specificationVersion" in value && "doStream" in value && typeof value.doStream === "function";
}

function requireV4(foreign: LanguageModelV4 | ForeignModel): LanguageModelV4 {
  if (foreign.specificationVersion === "v4" && isForeignModel(foreign)) return foreign as LanguageModelV4;
  throw new UserError(
    `The model ${foreign.provider}/${foreign.modelId} implements specification ${foreign.specificationVersion} of the ` +
      "AI SDK, but sous needs v4: update its provider package",
  );
}

function adapt(model: LanguageModelV4, options: AdapterOptions): Model {
  const id = options.id ?? `${model.provider.split(".")[0]}/${model.modelId}`;
  const toPrompt = promptBuilder(model.provider);
  const toTools = toolConverter(model.provider);
  return {
    id,
    maxRetries: options.maxRetries,
    answer: async (request, onDelta) => {
      request.signal.throwIfAborted();
      using deadline = new CallDeadline(id, options.callTimeoutMs ?? CALL_TIMEOUT_MS, request.signal);
      const { signal } = deadline;
      const answering = openStream(toCall(request, signal), signal).then((stream) => {
        deadline.isAccepted = () => true;
        return readAnswer(stream, { id, signal, onDelta });
      });
      // Not every model obeys its signal.
      return await Promise.race([answering, deadline.passed]);
    },
  };

  function toCall(request: ModelRequest, abortSignal: AbortSignal): LanguageModelV4CallOptions {
    const { tools, settings } = request;
    const call: LanguageModelV4CallOptions = { prompt: toPrompt(request), abortSignal };
    if (tools.length > 0) {
      call.tools = toTools(tools);
      call.toolChoice = { type: request.mayCallTools ? "auto" : "none" };
    }
    if (settings.maxOutputTokens !== undefined) call.maxOutputTokens = settings.maxOutputTokens;
    if (settings.outputSchema !== undefined) call.responseFormat = { type: "json", schema: settings.outputSchema };
    if (options.providerOptions !== undefined) call.providerOptions = options.providerOptions;
    return call;
  }

  async function openStream(call: LanguageModelV4CallOptions, signal: AbortSignal) {
    try {
      return (await model.doStream(call)).stream;
    } catch (error) {
      signal.throwIfAborted();
      throw classifyError(error, { id, phase: "request" });
    }
  }
}

/** Bounds the time of one call: some servers keep the connection alive and never end the answer. */
class CallDeadline implements Disposable {
  readonly #timer: NodeJS.Timeout;
  /** Of the call: aborted by the caller, or when the time has passed. */
  readonly signal: AbortSignal;
  readonly passed: Promise<never>;
  /** Whether the server has begun to answer. */
  isAccepted: () => boolean = () => isAccepted(this.signal);

  constructor(id: string, milliseconds: number, given: AbortSignal) {
    const controller = new AbortController();
    this.signal = AbortSignal.any([given, controller.signal]);
    const { promise, reject } = Promise.withResolvers<never>();
    this.passed = promise;
    promise.catch(() => {});
    this.#timer = setTimeout(() => {
      const message = `The answer of ${id} was not complete after ${milliseconds / 1000} s, and the call was given up: provider.call_timeout allows more`;
      const error = new ModelError("unknown", message, { afterOutput: this.isAccepted() });
      controller.abort(error);
      reject(error);
    }, milliseconds);
    this.#timer.unref();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}

/**
 * `fetch` for the calls of a model. It gives up on a server that is silent for a while, on a body that is not a stream
 * of events (a page, a document of JSON), and on a single event without end.
 */

import { ignore, ModelError } from "../../core/errors.ts";
import { type BodyCheck, type CallFacts, RefusalCheck, StreamCheck } from "./body-check.ts";
import { noteFacts } from "./wire-facts.ts";

type Fetch = typeof globalThis.fetch;

/** `send` is used for each call; the global `fetch` would load a whole client if it were looked up earlier. */
export function modelFetch(send: Fetch, facts: CallFacts): Fetch {
  return async (input, init) => {
    const silence = new Silence(facts.silenceMs);
    const given = init?.signal;
    const signal = given ? AbortSignal.any([given, silence.signal]) : silence.signal;
    try {
      const response = await send(input, { ...init, signal });
      if (response.body === null) {
        silence.end();
        return response;
      }
      silence.restart();
      const { status, statusText, headers, ok, body } = response;
      const { host } = new URL(input instanceof Request ? input.url : input);
      const check = ok ? new StreamCheck(facts, host) : new RefusalCheck();
      if (given && check instanceof StreamCheck) noteFacts(given, { body: check });
      return new Response(checkedBody(body, { silence, check, given }), { status, statusText, headers });
    } catch (error) {
      silence.end();
      throw silence.signal.aborted ? silence.signal.reason : error;
    }
  };
}

type Reading = { silence: Silence; check: BodyCheck; given: AbortSignal | null | undefined };

function checkedBody(body: ReadableStream<Uint8Array>, { silence, check, given }: Reading): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let hasPassed = false;
  let isBroken = false;

  async function next(): Promise<Uint8Array | undefined> {
    while (!check.isDone) {
      const { value } = await reader.read().catch((error: unknown) => {
        const cause = check.broken(error);
        // An error would discard what the decoders behind this stream hold and have not passed on.
        if (!hasPassed || !given || given.aborted || !(check instanceof StreamCheck)) throw cause;
        isBroken = true;
        noteFacts(given, { broken: cause });
        return NO_MORE;
      });
      silence.restart();
      if (value === undefined) {
        if (!isBroken) check.end();
        return undefined;
      }
      const passed = check.take(value);
      hasPassed ||= passed.length > 0;
      if (passed.length > 0) return passed;
    }
    return undefined;
  }

  return new ReadableStream({
    async pull(controller) {
      try {
        const passed = await next();
        if (passed !== undefined) {
          controller.enqueue(passed);
          return;
        }
        silence.end();
        controller.close();
        release(reader);
      } catch (error) {
        silence.end();
        reader.cancel().catch(ignore);
        throw error;
      }
    },
    cancel(reason) {
      silence.end();
      return reader.cancel(reason);
    },
  });
}

const NO_MORE = { done: true, value: undefined } as const;
const BODY_END_MS = 1000;

/** Waits shortly for the end of the body, so that the next call can reuse the connection; else cancels it. */
function release(reader: ReadableStreamDefaultReader<Uint8Array>): void {
  const timer = setTimeout(() => void reader.cancel().catch(ignore), BODY_END_MS).unref();
  const end = (): void => {
    clearTimeout(timer);
    reader.cancel().catch(ignore);
  };
  reader.read().then(end, end);
}

class Silence {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;

  constructor(milliseconds: number) {
    this.#timer = setTimeout(() => {
      const message = `The connection timed out: the server said nothing for ${milliseconds / 1000} s`;
      this.#controller.abort(new DOMException(message, "TimeoutError"));
    }, milliseconds);
    // A stopped call leaves the timer behind, and the process does not wait for it.
    this.#timer.unref();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  restart(): void {
    this.#timer.refresh();
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

/** Every request to a provider goes through here, the exchange of tokens too. `fetch` is looked up when it is first used. */
export function unredirectedFetch(given: Fetch | undefined): Fetch {
  return async (input, init) => {
    const send = given ?? globalThis.fetch;
    const response = await send(input, { ...init, redirect: "manual" });
    if (!isRedirect(response)) return response;
    await response.body?.cancel();
    const asked = new URL(input instanceof Request ? input.url : input);
    throw new ModelError(
      "invalid_request",
      `${asked.host} answered with a redirect to ${targetOf(response, asked)}, which is not followed: check provider.base_url`,
      { status: response.status },
    );
  };
}

/** True also for a redirect that a given `fetch` has followed: its answer comes from a host that was not chosen. */
function isRedirect({ status, type, redirected }: Response): boolean {
  return (status >= 300 && status < 400) || type === "opaqueredirect" || redirected;
}

function targetOf({ headers, redirected, url }: Response, asked: URL): string {
  const location = redirected ? url : headers.get("location");
  const target = location === null ? null : URL.parse(location, asked.href);
  if (target === null || target.host === "") return "an address that cannot be read";
  return target.host === asked.host ? `${target.origin}${target.pathname.slice(0, 100)}` : target.host;
}

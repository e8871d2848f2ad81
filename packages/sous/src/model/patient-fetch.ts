/** `fetch` that gives up on a server which has said nothing for a while, before its answer or in the middle of it. */

type Fetch = typeof globalThis.fetch;

/** The global `fetch` is looked up when it is first used: that alone loads a whole client. */
export function patientFetch(silenceMs: number): Fetch {
  return async (input, init) => {
    const silence = new Silence(silenceMs);
    const given = init?.signal;
    const signal = given ? AbortSignal.any([given, silence.signal]) : silence.signal;
    try {
      const response = await fetch(input, { ...init, signal });
      if (response.body === null) {
        silence.end();
        return response;
      }
      silence.heard();
      const { status, statusText, headers } = response;
      return new Response(response.body.pipeThrough(listener(silence)), { status, statusText, headers });
    } catch (error) {
      silence.end();
      throw silence.signal.aborted ? silence.signal.reason : error;
    }
  };
}

function listener(silence: Silence): TransformStream<Uint8Array, Uint8Array> {
  return new TransformStream({
    transform(chunk, controller) {
      silence.heard();
      controller.enqueue(chunk);
    },
    flush: () => silence.end(),
    // Nobody reads any more.
    cancel: () => silence.end(),
  });
}

class Silence {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;

  constructor(milliseconds: number) {
    this.#timer = setTimeout(() => {
      const message = `The connection timed out: the server said nothing for ${milliseconds / 1000} s`;
      this.#controller.abort(new DOMException(message, "TimeoutError"));
    }, milliseconds);
    // A call that is stopped leaves it behind, and nobody waits for it.
    this.#timer.unref();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  heard(): void {
    this.#timer.refresh();
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

/** The pieces of an answer as an iterator: a reader that stops early cancels the prompt. */

import { ignore } from "../core/errors.ts";
import type { AcpPiece, AcpResult } from "./library-session.ts";

type Work = (onPiece: (piece: AcpPiece) => void, signal: AbortSignal) => Promise<AcpResult>;

/** The size of what one prompt can send is bounded, so what a slow reader has not read yet is, too. */
export async function* iteratePieces(work: Work, signal: AbortSignal | undefined): AsyncGenerator<AcpPiece, void> {
  const stop = new AbortController();
  const cancel = (): void => stop.abort(signal?.reason);
  signal?.addEventListener("abort", cancel, { once: true });
  if (signal?.aborted) cancel();
  const waiting: AcpPiece[] = [];
  let wake: () => void = ignore;
  let isOver = false;
  const result = work((piece) => {
    waiting.push(piece);
    wake();
  }, stop.signal);
  const end = (): void => {
    isOver = true;
    wake();
  };
  result.then(end, end);
  try {
    while (true) {
      const piece = waiting.shift();
      if (piece !== undefined) yield piece;
      else if (isOver) break;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
    yield { type: "result", result: await result };
  } finally {
    signal?.removeEventListener("abort", cancel);
    stop.abort();
    await result.catch(ignore);
  }
}

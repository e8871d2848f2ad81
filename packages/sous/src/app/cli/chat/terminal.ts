/** The terminal in raw mode, key by key. It is restored when this is disposed, and when the process ends. */

import type { Clock } from "../../../core/clock.ts";
import { type Key, KeyDecoder } from "./keys.ts";

type TerminalEvents = {
  onKey(key: Key): void;
  onResize(): void;
  /** Ctrl-Z: the shell is about to have the terminal. Afterwards `onResize` is called. */
  onSuspend(): void;
  /** The terminal was closed, or the process shall end. */
  onEnd(signal: "SIGTERM" | "SIGHUP" | "end"): void;
};

const BRACKETED_PASTE = "\u001b[?2004h";
const PLAIN_PASTE = "\u001b[?2004l";
const SHOW_CURSOR = "\u001b[?25h";
/** The time an escape byte waits for the rest of its sequence. */
const ESCAPE_MS = 40;
/** A process that still runs this long after a stop signal was not stopped. */
const SUSPEND_MS = 200;

/** Disposing it gives the terminal back. It is also given back when the process ends in any other way it can notice. */
export function openTerminal(
  input: NodeJS.ReadStream,
  output: NodeJS.WriteStream,
  clock: Pick<Clock, "timer">,
  { onKey, onResize, onSuspend, onEnd }: TerminalEvents,
): Disposable {
  const decoder = new KeyDecoder();
  let timer: Disposable | undefined;
  const onData = (bytes: Buffer): void => {
    timer?.[Symbol.dispose]();
    timer = undefined;
    for (const key of decoder.feed(bytes)) {
      if (key.type === "key" && key.name === "suspend") suspend();
      else onKey(key);
    }
    if (decoder.isWaiting) timer = clock.timer(ESCAPE_MS, () => decoder.flush().forEach(onKey));
  };
  const onInterrupt = (): void => onKey({ type: "key", name: "interrupt" });
  const onTerminate = (): void => onEnd("SIGTERM");
  const onHangUp = (): void => onEnd("SIGHUP");
  const onClose = (): void => onEnd("end");
  const suspend = (): void => {
    onSuspend();
    output.write(PLAIN_PASTE + SHOW_CURSOR);
    input.setRawMode(false);
    process.once("SIGCONT", wake);
    // The whole group, as the terminal itself would do it. Where no shell could wake us up again, it is ignored.
    process.kill(0, "SIGTSTP");
    waking = clock.timer(SUSPEND_MS, wake);
  };
  const wake = (): void => {
    process.off("SIGCONT", wake);
    waking?.[Symbol.dispose]();
    waking = undefined;
    if (!isOpen || input.destroyed) return;
    input.setRawMode(true);
    output.write(BRACKETED_PASTE);
    onResize();
  };
  let waking: Disposable | undefined;
  let isOpen = true;
  const restore = (): void => {
    if (!isOpen) return;
    isOpen = false;
    timer?.[Symbol.dispose]();
    waking?.[Symbol.dispose]();
    output.write(PLAIN_PASTE + SHOW_CURSOR);
    // A terminal that is gone has no mode to go back to.
    if (!input.destroyed) input.setRawMode(false);
    input.off("data", onData).off("end", onClose).off("error", onClose).pause();
    output.off("resize", onResize).off("error", onHangUp);
    process
      .off("SIGCONT", wake)
      .off("exit", restore)
      .off("SIGINT", onInterrupt)
      .off("SIGTERM", onTerminate)
      .off("SIGHUP", onHangUp);
  };
  input.setRawMode(true);
  output.write(BRACKETED_PASTE);
  input.on("data", onData).on("end", onClose).on("error", onClose).resume();
  output.on("resize", onResize).on("error", onHangUp);
  process.on("exit", restore).on("SIGINT", onInterrupt).on("SIGTERM", onTerminate).on("SIGHUP", onHangUp);
  return { [Symbol.dispose]: restore };
}

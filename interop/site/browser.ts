/** A page in Chromium, driven through the DevTools protocol. */

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const START_MS = 60_000;
const POLL_MS = 100;

export type Browser = AsyncDisposable & {
  /** What went wrong in pages, and addresses that they have asked for. */
  readonly errors: string[];
  readonly requests: string[];
  open(address: string): Promise<void>;
  /** The value of an expression in the page; a promise is awaited. */
  evaluate<T>(expression: string): Promise<T>;
  /** Waits until an expression is true. */
  until(what: string, expression: string): Promise<void>;
  type(text: string): Promise<void>;
  /** A PNG of the window, in base64. */
  screenshot(): Promise<string>;
};

export function chromium(): string | undefined {
  return ["chromium", "chromium-browser", "google-chrome"].find(
    (name) => spawnSync(name, ["--version"], { stdio: "ignore" }).status === 0,
  );
}

export async function openBrowser(program: string): Promise<Browser> {
  const profile = mkdtempSync(join(tmpdir(), "sous-browser-"));
  const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--window-size=1280,900"];
  const child = spawn(program, [...flags, "--remote-debugging-port=0", `--user-data-dir=${profile}`], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const exit = once(child, "exit");
  const close = async (): Promise<void> => {
    child.kill("SIGKILL");
    await exit;
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const port = await debuggingPort(child.stderr);
    const response = await fetch(`http://127.0.0.1:${port}/json/new?about:blank`, { method: "PUT" });
    const { webSocketDebuggerUrl } = (await response.json()) as { webSocketDebuggerUrl: string };
    return { ...(await openPage(webSocketDebuggerUrl)), [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function debuggingPort(stderr: NodeJS.ReadableStream): Promise<string> {
  let said = "";
  stderr.on("data", (chunk) => (said += chunk));
  for (let waited = 0; waited < START_MS; waited += POLL_MS) {
    const [, port] = /DevTools listening on ws:\/\/127\.0\.0\.1:(\d+)/.exec(said) ?? [];
    if (port !== undefined) return port;
    await pause(POLL_MS);
  }
  throw new Error(`Chromium has not started: ${said}`);
}

type Answer = { id?: number; method?: string; params?: Params; result?: Params; error?: { message: string } };
type Params = Record<string, unknown>;

async function openPage(address: string): Promise<Omit<Browser, typeof Symbol.asyncDispose>> {
  const socket = new WebSocket(address);
  await new Promise((open, fail) => {
    socket.onopen = open;
    socket.onerror = () => fail(new Error("No connection to Chromium"));
  });
  const [errors, requests]: [string[], string[]] = [[], []];
  const waiting = new Map<number, PromiseWithResolvers<Params>>();
  let loads = 0;
  socket.onmessage = ({ data }) => {
    const { id, method, params = {}, result = {}, error }: Answer = JSON.parse(String(data));
    if (method === "Page.loadEventFired") loads += 1;
    if (method === "Runtime.exceptionThrown" || isErrorLine(method, params)) errors.push(JSON.stringify(params));
    if (method === "Network.requestWillBeSent") requests.push((params.request as { url: string }).url);
    const answer = waiting.get(id ?? -1);
    if (error !== undefined) answer?.reject(new Error(error.message));
    else answer?.resolve(result);
  };
  const send = (method: string, params: Params = {}): Promise<Params> => {
    const id = waiting.size + 1;
    const answer = Promise.withResolvers<Params>();
    waiting.set(id, answer);
    socket.send(JSON.stringify({ id, method, params }));
    return answer.promise;
  };
  for (const domain of ["Page", "Runtime", "Log", "Network"]) await send(`${domain}.enable`);

  const evaluate = async <T>(expression: string): Promise<T> => {
    const answer = await send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (answer.exceptionDetails !== undefined) throw new Error(JSON.stringify(answer.exceptionDetails));
    return (answer.result as { value: T }).value;
  };
  const wait = async (what: string, isTrue: () => Promise<boolean> | boolean): Promise<void> => {
    for (let waited = 0; !(await isTrue()); waited += POLL_MS) {
      if (waited > START_MS) throw new Error(`Not seen in the browser: ${what}`);
      await pause(POLL_MS);
    }
  };
  return {
    errors,
    requests,
    evaluate,
    open: async (page) => {
      const before = loads;
      await send("Page.navigate", { url: page });
      await wait(page, () => loads > before);
    },
    until: (what, expression) => wait(what, () => evaluate<boolean>(`Boolean(${expression})`)),
    type: async (text) => void (await send("Input.insertText", { text })),
    screenshot: async () => String((await send("Page.captureScreenshot")).data),
  };
}

function isErrorLine(method: string | undefined, params: Params): boolean {
  return method === "Log.entryAdded" && (params.entry as { level: string }).level === "error";
}

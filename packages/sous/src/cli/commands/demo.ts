/** `sous demo`: a real tree of agents over real files, on a model that follows a script and says so. */

import { parseArgs } from "node:util";
import { messageOf, UserError } from "../../core/errors.ts";
import type { RunStatus } from "../../core/outcome.ts";
import { RunError, type RunResult } from "../../core/runtime.ts";
import { assembleDemo } from "../assemble.ts";
import { inert, inertLine } from "../inert.ts";
import { type Screen, startRenderer } from "../render.ts";
import type { RunTree } from "../run-tree.ts";
import { chooseStyle, type Style } from "../style.ts";
import { treeLines } from "../tree.ts";
import { wrapToWidth } from "../width.ts";

const PLAIN_COLUMNS = 100;

export async function demo(parameters: readonly string[]): Promise<number> {
  const { color, isAscii } = readParameters(parameters);
  const { env, stdout, stderr } = process;
  const styleOf = (isTerminal: boolean): Style => chooseStyle({ color, isAscii, isTerminal, env });
  const style = styleOf(stdout.isTTY === true);
  const columns = stdout.isTTY === true ? Math.max(20, stdout.columns - 1) : undefined;
  const print = (text: string): void => void stdout.write(`${wrapped(text, columns)}\n`);

  print("sous demo: real agents, tools, limits and files. The model is scripted: no key, no network.");
  using interrupt = catchInterrupts();
  const { result, tree } = await watch(stderr, styleOf(stderr.isTTY === true), interrupt.signal);
  print(`\n${inert(result.text)}\n`);
  for (const line of treeLines(tree, columns ?? PLAIN_COLUMNS, style)) stdout.write(`${line}\n`);
  print("\nTokens are counted as bytes ÷ 3: no real model was asked.");
  if (result.error !== undefined) stderr.write(`error: ${inertLine(result.error.message)}\n`);
  return exitCode(result.status, interrupt.exitCode());
}

/** Runs it and shows it; when this returns, the terminal is as it was. */
async function watch(screen: Screen, style: Style, signal: AbortSignal): Promise<{ result: RunResult; tree: RunTree }> {
  const { clock, run } = assembleDemo(process.cwd());
  using renderer = startRenderer(screen, style, clock);
  try {
    return { result: await run(renderer.onEvent, signal), tree: renderer.tree };
  } catch (error) {
    if (error instanceof RunError) return { result: error.result, tree: renderer.tree };
    throw error;
  }
}

/** Lines for a terminal are broken between words; a pipe gets them whole. */
function wrapped(text: string, columns: number | undefined): string {
  if (columns === undefined) return text;
  return text
    .split("\n")
    .flatMap((line) => wrapToWidth(line, columns))
    .join("\n");
}

/** The first signal stops the run; the second has its usual effect. */
function catchInterrupts(): Disposable & { signal: AbortSignal; exitCode(): number } {
  const controller = new AbortController();
  let code = 130;
  const onInterrupt = (): void => controller.abort();
  const onTerminate = (): void => {
    code = 143;
    controller.abort();
  };
  process.once("SIGINT", onInterrupt).once("SIGTERM", onTerminate);
  return {
    signal: controller.signal,
    exitCode: () => code,
    [Symbol.dispose]: () => void process.off("SIGINT", onInterrupt).off("SIGTERM", onTerminate),
  };
}

function readParameters(parameters: readonly string[]): { color: "auto" | "always" | "never"; isAscii: boolean } {
  const { color, ascii } = parse(parameters);
  if (color !== "auto" && color !== "always" && color !== "never") {
    throw new UserError(`--color is auto, always or never; found ${JSON.stringify(color)}`);
  }
  return { color, isAscii: ascii };
}

function parse(parameters: readonly string[]): { color: string; ascii: boolean } {
  try {
    const options = { color: { type: "string", default: "auto" }, ascii: { type: "boolean", default: false } } as const;
    return parseArgs({ args: [...parameters], options, strict: true }).values;
  } catch (error) {
    throw new UserError(messageOf(error));
  }
}

/** As in the contract of the command line. */
function exitCode(status: RunStatus, whenCancelled: number): number {
  switch (status) {
    case "completed":
      return 0;
    case "cancelled":
      return whenCancelled;
    case "budget_exceeded":
      return 5;
    case "incomplete":
    case "timeout":
      return 6;
    case "refused":
    case "failed":
      return 1;
    default:
      return status satisfies never;
  }
}

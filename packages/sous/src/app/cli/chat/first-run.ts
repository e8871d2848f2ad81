/** The first screen of a chat without a model: the demo, or how to set a key. */

import type { Clock } from "../../../core/clock.ts";
import type { Variables } from "../../../core/process.ts";
import { LiveScreen, type Screen } from "../terminal/live-screen.ts";
import type { Style } from "../terminal/style.ts";
import { breakLine, inertLine } from "../terminal/text.ts";
import type { Key } from "./keys.ts";

type FirstChoice = "demo" | "key" | "leave";

/** The variables that keys are read from, with a model each; their values are never shown. */
const KEYS: readonly (readonly [variable: string, model: string])[] = [
  ["ANTHROPIC_API_KEY", "anthropic/claude-sonnet-4-5"],
  ["OPENAI_API_KEY", "openai/gpt-5"],
  ["GOOGLE_GENERATIVE_AI_API_KEY", "google/gemini-2.5-pro"],
  ["OLLAMA_HOST", "ollama/llama3.2"],
];

type FirstRunParts = { screen: Screen; clock: Pick<Clock, "monotonic" | "timer">; style: Style; reason: string };

/** Asks once; keys are given to `onKey`. The caller disposes `live`. */
export function askFirstRun({ screen, clock, style, reason }: FirstRunParts) {
  const { promise, resolve } = Promise.withResolvers<FirstChoice>();
  const live = new LiveScreen({
    screen,
    clock,
    isMoving: () => false,
    draw({ columns }) {
      const lines = firstRunLines(reason).flatMap((line) => breakLine(line, columns - 1));
      const prompt = "1 or 2: ";
      return { lines: [...lines, style.paint("bold", prompt)], cursor: { row: lines.length, column: prompt.length } };
    },
  });
  live.refresh();
  return {
    chosen: promise,
    live,
    onKey(key: Key): void {
      const pressed = key.type === "text" ? key.text : key.type === "key" ? key.name : "";
      if (pressed === "1") resolve("demo");
      else if (pressed === "2") resolve("key");
      else if (pressed === "interrupt" || pressed === "end-of-input" || pressed === "escape" || pressed === "q")
        resolve("leave");
      live.refresh();
    },
  };
}

function firstRunLines(reason: string): string[] {
  return [
    `Welcome to sous. ${inertLine(reason, 300)}`,
    "",
    "  1  the demo: no key, no network",
    "  2  a model: how to set a key",
    "",
  ];
}

/** Explains how to choose a model: names of variables, and which of them are set. */
export function keyLines(env: Variables): string[] {
  const rows = KEYS.map(([variable, model]) => {
    const isSet = env[variable] !== undefined && env[variable] !== "";
    return `  ${variable.padEnd(30)}${isSet ? "is set    " : "is not set"}  sous --model ${model}`;
  });
  return [
    "Set the variable of a provider in your shell, and name a model:",
    "",
    ...rows,
    "",
    "SOUS_MODEL, or model: in $XDG_CONFIG_HOME/sous/config.yaml, sets it for every run.",
  ];
}

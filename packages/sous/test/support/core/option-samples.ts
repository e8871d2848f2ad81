/** Values of every kind, and how a test says which of them an option takes. */

import * as z from "zod";
import { agent } from "../../../src/core/agent.ts";
import { openMemoryStore } from "../../../src/storage/store/memory.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { says } from "../../../src/testing/steps.ts";

/** One value of every kind that JavaScript has. */
export const SAMPLES = {
  null: null,
  text: "text",
  number: 5,
  NaN: Number.NaN,
  list: [],
  object: {},
  function: () => undefined,
  boolean: true,
  symbol: Symbol("x"),
};

/** The samples that an option takes, and values that it takes besides. All other samples are wrong. */
export type Taken = readonly [samples: readonly (keyof typeof SAMPLES)[], ...more: unknown[]];

export type Door = {
  readonly name: string;
  readonly options: Readonly<Record<string, Taken>>;
  /** Rejects wrong options instead of throwing them. */
  readonly isLate?: boolean;
  /** The sentence about an option begins with it. */
  readonly where: string;
  open(options: object): unknown;
};

// biome-ignore lint/suspicious/noExplicitAny: what JavaScript lets through.
type Any = any;

/** None of an option's kinds is left out: the compiler holds the rows to the type. */
export function door<Options>(
  where: string,
  open: (options: Any) => unknown,
  options: { readonly [Name in keyof Required<Options>]: Taken },
  more: Partial<Pick<Door, "isLate" | "name">> = {},
): Door {
  return { name: where, where, open, options, ...more };
}

export const TEXT: Taken = [["text"]];
export const FLAG: Taken = [["boolean"], false];
export const NUMBER: Taken = [["number"], 1];
export const WORDS = (...words: string[]): Taken => [[], ...words];
export const FUNCTION: Taken = [["function"]];
export const OBJECT: Taken = [["object"]];
export const TEXTS: Taken = [["list"], ["a", "b"]];
export const SIGNAL: Taken = [[], new AbortController().signal];
export const LISTENERS: Taken = [["function", "list"], [() => undefined]];

/** Never asked when an option is wrong. */
export const model = scriptedModel({ "**": [says("Done.")] });
export const store = openMemoryStore();
export const scout = agent({ name: "scout", model });
export const echo = { name: "echo", description: "Echoes", inputSchema: z.object({}), execute: () => "" };
export const MODEL: Taken = [["text"], model, { ...model, specificationVersion: "v4", doStream: () => undefined }];

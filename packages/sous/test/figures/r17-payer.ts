/** An agent that pays, one payment after another, and leaves a trace of each outside of its store. */

import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { agent } from "../../src/core/agent.ts";
import { tool } from "../../src/core/tool.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";
import { calls, says } from "../../src/testing/steps.ts";

const PAYMENTS = 8;
/** The store goes away while this payment is made. */
export const GOES_AWAY_AT = 3;
/** When it is made, the store is away, and it is known: the payment before could only be made without it. */
export const FIRST_WITHOUT_STORE = 5;

/** `onPaid` is awaited before the payment is reported. */
export function payer(log: string, onPaid: (number: number) => Promise<void> = async () => {}) {
  const pay = tool({
    name: "pay",
    description: "Pays.",
    effect: "unsafe",
    inputSchema: { type: "object" } as const,
    async execute(input) {
      const { number } = input as { number: number };
      appendFileSync(log, `${number}\n`);
      await onPaid(number);
      return "Paid.";
    },
  });
  const model = scriptedModel({
    payer: ({ caller: { turn } }) => (turn <= PAYMENTS ? calls("pay", { number: turn }) : says("Done.")),
  });
  return agent({ name: "payer", model, tools: [pay], maxTurns: 100 });
}

export function paymentsIn(log: string): number[] {
  return existsSync(log) ? readFileSync(log, "utf8").split("\n").slice(0, -1).map(Number) : [];
}

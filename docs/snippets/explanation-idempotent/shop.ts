/** An agent that pays a bill, and a bank that is another system: here a folder with a file for each payment. */

import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { agent, tool } from "sous";
import { calls, says, scriptedModel } from "sous/testing";

const bank: string = process.argv[2] ?? ".";

function payAtBank(bill: number, key: string): string {
  const payment = join(bank, `${encodeURIComponent(key)}.json`);
  if (!existsSync(payment)) writeFileSync(payment, JSON.stringify({ bill }));
  else console.log("the bank knows this payment already");
  return `Bill ${bill} is paid.`;
}

/** The first process dies after the payment, before its result can be stored. */
function dieOnce(): void {
  const mark = join(bank, "died");
  if (existsSync(mark)) return;
  writeFileSync(mark, "");
  process.kill(process.pid, "SIGKILL");
}

// #region tool
const pay = tool({
  name: "pay",
  description: "Pays a bill.",
  effect: "idempotent", // made again after a crash, with the same ids
  inputSchema: { type: "object", properties: { bill: { type: "integer" } }, required: ["bill"] },
  execute(input, { runId, callId }) {
    const receipt = payAtBank((input as { bill: number }).bill, `${runId}-${callId}`);
    dieOnce();
    return receipt;
  },
});
// #endregion

// With a key in ANTHROPIC_API_KEY: model: "anthropic/claude-sonnet-4-5"
export const clerk = agent({
  name: "clerk",
  model: scriptedModel({ clerk: [calls("pay", { bill: 7 }), says("Bill 7 is paid.")] }),
  tools: [pay],
});

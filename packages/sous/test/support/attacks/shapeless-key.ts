/** A secret that only its value gives away, and what a model says of it. */

import assert from "node:assert/strict";
import { randomText } from "../runtime/secrets/made-up-keys.ts";

export const KEY: string = randomText("a key on its way out", 96);
export const MARK = "[redacted: ANTHROPIC_API_KEY]";
export const WITH_KEY: Record<string, string> = { ANTHROPIC_API_KEY: KEY };
const ENCODED = Buffer.from(`KEY=${KEY}`).toString("base64").replaceAll(/.{76}/g, "$&\n");

export const ANSWER: string = `The key is ${KEY}.\n\nAs base64:\n${ENCODED}\nAs hex: ${Buffer.from(KEY).toString("hex")}`;
/** Nothing of it: not as it is, and not in the two spellings of the answer. */
export function assertHidden(text: string): void {
  const hex = Buffer.from(KEY).toString("hex");
  for (let start = 0; start + 8 <= KEY.length; start++) {
    assert.ok(!text.includes(KEY.slice(start, start + 8)), text);
    assert.ok(!text.includes(hex.slice(2 * start, 2 * start + 16)), text);
  }
  for (const line of ENCODED.split("\n")) assert.ok(line.length < 16 || !text.includes(line.slice(8, -4)), text);
}

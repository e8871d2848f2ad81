/** The first screen of a chat without a model, key by key. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { askFirstRun, keyLines } from "../../../../src/app/cli/chat/first-run.ts";
import { KeyDecoder } from "../../../../src/app/cli/chat/keys.ts";
import { chooseStyle } from "../../../../src/app/cli/terminal/style.ts";
import { VirtualClock } from "../../../../src/testing/world.ts";
import { HeadlessScreen } from "../../../support/app/cli/headless-screen.ts";

const STYLE = chooseStyle({ color: "never", isAscii: false, isTerminal: true, env: {} });

function firstScreen() {
  const screen = new HeadlessScreen(60, 20);
  const clock = new VirtualClock(0);
  const asked = askFirstRun({ screen, clock, style: STYLE, reason: "No model is named." });
  const decoder = new KeyDecoder();
  return {
    screen,
    asked,
    draw: (): boolean => clock.fireNext(() => 0),
    type(keys: string): void {
      for (const key of [...decoder.feed(Buffer.from(keys)), ...decoder.flush()]) asked.onKey(key);
    },
    /** What was chosen so far. */
    async chosen(): Promise<string> {
      return Promise.race([asked.chosen, new Promise<string>((resolve) => setImmediate(resolve, "nothing"))]);
    },
    [Symbol.dispose](): void {
      asked.live[Symbol.dispose]();
      screen[Symbol.dispose]();
    },
  };
}

suite("the first screen", () => {
  const rows: [key: string, typed: string, chosen: string][] = [
    ["1", "1", "demo"],
    ["2", "2", "key"],
    ["q", "q", "leave"],
    ["Ctrl-C", "\u0003", "leave"],
    ["Ctrl-D", "\u0004", "leave"],
    ["Escape", "\u001b", "leave"],
    ["3", "3", "nothing"],
    ["x", "x", "nothing"],
    ["Enter", "\r", "nothing"],
    ["an arrow", "\u001b[A", "nothing"],
    ["a paste", "\u001b[200~1\u001b[201~", "nothing"],
  ];
  for (const [key, typed, chosen] of rows) {
    test(`the first screen takes ${key} as ${chosen}`, async () => {
      using stage = firstScreen();
      stage.type(typed);
      assert.equal(await stage.chosen(), chosen);
    });
  }

  test("the first screen takes the first choice, also after keys that are none", async () => {
    using stage = firstScreen();
    for (const key of ["x", "\r", "1", "2", "q"]) stage.type(key);
    assert.equal(await stage.chosen(), "demo");
  });

  test("the first screen is away while the shell has the terminal, and drawn again afterwards", async () => {
    using stage = firstScreen();
    stage.draw();
    const shown = await stage.screen.until("1 or 2:");
    assert.match(shown, /^Welcome to sous\. No model is named\.\n\n {2}1 {2}the demo/);
    stage.asked.live.clear();
    await stage.screen.until((text) => text === "");
    assert.equal(stage.draw(), false);
    stage.asked.live.refresh();
    assert.equal(stage.draw(), true);
    assert.equal(await stage.screen.until("1 or 2:"), shown);
  });

  test("the first screen says which keys are set, and a variable without a value is none", () => {
    const lines = keyLines({ OPENAI_API_KEY: "sk-canary", ANTHROPIC_API_KEY: "" });
    assert.match(lines.join("\n"), /ANTHROPIC_API_KEY +is not set/);
    assert.match(lines.join("\n"), /OPENAI_API_KEY +is set {6}sous --model openai/);
    assert.match(lines.join("\n"), /OLLAMA_HOST +is not set/);
    assert.doesNotMatch(lines.join("\n"), /canary/);
  });
});

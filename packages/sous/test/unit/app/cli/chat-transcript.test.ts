/** The lines that an event leaves above the line of a chat. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { Transcript } from "../../../../src/app/cli/chat/transcript.ts";
import { chooseStyle } from "../../../../src/app/cli/terminal/style.ts";
import { Story } from "../../../support/app/cli/sample-events.ts";

const LIVE = chooseStyle({ color: "never", isAscii: false, isTerminal: true, env: {} });

function told() {
  const transcript = new Transcript(LIVE);
  const lines: string[] = [];
  const story = new Story((event) => void lines.push(...transcript.apply(event, 80)));
  story.starts("sous", 0, "Look everywhere");
  return { story, lines };
}

suite("the lines that stay", () => {
  test("the lines that stay say that old messages of the root were dropped, and nothing of those of a child", () => {
    const { story, lines } = told();
    story.starts("sous/child", 1, "Look");
    const pruned = { type: "prune", from: 1, dropped: 3, tokensBefore: 900, tokensAfter: 300 } as const;
    story.tell("sous/child", 2, pruned);
    assert.deepEqual(lines, []);
    story.tell("sous", 3, pruned);
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? "", /sous .*dropped 3 old messages to make room$/);
  });

  for (const [count, perChild] of [
    [8, 2],
    [9, 1],
    [30, 1],
  ] as const) {
    test(`the lines that stay show ${count} children that have ended in ${perChild} lines each`, () => {
      const { story, lines } = told();
      story.calls("sous", 0, "parallel_subagent", { tasks: [] });
      for (let index = 1; index <= count; index++) story.starts(`sous/child${index}`, 1, `Part ${index}`);
      for (let index = 1; index <= count; index++) story.ends(`sous/child${index}`, 2, { text: `Found ${index}` });
      assert.deepEqual(lines, []);
      story.gets("sous", 3, "parallel_subagent", "done");
      assert.equal(lines.length, 1 + count * perChild);
      for (let index = 1; index <= count; index++)
        assert.ok(
          lines.some((line) => new RegExp(`✓ child${index} `).test(line)),
          `child${index}`,
        );
    });
  }
});

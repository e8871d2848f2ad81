/** The session of an external agent in a rerun opens when the recorded one did. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExternalHost, SessionRequest } from "../../../../src/core/external-agent.ts";
import { recordedExternalAgent } from "../../../../src/storage/replay/recorded-external.ts";
import { ticks } from "../../runtime/events/journal-fixtures.ts";

test("the session of an external agent is open in its turn, and not before", async () => {
  const opened = { type: "outside-session", server: "toy", sessionId: "s1", continued: false };
  const run = { events: [opened], start: { model: "external/toy" } };
  const turn = Promise.withResolvers<void>();
  const asked: unknown[] = [];
  const conductor = {
    turn: (event: unknown) => {
      asked.push(event);
      return turn.promise;
    },
  };
  type Given = Parameters<typeof recordedExternalAgent>;
  const agent = recordedExternalAgent(run as object as Given[0], { conductor } as object as Given[1]);
  const { signal } = new AbortController();
  let isOpen = false;
  const opening = agent
    .open({ sessionId: undefined, signal } as object as SessionRequest, {} as ExternalHost)
    .then(({ id }) => {
      isOpen = true;
      return id;
    });
  await ticks();
  assert.deepEqual([asked, isOpen], [[opened], false]);
  turn.resolve();
  assert.equal(await opening, "s1");
});

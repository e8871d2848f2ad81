import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { modelFetch } from "../../../../src/runtime/model/model-fetch.ts";

const SILENCE_MS = 60;
/** For answers that must arrive: far more than a busy machine keeps us from reading what is there. */
const PATIENCE_MS = 2000;

const alive = setInterval(() => {}, 1000);
after(() => clearInterval(alive));

const cases: [what: string, answer: (response: ServerResponse) => void, expected: RegExp | string][] = [
  ["says nothing at all", () => {}, /said nothing for 0.06 s/],
  ["stops in the middle", (response) => void response.write("half"), /said nothing for 0.06 s/],
  [
    "is slow and never silent",
    (response) => {
      let left = 12;
      const timer = setInterval(() => {
        response.write(".");
        if (--left > 0) return;
        clearInterval(timer);
        response.end("!");
      }, PATIENCE_MS / 10);
    },
    "............!",
  ],
  ["answers at once", (response) => void response.end("yes"), "yes"],
];

for (const [what, answer, expected] of cases) {
  test(`a server that ${what} ${typeof expected === "string" ? "is heard out" : "is given up"}`, async () => {
    const server = createServer((_, response) => answer(response)).listen(0, "127.0.0.1");
    await once(server, "listening");
    try {
      const { port } = server.address() as AddressInfo;
      const silenceMs = typeof expected === "string" ? PATIENCE_MS : SILENCE_MS;
      const facts = { id: "openai/m", addressSettings: "OPENAI_BASE_URL", silenceMs };
      const reading = modelFetch(fetch, facts)(`http://127.0.0.1:${port}/`).then((response) => response.text());
      if (typeof expected === "string") assert.equal(await reading, expected);
      else await assert.rejects(reading, expected);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
}

test("an answer without a body is passed on as it is, and its silence is not counted", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const facts = { id: "openai/m", addressSettings: "OPENAI_BASE_URL", silenceMs: SILENCE_MS };
  const signals: AbortSignal[] = [];
  const empty = new Response(null, { status: 204 });
  const send = modelFetch((_, init) => {
    if (init?.signal) signals.push(init.signal);
    return Promise.resolve(empty);
  }, facts);
  assert.equal(await send("http://127.0.0.1/"), empty);
  t.mock.timers.tick(2 * SILENCE_MS);
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [false],
  );
});

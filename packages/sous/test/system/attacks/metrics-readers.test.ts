/** F4: programs of this machine that ask for metrics and never read them: what they cost, and whether an honest reader still gets them. */

import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, before, suite, test } from "node:test";
import { Endpoint, get, leave, MAX_GROWTH, testForms } from "../../support/bridges/telemetry/greedy-readers.ts";

suite("F4: metrics and programs that never read", () => {
  const endpoint = new Endpoint();
  let memory = 0;
  before(async () => {
    await endpoint.opened();
    memory = await endpoint.memory("!");
  });
  after(() => endpoint.close());

  testForms(endpoint, "a share");

  for (const [readers, each] of [
    [1, 2000],
    [16, 400],
    [16, 800],
  ] as const) {
    test(`F4: ${readers * each} readers, ${readers} at once, that ask and leave cost less than 32 MB, and are answered one after another`, async () => {
      const before = await endpoint.memory("!");
      const renders = await endpoint.renders();
      const begun = performance.now();
      let most = 0;
      const leaving = Array.from({ length: readers }, async (_, reader) => {
        for (let number = 0; number < each; number++) {
          await leave(endpoint.port);
          if (reader === 0 && number % 50 === 0) most = Math.max(most, await endpoint.memory("?"));
        }
      });
      await Promise.all(leaving);
      const grown = Math.max(most, await endpoint.memory("?")) - before;
      assert.ok(grown < MAX_GROWTH, `${grown} bytes more`);
      const rendered = (await endpoint.renders()) - renders;
      assert.ok(rendered < 100 + (performance.now() - begun) / 10, `${rendered} renderings`);
    });
  }

  test("F4: nothing of all these connections is kept", async () => {
    const grown = (await endpoint.memory("!")) - memory;
    assert.ok(grown < MAX_GROWTH, `${grown} bytes more`);
  });

  test("F4: a connection has one answer, which says that it is the last one", async () => {
    const socket = connect(endpoint.port, "127.0.0.1").setEncoding("latin1");
    socket.write(get());
    let answer = "";
    for await (const piece of socket) answer += piece;
    assert.match(answer, /^HTTP\/1\.1 200 OK\r\n(?:.+\r\n)*Connection: close\r\n\r\n/);
    assert.equal(answer.split("HTTP/1.1").length, 2);
  });
});

/** B5.5: pages, names and addresses that try to lead `fetch` to this machine. Judged by who was connected to. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { suite, test } from "node:test";
import { gzipSync } from "node:zlib";
import { MAX_BYTES, publicNetwork } from "../../../src/app/tools/fetch-page.ts";
import { ToolFailure } from "../../../src/core/errors.ts";
import {
  type Canary,
  canaryServer,
  fetchWith,
  PAGE_ADDRESS,
  pageServer,
  testNetwork,
} from "../../support/attacks/page-server.ts";

/** Spellings of an address of the canary. */
const SPELLINGS: readonly string[] = [
  "http://127.0.0.1:PORT/",
  "http://127.1:PORT/",
  "http://127.0.0.1.:PORT/",
  "http://2130706433:PORT/",
  "http://0x7f000001:PORT/",
  "http://0x7f.0.0.1:PORT/",
  "http://0177.0.0.1:PORT/",
  "http://017700000001:PORT/",
  "http://0:PORT/",
  "http://0.0.0.0:PORT/",
  "http://127.0.0.3:PORT/",
  "http://127。0。0。1:PORT/",
  "http://①②⑦.⓪.⓪.①:PORT/",
  "http://%31%32%37.0.0.1:PORT/",
  "http://[::1]:PORT/",
  "http://[::]:PORT/",
  "http://[0:0:0:0:0:0:0:1]:PORT/",
  "http://[::ffff:127.0.0.1]:PORT/",
  "http://[::ffff:7f00:1]:PORT/",
  "http://[::127.0.0.1]:PORT/",
  "http://[64:ff9b::127.0.0.1]:PORT/",
  "http://[2002:7f00:1::]:PORT/",
  "http://localhost:PORT/",
  "http://LOCALHOST.:PORT/",
  "http://a.localhost:PORT/",
  "http://user@127.0.0.1:PORT/",
  "http://user:password@127.0.0.1:PORT/",
  "http://page.example.com@127.0.0.1:PORT/",
  "http://@127.0.0.1:PORT/",
  "http:\\\\127.0.0.1:PORT\\",
  "http:/127.0.0.1:PORT/",
  "http:127.0.0.1:PORT/",
  "//127.0.0.1:PORT/",
  "ht\ttp://127.0.0.1:PORT/",
  "http://127.0.0.1:PORT/\nhttp://page.example.com/",
  " http://127.0.0.1:PORT/",
  "http://127.0.0.1:PORT/\0.example.com",
  "http://unix:PORT/",
  "http+unix://127.0.0.1:PORT/",
  "ws://127.0.0.1:PORT/",
  "ftp://127.0.0.1:PORT/",
  "gopher://127.0.0.1:PORT/_GET",
  "file:///etc/hostname",
  "file://127.0.0.1/etc/hostname",
  "data:text/plain,secret",
  "javascript:secret",
  "blob:http://127.0.0.1:PORT/x",
  "view-source:http://127.0.0.1:PORT/",
];

/** What the canary heard, and what the model read. */
async function attempt(canary: Canary, url: string, network = testNetwork()): Promise<string> {
  const said = await fetchWith(network, { url: url.replace("PORT", String(canary.port)) }, { timeoutMs: 5000 }).then(
    ({ output }) => output,
    (error: unknown) => {
      if (error instanceof ToolFailure) return "";
      throw error;
    },
  );
  return `${said}${canary.connections() > 0 ? " and the canary was asked" : ""}`;
}

suite("B5.5: no spelling of an address leads to this machine", async () => {
  for (const spelling of SPELLINGS) {
    test(`B5.5: ${JSON.stringify(spelling)} does not lead to this machine`, async () => {
      await using canary = await canaryServer();
      assert.equal(await attempt(canary, spelling), "");
    });
  }

  test("B5.5: without the check of addresses the same spellings do reach it, so the rows above can fail", async () => {
    const reached: string[] = [];
    for (const spelling of SPELLINGS.slice(0, 10)) {
      await using canary = await canaryServer();
      await attempt(canary, spelling, testNetwork({ mayConnect: () => true }));
      if (canary.connections() > 0) reached.push(spelling);
    }
    assert.deepEqual(reached, SPELLINGS.slice(0, 10));
  });
});

suite("B5.5: no name leads to this machine", () => {
  const names: [what: string, addresses: string[]][] = [
    ["a name with the address of this machine", ["127.0.0.1"]],
    ["a name with a public address and one of this machine", ["1.1.1.1", "127.0.0.1"]],
    ["a name with a mapped address", ["::ffff:127.0.0.1"]],
    ["a name with an address of this machine in IPv6", ["::1"]],
    ["a name with the metadata address", ["169.254.169.254"]],
    ["a name with something that is no address", ["localhost"]],
    ["a name without an address", []],
  ];
  for (const [what, addresses] of names) {
    test(`B5.5: ${what} does not lead to this machine`, async () => {
      await using canary = await canaryServer();
      const network = testNetwork({ resolve: async () => addresses });
      assert.equal(await attempt(canary, "http://name.example.com:PORT/", network), "");
    });
  }

  test("B5.5: a name that changes its address between the check and the connection, or two requests, does not lead here", async () => {
    await using canary = await canaryServer();
    await using page = await pageServer((_request, response) => response.writeHead(302, { location: "/again" }).end());
    let questions = 0;
    const resolve = async () => (questions++ === 0 ? [PAGE_ADDRESS] : ["127.0.0.1"]);
    await assert.rejects(fetchWith(testNetwork({ resolve }), { url: `${page.url}/` }), /only public addresses/);
    assert.deepEqual([questions, canary.connections()], [2, 0]);
  });

  test("B5.5: only the ports of the web are asked", async () => {
    for (const port of [1, 22, 25, 6379, 11211, 65535]) assert.equal(publicNetwork.mayConnect("1.1.1.1", port), false);
    for (const port of [80, 443, 8080, 8443]) assert.equal(publicNetwork.mayConnect("1.1.1.1", port), true);
    assert.equal(publicNetwork.mayConnect("127.0.0.1", 80), false);
  });
});

suite("B5.5: no redirect leads to this machine", () => {
  const targets: readonly string[] = [
    "http://127.0.0.1:PORT/",
    "//127.0.0.1:PORT/",
    "http://localhost:PORT/",
    "http://[::ffff:127.0.0.1]:PORT/",
    "http://2130706433:PORT/",
    "http://user@page.example.com:PORT/",
    "http://169.254.169.254/latest/meta-data/",
    "file:///etc/hostname",
    "data:text/plain,secret",
    "gopher://127.0.0.1:PORT/",
    "http://other.example.com:PORT/",
    "http://[",
  ];
  for (const target of targets) {
    test(`B5.5: a redirect with 302 to ${target} does not lead to this machine`, async () => {
      await using canary = await canaryServer();
      const location = target.replace("PORT", String(canary.port));
      await using page = await pageServer((_request, response) => response.writeHead(302, { location }).end("moved"));
      const resolve = async (host: string) => [host === "other.example.com" ? "127.0.0.1" : PAGE_ADDRESS];
      // The host is allowed: then only the address can stop it.
      const network = testNetwork({ resolve, mayFollow: () => true });
      assert.equal(await attempt(canary, `${page.url}/`, network), "");
    });
  }

  test("B5.5: redirects without an end are followed five times", async () => {
    let asked = 0;
    await using page = await pageServer((_request, response) => {
      asked += 1;
      response.writeHead(307, { location: `/${asked}` }).end();
    });
    await assert.rejects(fetchWith(testNetwork(), { url: `${page.url}/` }), /redirects more than 5 times/);
    assert.equal(asked, 6);
  });

  test("B5.5: a redirect to another public host is named, and followed only when that host is allowed", async () => {
    const hosts: string[] = [];
    await using page = await pageServer((request, response) => {
      hosts.push(request.headers.host ?? "");
      if (request.headers.host?.startsWith("page.")) {
        response.writeHead(301, { location: `http://docs.example.com:${page.port}/there` }).end();
      } else response.writeHead(200, { "content-type": "text/plain" }).end("arrived");
    });
    const there = `http://docs.example.com:${page.port}/there`;
    await assert.rejects(fetchWith(testNetwork(), { url: page.url }), (error: Error) => error.message.includes(there));
    assert.equal(hosts.length, 1);
    const { output } = await fetchWith(
      testNetwork(),
      { url: page.url },
      { allowHosts: [`docs.example.com:${page.port}`] },
    );
    assert.equal(output, `[${there}]\narrived`);
  });
});

suite("B5.5: no page takes more than its share", () => {
  test("B5.5: a small body that unpacks to a large one is cut", async () => {
    const bomb = gzipSync(Buffer.alloc(40 * 1024 * 1024, "a"));
    assert.ok(bomb.length < 100_000);
    await using page = await pageServer((_request, response) => {
      response.writeHead(200, { "content-type": "text/plain", "content-encoding": "gzip" }).end(bomb);
    });
    const { metadata, output } = await fetchWith(testNetwork(), { url: page.url });
    assert.deepEqual([metadata?.bytes, metadata?.truncated], [MAX_BYTES, true]);
    assert.ok(output.length < 50_000);
  });

  const endless: [what: string, encoding: string, piece: Buffer][] = [
    ["text without an end", "identity", Buffer.alloc(64 * 1024, "a")],
    ["packed text without an end", "gzip", gzipSync(Buffer.alloc(1024 * 1024, "a"))],
    ["packed nothing without an end", "gzip", Buffer.concat(Array(3000).fill(gzipSync("")))],
  ];
  for (const [what, encoding, piece] of endless) {
    test(`B5.5: ${what} is left, and the connection with it`, async () => {
      const left = Promise.withResolvers<void>();
      await using page = await pageServer((_request, response) => {
        response.writeHead(200, { "content-type": "text/plain", "content-encoding": encoding });
        response.on("close", left.resolve);
        const more = (): void => {
          while (!response.destroyed && response.write(piece));
        };
        response.on("drain", more);
        more();
      });
      const { metadata } = await fetchWith(testNetwork(), { url: page.url });
      assert.equal(metadata?.truncated, true);
      await left.promise;
    });
  }

  test("B5.5: a page that never answers, or never ends, is left when the time is over or the run is stopped", async () => {
    const heard = new Set<string | undefined>();
    const closed: Promise<unknown>[] = [];
    await using page = await pageServer((request, response) => {
      heard.add(request.url);
      closed.push(once(response, "close"));
      if (request.url === "/slow") response.writeHead(200, { "content-type": "text/plain" }).write("begins");
      if (request.url === "/stop") stop.abort(new Error("stopped"));
    });
    const stop = new AbortController();
    for (const path of ["/silent", "/slow"]) {
      // A busy machine may give up before it has even asked: the same with more time.
      for (let timeoutMs = 50; !heard.has(path); timeoutMs *= 10) {
        const asked = fetchWith(testNetwork(), { url: page.url + path }, { timeoutMs });
        await assert.rejects(asked, new RegExp(`within ${timeoutMs} ms`));
      }
    }
    await assert.rejects(fetchWith(testNetwork(), { url: `${page.url}/stop` }, { signal: stop.signal }), /stopped/);
    await Promise.all(closed);
  });

  test("B5.5: a name server that never answers does not hold the run", async () => {
    const network = testNetwork({ resolve: () => new Promise(() => undefined) });
    await assert.rejects(fetchWith(network, { url: "http://page.example.com/" }, { timeoutMs: 20 }), /within 20 ms/);
  });
});

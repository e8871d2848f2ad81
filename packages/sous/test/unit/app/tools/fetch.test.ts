import assert from "node:assert/strict";
import { getEventListeners, once } from "node:events";
import { getDefaultAutoSelectFamily, setDefaultAutoSelectFamily } from "node:net";
import { suite, test } from "node:test";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { publicNetwork, redirected } from "../../../../src/app/tools/fetch-page.ts";
import { hostOf, readFetchUrl } from "../../../../src/core/web-address.ts";
import { hostMatches } from "../../../../src/machine/address.ts";
import { fetchWith, pageServer, testNetwork } from "../../../support/attacks/page-server.ts";

type Answer = { type?: string; body: string | Uint8Array; status?: number; encoding?: string };

async function page({ type, body, status = 200, encoding }: Answer) {
  let headers: Record<string, unknown> = {};
  const server = await pageServer((request, response) => {
    headers = request.headers;
    if (type !== undefined) response.setHeader("content-type", type);
    if (encoding !== undefined) response.setHeader("content-encoding", encoding);
    response.writeHead(status, { "set-cookie": "a=b" }).end(body);
  });
  return { url: `${server.url}/`, headers: () => headers, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

suite("H6: fetch", () => {
  const rows: [what: string, answer: Answer, read: string][] = [
    ["HTML comes as Markdown", { type: "text/html; charset=utf-8", body: "<h1>A</h1><p>b" }, "# A\n\nb"],
    ["a title is shown", { type: "text/html", body: "<title>T</title><p>b" }, "Title: T\n\nb"],
    ["JSON comes as it is", { type: "application/json", body: '{"a": 1}' }, '{"a": 1}'],
    ["an unnamed type that is text is read", { body: "words" }, "words"],
    ["gzip is unpacked", { type: "text/plain", encoding: "gzip", body: gzipSync("packed") }, "packed"],
    ["brotli is unpacked", { type: "text/plain", encoding: "br", body: brotliCompressSync("packed") }, "packed"],
    ["deflate is unpacked", { type: "text/plain", encoding: "deflate", body: deflateSync("packed") }, "packed"],
    ["other encodings are read", { type: "text/plain; charset=latin1", body: Buffer.from("é", "latin1") }, "é"],
    ["an unknown encoding is read as UTF-8", { type: "text/plain; charset=klingon", body: "é" }, "é"],
    [
      "an encoding is found in the page",
      { type: "text/html", body: Buffer.from('<meta charset="windows-1251"><p>\xcf', "latin1") },
      "П",
    ],
    ["an empty page says so", { type: "text/html", body: "<script>1</script>" }, "[the page has no text]"],
  ];
  for (const [what, answer, read] of rows) {
    test(`H6: ${what}`, async () => {
      await using server = await page(answer);
      const { output } = await fetchWith(testNetwork(), { url: server.url });
      assert.equal(output, `[${server.url}]\n${read}`);
    });
  }

  test("H6: a body that is not text is named and not read", async () => {
    const refusals: [Answer, RegExp][] = [
      [{ type: "image/png", body: "x" }, /is image\/png.*, not text, and was not read/],
      [{ type: "text/plain", body: "a\0b" }, /is a binary file of 3 bytes/],
      [{ type: "text/plain", encoding: "zstd", body: "x" }, /is packed as zstd/],
      [{ type: "text/plain", encoding: "gzip", body: "not packed" }, /could not be reached/],
    ];
    for (const [answer, message] of refusals) {
      await using server = await page(answer);
      await assert.rejects(fetchWith(testNetwork(), { url: server.url }), message);
    }
  });

  test("H6: a page that says no is a failure with its words", async () => {
    await using server = await page({ type: "text/html", status: 404, body: "<p>No such page" });
    const { success, error, output } = await fetchWith(testNetwork(), { url: server.url });
    assert.deepEqual([success, error, output], [false, `${server.url} answered with status 404.`, "No such page"]);
  });

  test("H6: a long page is cut and says so", async () => {
    await using server = await page({ type: "text/plain", body: "é".repeat(100_000) });
    const { output } = await fetchWith(testNetwork(), { url: server.url });
    assert.match(output, /\n\[150848 more bytes of the page are not shown\]$/);
    assert.ok(Buffer.byteLength(output) < 49 * 1024 + 100);
  });

  test("H6: HTML comes as text or as it is when asked for", async () => {
    await using server = await page({ type: "text/html", body: '<p>a <a href="/b">link</a>' });
    const formats = ["text", "raw"] as const;
    const outputs = await Promise.all(formats.map((format) => fetchWith(testNetwork(), { url: server.url, format })));
    assert.deepEqual(
      outputs.map(({ output }) => output.split("\n").slice(1).join("\n")),
      ["a link", '<p>a <a href="/b">link</a>'],
    );
  });

  test("H6: a request says nothing about the person: no cookie, no key, no address it came from", async () => {
    await using server = await page({ type: "text/plain", body: "x" });
    await fetchWith(testNetwork(), { url: `${server.url}?q#fragment` });
    const { host: _host, ...headers } = server.headers();
    assert.deepEqual(headers, {
      "user-agent": "sous",
      accept: "text/html, text/markdown, text/plain, application/json;q=0.9, */*;q=0.5",
      "accept-encoding": "gzip, br",
      connection: "close",
    });
  });
});

suite("H6: redirects and statuses", () => {
  /** Redirects with this status until it was asked this many times. */
  async function redirecting(status: number, times: number, location = "/next") {
    let asked = 0;
    const server = await pageServer((_request, response) => {
      asked += 1;
      if (asked > times) response.writeHead(200, { "content-type": "text/plain" }).end("there");
      else response.writeHead(status, { location, "content-type": "text/plain" }).end("elsewhere");
    });
    return Object.assign(server, { asked: () => asked });
  }

  for (const status of [301, 302, 303, 307, 308]) {
    test(`H6: ${status} is followed within a host`, async () => {
      await using server = await redirecting(status, 1);
      const { output } = await fetchWith(testNetwork(), { url: server.url });
      assert.equal(output, `[${server.url}/next]\nthere`);
    });
  }

  for (const status of [300, 304, 305, 306, 309]) {
    test(`H6: ${status} is a page that says no`, async () => {
      await using server = await redirecting(status, 1);
      const { success, error } = await fetchWith(testNetwork(), { url: server.url });
      assert.deepEqual([success, error], [false, `${server.url}/ answered with status ${status}.`]);
    });
  }

  test("H6: five redirects are followed, and not a sixth", async () => {
    await using enough = await redirecting(302, 5);
    assert.match((await fetchWith(testNetwork(), { url: enough.url })).output, /there$/);
    await using tooMany = await redirecting(302, 6);
    const message = `${tooMany.url} redirects more than 5 times. Look for another address.`;
    await assert.rejects(fetchWith(testNetwork(), { url: tooMany.url }), { message });
    assert.equal(tooMany.asked(), 6);
  });

  test("H6: 299 is a page like 200", async () => {
    await using server = await page({ type: "text/plain", body: "words", status: 299 });
    assert.equal((await fetchWith(testNetwork(), { url: server.url })).output, `[${server.url}]\nwords`);
  });

  test("H6: long words of a server are cut", async () => {
    await using server = await page({ type: "text/plain", body: "x", encoding: "q".repeat(60) });
    const message = `${server.url} is packed as ${"q".repeat(40)}, which is not understood.`;
    await assert.rejects(fetchWith(testNetwork(), { url: server.url }), { message });
    const address = `ftp://${"q".repeat(400)}`;
    const start = `${address.slice(0, 300)} is not fetched: `;
    await assert.rejects(fetchWith(testNetwork(), { url: address }), ({ message: said }: Error) =>
      said.startsWith(start),
    );
  });

  test("H6: a zero byte counts among the first 8000, and behind them is text", async () => {
    await using binary = await page({ type: "text/plain", body: `${"a".repeat(7999)}\0` });
    await assert.rejects(fetchWith(testNetwork(), { url: binary.url }), /is a binary file of 8000 bytes/);
    await using text = await page({ type: "text/plain", body: `${"a".repeat(8000)}\0` });
    assert.equal((await fetchWith(testNetwork(), { url: text.url })).success, true);
  });

  test("H6: a body that is not wanted is not waited for, and nothing listens afterwards", async () => {
    const ends: Promise<unknown>[] = [];
    const server = await pageServer((request, response) => {
      ends.push(once(request.socket, "close"));
      // A body without an end.
      response.writeHead(200, { "content-type": "image/png" }).write("x");
    });
    await using _server = server;
    const { signal } = new AbortController();
    await assert.rejects(fetchWith(testNetwork(), { url: server.url }, { signal }), /not text, and was not read/);
    assert.equal((await Promise.all(ends)).length, 1);
    assert.deepEqual(getEventListeners(signal, "abort"), []);
  });
});

suite("H6: names and connections", () => {
  test("H6: a call that was stopped before it began asks no name server that does not answer, and no page", async () => {
    const reason = new Error("stopped");
    const signal = AbortSignal.abort(reason);
    const silent = testNetwork({ resolve: () => new Promise(() => undefined) });
    await assert.rejects(fetchWith(silent, { url: "http://page.example.com/" }, { signal }), reason);
    await using server = await page({ type: "text/plain", body: "x" });
    await assert.rejects(fetchWith(testNetwork(), { url: server.url }, { signal }), reason);
    assert.deepEqual(server.headers(), {});
  });

  test("H6: a name without an address is named", async () => {
    const message = "page.example.com has no address. Check the name.";
    const network = testNetwork({ resolve: async () => [] });
    await assert.rejects(fetchWith(network, { url: "http://page.example.com/" }), { message });
  });

  test("H6: the system resolves names to all of their addresses", async () => {
    const addresses = await publicNetwork.resolve("localhost");
    assert.ok(addresses.length > 0);
    for (const address of addresses) assert.match(address, /^(127\.\d+\.\d+\.\d+|::1)$/);
  });

  test("H6: the address that was checked is used also where only one is asked for", async () => {
    const before = getDefaultAutoSelectFamily();
    setDefaultAutoSelectFamily(false);
    try {
      await using server = await page({ type: "text/plain", body: "words" });
      assert.equal((await fetchWith(testNetwork(), { url: server.url })).output, `[${server.url}]\nwords`);
    } finally {
      setDefaultAutoSelectFamily(before);
    }
  });
});

const fetchHost = (text: string): string | undefined => {
  const read = readFetchUrl(text);
  return "url" in read ? hostOf(read.url) : undefined;
};

test("B5.5: a redirect from an encrypted page to one that is not is not followed, whatever rules allow", () => {
  const network = { ...publicNetwork, mayFollow: () => true };
  const from = (address: string, location: string): string => redirected(new URL(address), location, network).href;
  assert.equal(from("https://example.com/a", "/b#c"), "https://example.com/b");
  assert.equal(from("http://example.com/a", "https://example.com/b"), "https://example.com/b");
  assert.equal(from("http://example.com/a", "http://example.org/b"), "http://example.org/b");
  assert.throws(() => from("https://example.com/a", "http://example.com/b"), {
    message: "https://example.com/a redirects to http://example.com/b, which is not encrypted. It was not followed.",
  });
  assert.throws(() => from("https://example.com/a", "http://"), /redirects to an address that cannot be read/);
});

suite("B5.5: the host of an address is read one way", () => {
  test("B5.5: the host that a rule judges is the one that would be asked, in one spelling", () => {
    const hosts = [
      "https://Example.COM./a",
      "http://b\u00fccher.example/",
      "http://0x8080808/",
      "http://[2606:4700::1]/",
    ];
    assert.deepEqual(hosts.map(fetchHost), ["example.com", "xn--bcher-kva.example", "8.8.8.8", "2606:4700::1"]);
    for (const url of [
      "http://a@b.example/",
      "http://a\\@b.example/",
      "file:///a",
      "http://intra/",
      "http://x y.example/",
    ]) {
      assert.equal(fetchHost(url), undefined, url);
    }
    for (const url of ["http://./", "http://example.com../"])
      assert.deepEqual(readFetchUrl(url), { problem: "its host is not a name" });
  });

  test("B5.5: a pattern is a host, or everything below one", () => {
    const rows: [host: string, pattern: string, matches: boolean][] = [
      ["example.com", "example.com", true],
      ["example.com", "Example.com.", true],
      ["www.example.com", "example.com", false],
      ["www.example.com", "*.example.com", true],
      ["example.com", "*.example.com", false],
      ["evilexample.com", "*.example.com", false],
      ["example.com.evil.org", "example.com", false],
      ["example.com", "*.", false],
      ["example.com", "*", false],
      ["example.com:8443", "example.com", false],
      ["example.com:8443", "example.com:8443", true],
    ];
    for (const [host, pattern, matches] of rows)
      assert.equal(hostMatches(host, pattern), matches, `${host} ${pattern}`);
  });
});

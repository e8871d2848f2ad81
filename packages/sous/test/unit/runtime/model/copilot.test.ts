import assert from "node:assert/strict";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { copilotFetch, copilotTokenAddress } from "../../../../src/runtime/model/copilot.ts";
import { resolveModel } from "../../../../src/runtime/model/resolve.ts";
import { request } from "../../../support/runtime/model/requests.ts";

type Seen = { path: string; headers: IncomingHttpHeaders; body: string };
type Reply = { status: number; body: string };

/** GitHub and Copilot in one local server: the exchange of tokens and the chat behind it. */
async function startFake(answer: (seen: Seen, count: number) => Reply) {
  const seen: Seen[] = [];
  const server = createServer(async (incoming, outgoing) => {
    let body = "";
    for await (const chunk of incoming) body += chunk;
    const each = { path: incoming.url ?? "", headers: incoming.headers, body };
    seen.push(each);
    const { status, body: text } = answer(each, seen.filter(({ path }) => path === each.path).length);
    outgoing
      .writeHead(status, { "content-type": text.startsWith("data:") ? "text/event-stream" : "application/json" })
      .end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    seen,
    paths: () => seen.map(({ path }) => path),
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const TOKEN_PATH = "/copilot_internal/v2/token";
const CHAT_PATH = "/chat/completions";
const ANSWER = `data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1}}\n\ndata: [DONE]\n\n`;

function tokenReply(token: string, url?: string): Reply {
  const inAnHour = Math.floor(Date.now() / 1000) + 3600;
  return {
    status: 200,
    body: JSON.stringify({
      token,
      expires_at: inAnHour,
      refresh_in: 1500,
      ...(url === undefined ? {} : { endpoints: { api: url } }),
    }),
  };
}

test("A4: Copilot is asked with a token that GitHub gave for ours, at the host it names, exchanged once for many calls", async () => {
  await using fake = await startFake(({ path }) =>
    path === TOKEN_PATH ? tokenReply("tid=1", fakeUrl()) : { status: 200, body: ANSWER },
  );
  function fakeUrl() {
    return fake.url;
  }
  const model = await resolveModel("github-copilot/gpt-5.5", {
    GITHUB_COPILOT_TOKEN: "ghu_ours",
    GITHUB_API_URL: fake.url,
  });
  const answers = await Promise.all([model.answer(request(), () => {}), model.answer(request(), () => {})]);
  answers.push(await model.answer(request(), () => {}));
  for (const { message, usage } of answers) {
    assert.deepEqual([message.content, usage?.totalTokens], [[{ type: "text", text: "Hi" }], 10]);
  }
  assert.deepEqual(fake.paths(), [TOKEN_PATH, CHAT_PATH, CHAT_PATH, CHAT_PATH]);
  const [exchange, chat] = fake.seen;
  assert.equal(exchange?.headers.authorization, "token ghu_ours");
  assert.equal(chat?.headers.authorization, "Bearer tid=1");
  assert.equal(chat?.headers["copilot-integration-id"], "vscode-chat");
  assert.equal(chat?.headers["x-initiator"], "user");
  assert.equal(chat?.headers["copilot-vision-request"], undefined);
});

test("a request after a tool is the agent's own, and one with a picture says so", async () => {
  await using fake = await startFake(({ path }) =>
    path === TOKEN_PATH ? tokenReply("tid=1") : { status: 200, body: ANSWER },
  );
  const model = await resolveModel("github-copilot/gpt-5.5", {
    GH_TOKEN: "gho_x",
    GITHUB_API_URL: fake.url,
    GITHUB_COPILOT_BASE_URL: fake.url,
  });
  const messages = [
    { role: "user", content: [{ type: "file", mediaType: "image/png", data: "AAAA" }] },
    { role: "assistant", content: [{ type: "tool-call", callId: "c", toolName: "t", input: {} }] },
    { role: "tool", content: [{ type: "tool-result", callId: "c", toolName: "t", output: "ok", isError: false }] },
  ] as const;
  await model.answer(request({ messages }), () => {});
  const { headers } = fake.seen[1] ?? assert.fail();
  assert.deepEqual([headers["x-initiator"], headers["copilot-vision-request"]], ["agent", "true"]);
});

test("a token is renewed before it expires, and at once when it is refused", async () => {
  let now = 1_000_000_000_000;
  let exchanges = 0;
  const used: (string | null)[] = [];
  const fetchToken = copilotFetch({
    githubToken: "ghu_x",
    tokenAddress: "https://github.test/token",
    followsHost: false,
    now: () => now,
    fetch: async (input, init) => {
      if (String(input).endsWith("/token")) {
        exchanges += 1;
        return Response.json({ token: `t${exchanges}`, expires_at: now / 1000 + 1800 });
      }
      const bearer = new Headers(init?.headers).get("authorization");
      used.push(bearer);
      return new Response("", { status: bearer === "Bearer t2" ? 401 : 200 });
    },
  });
  const ask = async () =>
    (await fetchToken("https://copilot.test/chat/completions", { method: "POST", body: "{}" })).status;
  assert.equal(await ask(), 200);
  now += 1_739_000;
  assert.equal(await ask(), 200, "a minute and a second are left");
  now += 1000;
  assert.equal(await ask(), 200, "the renewed token was refused once, and another one was fetched");
  assert.deepEqual(used, ["Bearer t1", "Bearer t1", "Bearer t2", "Bearer t3"]);
});

test("a refusal of GitHub is an auth error that names the variable, other failures are tried again", async () => {
  let status = 404;
  await using fake = await startFake(() => ({ status, body: '{"message":"Not Found"}' }));
  const model = await resolveModel("github-copilot/gpt-5.5", {
    GITHUB_COPILOT_TOKEN: "ghu_x",
    GITHUB_API_URL: fake.url,
  });
  await assert.rejects(
    model.answer(request(), () => {}),
    {
      name: "ModelError",
      kind: "auth",
      message: "github-copilot did not accept the key (HTTP 403): check GITHUB_COPILOT_TOKEN and what it may use",
    },
  );
  status = 503;
  await assert.rejects(
    model.answer(request(), () => {}),
    { kind: "overloaded", isRetryable: true },
  );
  assert.deepEqual(fake.paths(), [TOKEN_PATH, TOKEN_PATH]);
});

test("an exchange that brings no token is a failure, and the next call tries again", async () => {
  await using fake = await startFake(({ path }, count) => {
    if (path !== TOKEN_PATH) return { status: 200, body: ANSWER };
    return count === 1 ? { status: 200, body: "<html>" } : tokenReply("tid=2");
  });
  const model = await resolveModel("github-copilot/x", {
    GITHUB_TOKEN: "ghp_x",
    GITHUB_API_URL: `${fake.url}/`,
    GITHUB_COPILOT_BASE_URL: fake.url,
  });
  await assert.rejects(
    model.answer(request(), () => {}),
    { kind: "unknown", message: "github-copilot failed: the exchange of tokens returned no token" },
  );
  assert.equal((await model.answer(request(), () => {})).finish, "stop");
});

test("a call that stops waiting for a token does not stop the others", async () => {
  let release = (_: Response) => {};
  const fetchToken = copilotFetch({
    githubToken: "ghu_x",
    tokenAddress: copilotTokenAddress(),
    followsHost: false,
    now: () => 0,
    fetch: (input) =>
      String(input) === "https://api.github.com/copilot_internal/v2/token"
        ? new Promise((resolve) => {
            release = resolve;
          })
        : Promise.resolve(new Response("ok")),
  });
  const stop = new AbortController();
  const stopped = fetchToken("https://copilot.test/chat", { body: "{}", signal: stop.signal });
  const patient = fetchToken("https://copilot.test/chat", { body: "{}", signal: new AbortController().signal });
  const reason = new Error("stopped");
  stop.abort(reason);
  await assert.rejects(stopped, reason);
  const late = assert.rejects(fetchToken("https://copilot.test/chat", { body: "{}", signal: stop.signal }), reason);
  release(Response.json({ token: "t", expires_at: 9999 }));
  await late;
  assert.equal(await (await patient).text(), "ok");
});

test("C5: an exchange whose reply has no end is a failure, and is not read on", async () => {
  const piece = " ".repeat(64 * 1024);
  const closed = Promise.withResolvers<void>();
  const server = createServer((_, response) => {
    response.on("close", () => closed.resolve());
    const pour = () => {
      while (!response.destroyed && response.write(piece));
    };
    response.on("drain", pour);
    pour();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const send = copilotFetch({ githubToken: "t", tokenAddress: url, followsHost: true, fetch, now: Date.now });
    await assert.rejects(send(url), /the exchange of tokens returned no token/);
    await closed.promise;
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

/**
 * GitHub Copilot: chat completions behind an exchange of tokens. A token of GitHub is exchanged for one of Copilot that
 * lasts about half an hour; the reply also says which host serves the account.
 */

import { untilSignal } from "../../core/clock.ts";
import { ignore, ModelError } from "../../core/errors.ts";
import { classifyError } from "./classify-error.ts";

type Fetch = typeof globalThis.fetch;

type CopilotSetup = {
  /** A GitHub token of a user with a Copilot plan. */
  githubToken: string;
  tokenAddress: string;
  /** True to go to the host that the exchange names. */
  followsHost: boolean;
  fetch: Fetch;
  /** Milliseconds since 1970. */
  now: () => number;
};

/** GITHUB_API_URL is how GitHub itself names its server, also a private one. */
export function copilotTokenAddress(apiAddress = "https://api.github.com"): string {
  return `${apiAddress.replace(/\/$/, "")}/copilot_internal/v2/token`;
}

type CopilotToken = { token: string; host: string | undefined; renewAt: number };

/** A `fetch` that brings its own token. All calls share it; when one is refused it is exchanged again, once. */
export function copilotFetch(setup: CopilotSetup): Fetch {
  let held: CopilotToken | undefined;
  let exchanging: Promise<CopilotToken> | undefined;
  return async (input, init = {}) => {
    const token = await currentToken(init.signal);
    const response = await send(token, input, init);
    if (response.status !== 401) return response;
    await response.body?.cancel();
    if (held === token) held = undefined;
    return send(await currentToken(init.signal), input, init);
  };

  function currentToken(signal: AbortSignal | null | undefined): CopilotToken | Promise<CopilotToken> {
    if (held !== undefined && setup.now() < held.renewAt) return held;
    exchanging ??= exchange(setup)
      .then((token) => (held = token))
      .finally(() => (exchanging = undefined));
    // A caller that stops waiting must not stop the exchange for the others.
    exchanging.catch(ignore);
    return signal ? untilSignal(exchanging, signal) : exchanging;
  }

  function send(token: CopilotToken, input: Parameters<Fetch>[0], init: RequestInit): Promise<Response> {
    const url = new URL(input instanceof Request ? input.url : input);
    const address =
      setup.followsHost && token.host !== undefined ? new URL(url.pathname + url.search, token.host) : url;
    const headers = new Headers(init.headers);
    headers.set("authorization", `Bearer ${token.token}`);
    for (const [name, value] of Object.entries({ ...EDITOR, ...describeRequest(init.body) })) headers.set(name, value);
    return setup.fetch(address, { ...init, headers });
  }
}

/** Copilot serves known integrations only, and wants to know the editor. */
const EDITOR = {
  "copilot-integration-id": "vscode-chat",
  "editor-version": "sous/0.1.0",
  "editor-plugin-version": "sous/0.1.0",
  "openai-intent": "conversation-panel",
};

/** A request that continues after a tool is the agent's own and is not billed as one more question of a person. */
function describeRequest(body: RequestInit["body"]): Record<string, string> {
  const { messages = [] }: { messages?: { role?: unknown }[] } = typeof body === "string" ? JSON.parse(body) : {};
  const initiator = messages.at(-1)?.role === "user" ? "user" : "agent";
  const hasPicture = typeof body === "string" && body.includes('"image_url"');
  return { "x-initiator": initiator, ...(hasPicture ? { "copilot-vision-request": "true" } : {}) };
}

/** A token is renewed when GitHub says so, and at the latest a minute before it expires. */
const MARGIN_MS = 60_000;
/** All calls wait for the exchange, and none of them can stop it. */
const EXCHANGE_MS = 30_000;
const MAX_REPLY_BYTES = 64 * 1024;

async function exchange({ fetch, tokenAddress, githubToken, now }: CopilotSetup): Promise<CopilotToken> {
  const response = await fetch(tokenAddress, {
    headers: { accept: "application/json", authorization: `token ${githubToken}`, ...EDITOR },
    signal: AbortSignal.timeout(EXCHANGE_MS),
  });
  if (!response.ok) {
    await response.body?.cancel();
    // GitHub answers 404 for what a token may not see.
    const statusCode = response.status === 404 ? 403 : response.status;
    const refusal = {
      message: "GitHub refused to exchange the token",
      statusCode,
      responseHeaders: Object.fromEntries(response.headers),
    };
    throw classifyError(refusal, { id: "github-copilot", phase: "request", now });
  }
  const token = parseReply(await readReply(response), now());
  if (token === undefined)
    throw new ModelError("unknown", "github-copilot failed: the exchange of tokens returned no token");
  return token;
}

/** Undefined when it is not JSON, or too long. */
async function readReply({ body }: Response): Promise<unknown> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body ?? []) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes > MAX_REPLY_BYTES) return undefined;
  }
  try {
    return JSON.parse(Buffer.concat(pieces).toString());
  } catch {
    return undefined;
  }
}

function parseReply(reply: unknown, now: number): CopilotToken | undefined {
  if (typeof reply !== "object" || reply === null) return undefined;
  const { token, expires_at, refresh_in, endpoints } = reply as Record<string, unknown>;
  if (typeof token !== "string" || typeof expires_at !== "number") return undefined;
  const renewAt = typeof refresh_in === "number" ? now + refresh_in * 1000 : Number.POSITIVE_INFINITY;
  const { api } = (endpoints ?? {}) as Record<string, unknown>;
  return {
    token,
    host: typeof api === "string" ? api : undefined,
    renewAt: Math.min(renewAt, expires_at * 1000 - MARGIN_MS),
  };
}

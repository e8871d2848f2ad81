/** `fetch` that takes a redirect for an error: the next host would get the key and the conversation, and answer for the model. */

import { ModelError } from "../core/errors.ts";

type Fetch = typeof globalThis.fetch;

/** Every request to a provider goes through here, the exchange of tokens too. `fetch` is looked up when it is first used. */
export function unredirectedFetch(given: Fetch | undefined): Fetch {
  return async (input, init) => {
    const send = given ?? globalThis.fetch;
    const response = await send(input, { ...init, redirect: "manual" });
    if (!isRedirect(response)) return response;
    await response.body?.cancel();
    const asked = new URL(input instanceof Request ? input.url : input);
    throw new ModelError(
      "invalid_request",
      `${asked.host} answered with a redirect to ${targetOf(response, asked)}, which is not followed: check provider.base_url`,
      { status: response.status },
    );
  };
}

/** Also what a given `fetch` has followed all the same: its answer comes from a host that nobody chose. */
function isRedirect({ status, type, redirected }: Response): boolean {
  return (status >= 300 && status < 400) || type === "opaqueredirect" || redirected;
}

function targetOf({ headers, redirected, url }: Response, asked: URL): string {
  const location = redirected ? url : headers.get("location");
  const target = location === null ? null : URL.parse(location, asked.href);
  if (target === null || target.host === "") return "an address that cannot be read";
  return target.host === asked.host ? `${target.origin}${target.pathname.slice(0, 100)}` : target.host;
}

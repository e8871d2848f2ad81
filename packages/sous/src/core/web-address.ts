/** Addresses of the web as they are written: those that name a page, and those that name this machine or its network. */

/**
 * The address of a page in its one spelling, or a sentence that says what is wrong with it. One judgement for our tools and for
 * external agents.
 */
export function readFetchUrl(text: string): { url: URL } | { problem: string } {
  // A parser drops or changes these, and then the address shown is not the one requested.
  if (UNCLEAR.test(text)) return { problem: "it holds a space, a control character or a backslash: encode them" };
  if (/^[^/?#]*\/\/[^/?#]*@/.test(text)) return { problem: "it holds a user name before the host: leave it out" };
  const url = URL.parse(text);
  if (url === null || !/^https?:\/\//i.test(text)) {
    return { problem: "it is not an address that begins with http:// or https://" };
  }
  const host = hostOf(url);
  if (host === "" || host.endsWith(".")) return { problem: "its host is not a name" };
  const isNumber = /^[\d.]+$/.test(host) || host.includes(":");
  if (!isNumber && isLocalName(host)) return { problem: "its host is a name of this machine or this network" };
  url.hash = "";
  if (!isNumber) url.hostname = host;
  return { url };
}

/** The name or address without brackets and without a dot at its end. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
const UNCLEAR = /[\u0000-\u0020\u007f-\u00a0\u2028\u2029\\]/;
/** Names that are never looked up outside. */
const LOCAL_ENDINGS = [
  "localhost",
  "localdomain",
  "local",
  "internal",
  "intranet",
  "lan",
  "home",
  "corp",
  "arpa",
  "onion",
];

function isLocalName(host: string): boolean {
  return !host.includes(".") || LOCAL_ENDINGS.includes(host.slice(host.lastIndexOf(".") + 1));
}

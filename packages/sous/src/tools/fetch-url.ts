/** Which addresses `fetch` takes, and the host each of them asks. */

/** `example.com` is that host on its usual port and no other; `*.example.com` is every host below it. */
export function hostMatches(host: string, pattern: string): boolean {
  const wanted = pattern.toLowerCase().replace(/\.$/, "");
  if (wanted.startsWith("*.")) return wanted.length > 2 && host.endsWith(wanted.slice(1));
  return host === wanted;
}

/** The name or address without brackets and without a dot at its end. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
}

/** The address in its one spelling, or a sentence that says what is wrong with it. */
export function readFetchUrl(text: string): { url: URL } | { problem: string } {
  // A parser drops or turns these, and then what was shown is not what is asked.
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

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
const UNCLEAR = /[\u0000-\u0020\u007f-\u00a0\u2028\u2029\\]/;
/** Names that are never looked up outside. */
const LOCAL_ENDINGS = ["localhost", "local", "internal", "intranet", "lan", "home", "corp", "arpa", "onion"];

function isLocalName(host: string): boolean {
  return !host.includes(".") || LOCAL_ENDINGS.includes(host.slice(host.lastIndexOf(".") + 1));
}

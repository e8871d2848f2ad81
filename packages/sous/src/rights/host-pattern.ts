/** `example.com`, `*.example.com` and `example.com:8443` in a rule for fetch. */

import { trimEndOf } from "../core/trim-end.ts";

export type HostAction = {
  readonly kind: "host";
  /** As it would be connected to: small letters, punycode, no trailing dot, with a port that is not the usual one. */
  readonly host: string;
  /** The host, and the scheme when it is not https. */
  readonly origin: string;
  /** Without user names and passwords, which are put before a host to make it look like another. */
  readonly isPlain: boolean;
};

export type HostPattern = {
  /** For a rule that allows: this host on this port. */
  covers(action: HostAction): boolean;
  /** For a rule that forbids or asks: this host on any port, unless the rule names one. */
  touches(action: HostAction): boolean;
};

/** The pattern, or the sentence that says what is wrong with it. */
export function compileHostPattern(text: string): HostPattern | string {
  if (text === "*") return { covers: ({ isPlain }) => isPlain, touches: () => true };
  const isBelow = text.startsWith("*.");
  const name = isBelow ? text.slice(2) : text;
  const host = /[\s/?#@\\*%]/.test(name) ? undefined : readHost(`https://${name}`)?.host;
  if (host === undefined) return "it must be a host, such as example.com, *.example.com or example.com:8443";
  const fits = (found: string): boolean => (isBelow ? found.endsWith(`.${host}`) : found === host);
  return {
    covers: (action) => action.isPlain && fits(action.host),
    touches: (action) => fits(action.host) || fits(withoutPort(action.host)),
  };
}

/** Undefined for what is no address of the web. */
export function readHost(url: unknown): HostAction | undefined {
  if (typeof url !== "string" || !URL.canParse(url)) return undefined;
  const { protocol, hostname, port, username, password } = new URL(url);
  if ((protocol !== "https:" && protocol !== "http:") || hostname === "") return undefined;
  const host = trimEndOf(hostname, ".") + (port === "" ? "" : `:${port}`);
  const origin = protocol === "https:" ? host : `http://${host}`;
  return { kind: "host", host, origin, isPlain: username === "" && password === "" };
}

function withoutPort(host: string): string {
  return host.replace(/:\d+$/, "");
}

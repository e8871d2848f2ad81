/** `src/**` in a rule for a file tool. As in .gitignore, a pattern without a slash matches names at any depth. */

import { matchesGlob, matchesPath, mayStart, pathNames, wildcardSegments } from "../core/glob.ts";
import { trimEndOf } from "../core/truncate.ts";

type PathPattern = {
  /** For a rule that allows: the file itself, spelled like this. */
  covers(path: string): boolean;
  /** For a rule that forbids or asks: the file, or a folder it lies in, however it is spelled. */
  touches(path: string): boolean;
  /** The same for a tool that looks at everything below a folder. */
  touchesBelow(folder: string): boolean;
};

/** The pattern, or the sentence that says what is wrong with it. */
export function compilePathPattern(text: string): PathPattern | string {
  if (/[[\]{}]/.test(text)) return "[ ] and { } are not known here: write one rule for each choice, with *, ** and ?";
  if (/[\\\p{Cc}]/u.test(text)) return "paths are written with / and without control characters";
  const written = text.replace(/^(?:\.\/)+/, "");
  const names = written.split("/").filter((name) => name !== "" && name !== ".");
  if (names.length === 0 || names.includes("..") || names[0] === "~") {
    return "a path is relative to the workspace, such as src/** or .env*";
  }
  if (names.at(-1) === "**") names.push("*");
  const segments = names.length === 1 && !/\/./.test(written) && !written.startsWith("/") ? ["**", ...names] : names;
  const exact = wildcardSegments(segments);
  const folded = wildcardSegments(segments.map(fold));
  const touches = (path: string): boolean => {
    const given = pathNames(fold(path));
    return given.some((_, index) => matchesPath(folded, given.slice(0, index + 1)));
  };
  return {
    covers: (path) => matchesPath(exact, pathNames(path)),
    touches,
    touchesBelow: (folder) => touches(folder) || mayStart(folded, folder === "." ? [] : pathNames(fold(folder))),
  };
}

/** Some file systems take `.ENV` for `.env`, and one way to write é for another. */
function fold(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}

/** `example.com`, `*.example.com` and `example.com:8443` in a rule for fetch. */
export type HostAction = {
  readonly kind: "host";
  /** As it would be connected to: small letters, punycode, no trailing dot, with a port that is not the usual one. */
  readonly host: string;
  /** The host, and the scheme when it is not https. */
  readonly origin: string;
  /** Without user names and passwords, which are put before a host to make it look like another. */
  readonly isPlain: boolean;
};

type HostPattern = {
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

/** `owner=acme, repo=*` in a rule for a tool whose input has no meaning of its own here, such as one of MCP. */
type Fields = Readonly<Record<string, unknown>>;

type FieldPattern = {
  /** For a rule that allows: every named field is there and has this value. */
  covers(fields: Fields): boolean;
  /** For a rule that forbids or asks: the same, however it is spelled. */
  touches(fields: Fields): boolean;
};

/** The pattern, or the sentence that says what is wrong with it. */
export function compileFieldPattern(text: string): FieldPattern | string {
  const pairs: [name: string, value: string][] = [];
  for (const pair of text.split(",")) {
    const equals = pair.indexOf("=");
    const name = pair.slice(0, Math.max(0, equals)).trim();
    const value = pair.slice(equals + 1).trim();
    if (!/^[\w.-]+$/.test(name)) {
      return "it must name fields of the input, such as owner=acme, repo=*; a rule for exactly one input begins with =";
    }
    pairs.push([name, value]);
  }
  return {
    covers: (fields) =>
      pairs.every(([name, value]) => {
        const found = textOf(fields, name);
        return found !== undefined && matchesGlob(value, found);
      }),
    touches: (fields) =>
      pairs.every(([name, value]) => {
        const found = textOf(fields, name);
        return found !== undefined && matchesGlob(value.toLowerCase(), found.toLowerCase());
      }),
  };
}

/** Lists and objects have no text that a pattern could be compared with, but JSON. */
function textOf(fields: Fields, name: string): string | undefined {
  if (!Object.hasOwn(fields, name)) return undefined;
  const value = fields[name];
  return typeof value === "string" ? value : JSON.stringify(value);
}

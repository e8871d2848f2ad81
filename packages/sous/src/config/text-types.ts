/** Settings that are texts: names, addresses, paths, hosts. */

import { type Complaint, complaint, type ValueType } from "./value-type.ts";

export type TextRules = {
  readonly allowed: string;
  readonly example: string;
  /** As a schema for editors; `refuse` may want more. */
  readonly pattern?: RegExp | undefined;
  /** Why a text is not allowed; undefined when it is. */
  refuse?(text: string): string | undefined;
};

const MAX_LENGTH = 4096;

export function text({ allowed, example, pattern, refuse }: TextRules): ValueType<string> {
  return {
    allowed,
    advice: `${allowed}, such as ${example}`,
    jsonSchema: { type: "string", minLength: 1, ...(pattern === undefined ? {} : { pattern: pattern.source }) },
    read(given) {
      if (typeof given !== "string") return complaint("type", `must be a text (allowed: ${allowed})`);
      const isFit = given !== "" && given.length <= MAX_LENGTH && !CONTROL.test(given);
      if (!isFit || pattern?.test(given) === false) return complaint("range", `must be ${allowed}`);
      const refusal = refuse?.(given);
      return refusal === undefined ? { value: given } : complaint("range", refusal);
    },
    fromText: (variable) => variable,
    show: (value) => value,
  };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: a setting is one line, and none acts on a terminal.
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

export function model(): ValueType<string> {
  return text({
    allowed: "provider/model",
    example: "anthropic/claude-sonnet-4-5",
    pattern: /^[a-z][a-z0-9-]*\/\S(.*\S)?$/,
  });
}

/** A password in an address would be shown wherever the address is. */
export function address(): ValueType<string> {
  return text({
    allowed: "an address that begins with http:// or https://",
    example: "http://127.0.0.1:8080/v1",
    pattern: /^https?:\/\/\S+$/,
    refuse(given) {
      const url = URL.parse(given);
      if (url === null) return "must be an address that begins with http:// or https://";
      return url.username === "" && url.password === ""
        ? undefined
        : "must not contain a name or a password (a key belongs in a variable, see provider.api_key_env)";
    },
  });
}

export function variableName(): ValueType<string> {
  return text({
    allowed: "the name of a variable, not its value",
    example: "MY_API_KEY",
    pattern: /^[A-Za-z_][A-Za-z0-9_]*$/,
  });
}

/** Names of variables, such as those that a command may set. */
export function variableNames(): ValueType<readonly string[]> {
  const allowed = "a list of names of variables";
  const name = variableName();
  return {
    allowed,
    advice: `${allowed} such as [DATABASE_URL, APP_ENV]`,
    jsonSchema: { type: "array", items: name.jsonSchema },
    read(given) {
      if (!Array.isArray(given)) return complaint("type", `must be a list (allowed: ${allowed})`);
      const complaints = given.flatMap((each: unknown, index): Complaint[] => {
        const read = name.read(each);
        return "complaints" in read ? read.complaints.map((found) => ({ ...found, path: [index] })) : [];
      });
      return complaints.length > 0 ? { complaints } : { value: given.map(String) };
    },
    fromText: (variable) => variable.split(/[\s,]+/).filter((each) => each !== ""),
    show: (value) => (value.length === 0 ? "none" : value.join(", ")),
  };
}

/** Lower-case host names; `*.` in front stands for everything below. */
export function hosts(): ValueType<readonly string[]> {
  const allowed = "a list of host names";
  return {
    allowed,
    advice: `${allowed} such as [docs.example.com, "*.example.org"]`,
    jsonSchema: { type: "array", items: { type: "string", pattern: HOST.source } },
    read(given) {
      if (!Array.isArray(given)) return complaint("type", `must be a list (allowed: ${allowed})`);
      const complaints = given.flatMap((host: unknown, index): Complaint[] => {
        const message = "must be a host name such as docs.example.com or *.example.com, without scheme and path";
        return typeof host === "string" && host.length <= MAX_HOST && HOST.test(host)
          ? []
          : [{ kind: typeof host === "string" ? "range" : "type", path: [index], message }];
      });
      return complaints.length > 0 ? { complaints } : { value: given.map((host) => String(host).toLowerCase()) };
    },
    fromText: (variable) => variable.split(/[\s,]+/).filter((host) => host !== ""),
    show: (value) => (value.length === 0 ? "none" : value.join(", ")),
  };
}

const MAX_HOST = 255;
const HOST = /^(\*\.)?[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/;

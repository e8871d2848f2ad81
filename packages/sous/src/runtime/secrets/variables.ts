/** Finds the variables of the environment that hold secrets: by their names, and by the passwords in their addresses. */

/** A value that must not be kept, and what it is called: the name of its variable. */
export type Secret = { name: string; value: string };

/** Returns secrets in the order of the environment. Every provider's key is among them, by its name. */
export function secretsOf(environment: Readonly<Record<string, string | undefined>>): Secret[] {
  const secrets: Secret[] = [];
  for (const name of Object.keys(environment)) {
    const kind = MAY_MATTER.test(name) ? kindOf(name) : undefined;
    if (kind === undefined) continue;
    for (const value of valuesIn(environment[name]?.trim() ?? "", kind)) {
      if (value.length >= MIN_LENGTH && !isOrdinary(value)) secrets.push({ name, value });
    }
  }
  return secrets;
}

/** Shorter values appear by chance. */
const MIN_LENGTH = 8;

/** `one` value, `several` of them, `headers` that may have them, or an `address` that may have a password in it. */
type Kind = "one" | "several" | "headers" | "address";

const ONE = new Set(
  "KEY PASS SSHPASS PWD PSK CREDENTIAL CREDENTIALS CREDS AUTH AUTHORIZATION BEARER COOKIE JWT PAT".split(" "),
);
/** These are also the ends of words, such as `PGPASSWORD`. */
const ENDS_AS_ONE = /(?:PASSWORD|PASSWD|PASSPHRASE|TOKEN|SECRET|APIKEY|ACCESSKEY|SECRETKEY|PRIVATEKEY)$/;
const SEVERAL = new Set("KEYS APIKEYS TOKENS SECRETS PASSWORDS".split(" "));
const ADDRESS = new Set("URL URI DSN PROXY CONNECTION CONNECTIONSTRING CONN REGISTRY ENDPOINT REMOTE".split(" "));

/** Most variables hold no secret, and this is asked at the start of every run. */
const MAY_MATTER =
  /KEY|TOKEN|SECRET|PASS|PWD|PSK|CRED|AUTH|BEARER|COOKIE|JWT|PAT|UR[LI]|DSN|PROXY|CONN|REGIST|ENDPO|REMOTE|HEADERS/i;

/** A name that ends in one of these says something about a secret, not what it is. */
const ABOUT =
  /(?:^|_)(?:SOCK|SOCKET|FILE|PATH|DIR|HOME|ID|IDS|TYPE|NAME|HOST|PORT|USER|USERNAME|ENABLED|DISABLED|REGION|ALGORITHM|ALGO|VERSION|LENGTH|SIZE|TTL|TIMEOUT|EXPIRY|LIMIT|PROVIDER|METHOD|MODE|POLICY|SCOPE|SCOPES|AUDIENCE|ISSUER|COUNT)$/;

/** Variables in which a package describes itself; none of them is secret. */
const PUBLIC_PREFIX = /^npm_(?:package|lifecycle)_/;

function kindOf(name: string): Kind | undefined {
  if (PUBLIC_PREFIX.test(name)) return undefined;
  // `npm_config_//registry/:_authToken` has the words NPM, CONFIG, REGISTRY, AUTH and TOKEN.
  const plain = name.replaceAll(/([a-z])([A-Z])/g, "$1_$2").toUpperCase();
  if (ABOUT.test(plain)) return undefined;
  const words = plain.split(/[^A-Z0-9]+/);
  // `PWD` alone is where the shell is.
  if (words.some((word) => ONE.has(word) || ENDS_AS_ONE.test(word)) && name !== "PWD") return "one";
  if (words.some((word) => SEVERAL.has(word))) return "several";
  if (words.at(-1) === "HEADERS") return "headers";
  return words.some((word) => ADDRESS.has(word)) ? "address" : undefined;
}

function valuesIn(value: string, kind: Kind): string[] {
  if (kind === "headers") return headersIn(value);
  const passwords = passwordsIn(value);
  if (kind === "address" || passwords.length > 0 || isPlainAddress(value)) return passwords;
  if (kind === "one") return [value];
  return [value, ...value.split(/[\s,;]+/)].filter((part, index, parts) => parts.indexOf(part) === index);
}

/** `authorization=Basic%20…,x-api-key=…`: each value, as it is written and as it is sent, and the last word of each. */
function headersIn(value: string): string[] {
  const values = value.split(",").flatMap((pair) => {
    const written = pair.slice(pair.indexOf("=") + 1).trim();
    const sent = decoded(written);
    return [written, sent, sent.slice(sent.lastIndexOf(" ") + 1)];
  });
  return [...new Set(values)];
}

function isPlainAddress(value: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(value);
}

/** The password of a URL, as it is written and as it is meant, and those of a list such as `Password=…;Server=…`. */
function passwordsIn(value: string): string[] {
  const inUrl = /:\/\/[^\s/:@]*:([^\s/]+)@/.exec(value)?.[1];
  if (inUrl !== undefined) return [...new Set([inUrl, decoded(inUrl)])];
  return value.split(";").flatMap((setting) => {
    const [, password] =
      /^\s*(?:AccountKey|SharedAccessKey|SharedAccessSignature|Password|Pwd)=([\s\S]+)/i.exec(setting) ?? [];
    return password === undefined ? [] : [password.trim()];
  });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Values that would be hidden in every other sentence: a word, a number, a path, a host with a port, the name of a variable. */
function isOrdinary(value: string): boolean {
  if (/^[\d.,:_-]+$/.test(value)) return true;
  if (value.length < 16 && /^[A-Za-z]+$/.test(value)) return true;
  if (/^[A-Z]+(?:_[A-Z]+)+$/.test(value)) return true;
  if (/^[a-z0-9.-]+:\d{1,5}$/.test(value) && !/^[a-f0-9]{16,}:/.test(value)) return true;
  return isPath(value);
}

/** A key may begin with a slash too; what is random has long pieces of capitals, small letters and digits together. */
function isPath(value: string): boolean {
  if (!/^(?:~?\/|\.{1,2}\/|[A-Za-z]:[\\/])[^\s=+]*$/.test(value)) return false;
  return !value.split(/[\\/]/).some((piece) => piece.length >= 12 && isMixed(piece));
}

function isMixed(piece: string): boolean {
  return /[a-z]/.test(piece) && /[A-Z]/.test(piece) && /\d/.test(piece);
}

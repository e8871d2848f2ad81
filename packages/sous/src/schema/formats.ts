/** The formats of JSON Schema that are checked; others are descriptions. All are matched in linear time. */

import { isIPv4, isIPv6 } from "node:net";
import { compileLinearPattern, type LinearPattern } from "../core/linear-pattern.ts";
import { once } from "../core/once.ts";

export type Format = (text: string, onSteps: (steps: number) => void) => boolean;

const YEAR_WITH_29_FEBRUARY = "(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)";
const DATE =
  "(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))" +
  `|${YEAR_WITH_29_FEBRUARY}-02-29)`;
const HOURS_AND_MINUTES = "(?:[01]\\d|2[0-3]):[0-5]\\d";
const SECONDS = ":(?:[0-5]\\d|60)(?:\\.\\d+)?";
const ZONE = `(?:[Zz]|[+-]${HOURS_AND_MINUTES})`;
const DAYS = "(?:\\d+Y(?:\\d+M)?(?:\\d+D)?|\\d+M(?:\\d+D)?|\\d+D)";
const DURATION_SECONDS = "\\d+(?:[.,]\\d+)?S";
const TIME_OF_DURATION = `T(?:\\d+H(?:\\d+M)?(?:${DURATION_SECONDS})?|\\d+M(?:${DURATION_SECONDS})?|${DURATION_SECONDS})`;
const LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
const ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
const LOCAL_PART = `${ATOM}(?:\\.${ATOM})*`;
/** What no address holds as it stands. */
const NO_URI = '\\s<>"{}|\\\\^`';

const FORMATS: Record<string, Format> = {
  email: matches(`${LOCAL_PART}@(?:[A-Za-z0-9][A-Za-z0-9-]*\\.)+[A-Za-z]{2,}`),
  uri: matches(`[A-Za-z][A-Za-z0-9+.-]*:[^${NO_URI}]+`),
  "uri-reference": matches(`[^${NO_URI}]*`),
  uuid: matches("[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"),
  "date-time": matches(`${DATE}[Tt]${HOURS_AND_MINUTES}(?:${SECONDS})?${ZONE}`),
  date: matches(DATE),
  time: matches(`${HOURS_AND_MINUTES}${SECONDS}${ZONE}`),
  duration: matches(`P(?:\\d+W|${DAYS}(?:${TIME_OF_DURATION})?|${TIME_OF_DURATION})`),
  hostname: matches(`${LABEL}(?:\\.${LABEL})*\\.?`),
  ipv4: (text) => text.length < MAX_ADDRESS_LENGTH && isIPv4(text),
  // Without a zone such as %eth0, which is not part of the address.
  ipv6: (text) => text.length < MAX_ADDRESS_LENGTH && !text.includes("%") && isIPv6(text),
};
const MAX_ADDRESS_LENGTH = 100;

/** Undefined for a format that is not checked. */
export function formatNamed(name: string): Format | undefined {
  return Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined;
}

/** The whole text, not a part of it. */
function matches(pattern: string): Format {
  const compiled = once(
    (): LinearPattern =>
      compileLinearPattern(`^(?:${pattern})$`, { isLiteral: false, ignoreCase: false, dialect: "text" }),
  );
  return (text, onSteps) => compiled().find(text, onSteps) !== -1;
}

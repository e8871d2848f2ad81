/** Text from programs and pages as a model reads it: without the codes of terminals, and with nothing hidden in it. */

/** Keeps line breaks and tabs. A line that was written over comes as several lines, so that nothing is lost. */
export function plainText(text: string): string {
  return text
    .toWellFormed()
    .replace(SEQUENCE, "")
    .replace(/\r+\n?/g, "\n")
    .replace(HIDDEN, "");
}

// A string for the terminal ends with its line at the latest: one that never ends would hide everything behind it.
const CSI = "(?:\\u001b\\[|\\u009b)[0-?]*[ -/]*[@-~]";
const STRING =
  "(?:\\u001b[\\]PX^_]|[\\u0090\\u0098\\u009d\\u009e\\u009f])[^\\u0007\\u001b\\u009c\\r\\n]*(?:\\u0007|\\u001b\\\\|\\u009c)?";
const SHORT = "\\u001b[ -/]*[0-~]?";
const SEQUENCE = new RegExp(`${CSI}|${STRING}|${SHORT}`, "g");

// Control characters but the tab and the line break; direction marks and overrides; invisible characters; tag characters.
// The zero-width joiner and the variation selectors stay: emoji are made of them.
const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out.
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

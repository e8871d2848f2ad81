/** Text of files that becomes instructions: what a model reads is what a person sees in an editor. */

/** Line breaks and tabs stay. Control characters, and characters that are invisible or reorder text, are taken out. */
export function visibleText(text: string): string {
  return text.toWellFormed().replace(/\r\n?/g, "\n").replace(HIDDEN, "");
}

// The zero-width joiner and the variation selectors stay: emoji are made of them.
const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out.
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** Turns the bytes of a terminal in raw mode into keys: text, pastes as a whole, and the keys that do something. */

/** The keys of the line; those in the last row do something else. */
export type KeyName =
  | ("left" | "right" | "up" | "down" | "home" | "end" | "word-left" | "word-right")
  | ("new-line" | "backspace" | "delete")
  | ("kill-word-left" | "kill-word-right" | "kill-to-start" | "kill-to-end" | "yank")
  | ("enter" | "tab" | "escape" | "interrupt" | "end-of-input" | "expand" | "redraw" | "suspend");

export type Key =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "paste"; readonly text: string }
  | { readonly type: "key"; readonly name: KeyName };

const ESCAPE = "\u001b";
const PASTE_START = "\u001b[200~";
const PASTE_END = "\u001b[201~";
/** No terminal sends a longer sequence; what looks like one is thrown away, so that it cannot swallow what follows. */
const MAX_SEQUENCE = 64;

/** Keeps what is not complete yet: half a character, half a sequence, half a paste. */
export class KeyDecoder {
  readonly #decoder = new TextDecoder("utf-8");
  #rest = "";
  /** The pieces of a paste whose end has not come. */
  #paste: string[] | undefined;

  /** True when a sequence may continue: after a short while without more, `flush` says what it was. */
  get isWaiting(): boolean {
    return this.#rest !== "" && this.#paste === undefined;
  }

  feed(bytes: Uint8Array): Key[] {
    const keys: Key[] = [];
    this.#rest += this.#decoder.decode(bytes, { stream: true });
    while (this.#rest !== "" && this.#take(keys)) {
      // Each round takes something away.
    }
    return keys;
  }

  /** Nothing more came: an escape byte was the key itself, and half a sequence is dropped. */
  flush(): Key[] {
    if (!this.isWaiting) return [];
    const rest = this.#rest;
    this.#rest = "";
    return rest === ESCAPE ? [{ type: "key", name: "escape" }] : [];
  }

  /** False when more bytes are needed. */
  #take(keys: Key[]): boolean {
    if (this.#paste !== undefined) return this.#takePaste(keys, this.#paste);
    const rest = this.#rest;
    if (rest.startsWith(PASTE_START)) {
      this.#paste = [];
      this.#rest = rest.slice(PASTE_START.length);
      return true;
    }
    if (rest.startsWith(ESCAPE)) return this.#takeSequence(keys);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are the keys.
    const [text] = /^[^\u0000-\u001f\u007f-\u009f]+/.exec(rest) ?? [];
    if (text !== undefined) {
      keys.push({ type: "text", text });
      this.#rest = rest.slice(text.length);
      return true;
    }
    push(keys, CONTROL[rest.charCodeAt(0)]);
    this.#rest = rest.slice(1);
    return true;
  }

  #takePaste(keys: Key[], pieces: string[]): boolean {
    const at = this.#rest.indexOf(PASTE_END);
    if (at < 0) {
      // The end may be split between two reads.
      const safe = Math.max(0, this.#rest.length - PASTE_END.length + 1);
      pieces.push(this.#rest.slice(0, safe));
      this.#rest = this.#rest.slice(safe);
      return false;
    }
    pieces.push(this.#rest.slice(0, at));
    this.#rest = this.#rest.slice(at + PASTE_END.length);
    this.#paste = undefined;
    keys.push({ type: "paste", text: pieces.join("") });
    return true;
  }

  #takeSequence(keys: Key[]): boolean {
    const rest = this.#rest;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: how a terminal names its keys.
    const [sequence] = /^\u001b(?:\[[0-?]*[ -/]*[@-~]|O[ -~])/.exec(rest) ?? [];
    if (sequence !== undefined) {
      push(keys, SEQUENCES[sequence.slice(1)]);
      this.#rest = rest.slice(sequence.length);
      return true;
    }
    const next = rest.charAt(1);
    if (next === "[" || next === "O") {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: how a terminal names its keys.
      const isUnfinished = /^\u001b(?:\[[0-?]*[ -/]*|O)$/.test(rest);
      if (isUnfinished && rest.length <= MAX_SEQUENCE) return false;
      // This is no sequence: only the two bytes that look like the start of one go.
      this.#rest = rest.slice(2);
      return true;
    }
    if (next === "") return false;
    // Alt and a key come as an escape byte and the key. Two escape bytes are the key escape and whatever follows.
    push(keys, next === ESCAPE ? "escape" : ALT[next]);
    this.#rest = rest.slice(next === ESCAPE ? 1 : 1 + next.length);
    return true;
  }
}

function push(keys: Key[], name: KeyName | undefined): void {
  if (name !== undefined) keys.push({ type: "key", name });
}

const CONTROL: Readonly<Record<number, KeyName>> = {
  1: "home",
  2: "left",
  3: "interrupt",
  4: "end-of-input",
  5: "end",
  6: "right",
  8: "backspace",
  9: "tab",
  10: "new-line",
  11: "kill-to-end",
  12: "redraw",
  13: "enter",
  14: "down",
  15: "expand",
  16: "up",
  21: "kill-to-start",
  23: "kill-word-left",
  25: "yank",
  26: "suspend",
  127: "backspace",
};

const ALT: Readonly<Record<string, KeyName>> = {
  "\r": "new-line",
  "\n": "new-line",
  b: "word-left",
  f: "word-right",
  d: "kill-word-right",
  "\u007f": "kill-word-left",
  "\b": "kill-word-left",
};

/** Keys by the bytes that follow the escape byte. */
const SEQUENCES: Readonly<Record<string, KeyName>> = {
  "[A": "up",
  "[B": "down",
  "[C": "right",
  "[D": "left",
  "[H": "home",
  "[F": "end",
  OA: "up",
  OB: "down",
  OC: "right",
  OD: "left",
  OH: "home",
  OF: "end",
  OM: "enter",
  "[1~": "home",
  "[7~": "home",
  "[4~": "end",
  "[8~": "end",
  "[3~": "delete",
  "[1;3C": "word-right",
  "[1;3D": "word-left",
  "[1;5C": "word-right",
  "[1;5D": "word-left",
  "[3;3~": "kill-word-right",
  "[3;5~": "kill-word-right",
  "[13;2u": "new-line",
  "[13;3u": "new-line",
  "[27;2;13~": "new-line",
};

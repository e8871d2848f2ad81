/** How a command is described: the one description from which its parser, help, completion and the reference are made. */

export type OptionEntry = {
  /** Without its dashes. */
  readonly name: string;
  readonly short?: string;
  /** What its value is called, such as FILE; a switch has none. */
  readonly value?: string;
  /** All that the value can be, when it is one of a few words. */
  readonly words?: readonly string[];
  /** The value when the option is not given. */
  readonly default?: string;
  /** It may be given more than once. */
  readonly isMany?: true;
  /** Its value may be the empty string. */
  readonly mayBeEmpty?: true;
  /** What a shell offers for its value. */
  readonly offers?: Offer;
  readonly about: string;
};

/** What a shell can look up: files, stored runs, agents. */
export type Offer = "file" | "run" | "agent";

export type OptionGroup = { readonly title: string; readonly options: readonly OptionEntry[] };

/** The first word behind a command, where it takes one of a few. */
export type WordEntry = { readonly name: string; readonly about: string; readonly offers?: Offer };

export type CommandEntry = {
  readonly name: string;
  /** What it is good for, in half a line. */
  readonly about: string;
  /** What a person should know before the options, in paragraphs. */
  readonly text: readonly string[];
  /** Without `sous` before them. */
  readonly usage: readonly string[];
  readonly examples: readonly string[];
  readonly words?: readonly WordEntry[];
  /** What a shell offers for words without dashes. */
  readonly offers?: Offer;
  readonly groups: readonly OptionGroup[];
};

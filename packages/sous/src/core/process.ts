/** Other programs: how one is asked for, what comes back, and the variables it gets. Only `app/process/` starts them. */

export type ProgramRequest = {
  /** A name that is looked for in PATH, or an absolute path; never a line for a shell, and never a file of the project. */
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The variables it gets besides the few that every program gets; nothing else of ours is passed on. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
  /**
   * True for a command line of the terminal tool or of a person: in a trusted project it finds the programs of the project too,
   * where the user's PATH names their folder. Programs of ours do without.
   */
  readonly mayUseProject?: boolean | undefined;
  /**
   * The folders that git may work in, besides `cwd`, which a command line has named; `anywhere` when they are not known. Git starts
   * no program that a repository there names, unless the project is trusted.
   */
  readonly gitFolders?: readonly string[] | "anywhere" | undefined;
  /** Max bytes of the output; the head and the tail are kept. */
  readonly maxOutputBytes: number;
  /** Standard error by itself, for output that is parsed; the order of the two is lost then. */
  readonly separateErrors?: boolean | undefined;
  readonly timeoutMs?: number | undefined;
  /**
   * Called with the end of the output so far, at most `WATCHED_LENGTH` characters of it, while it grows: four times a second
   * at most, and never for a program that ends before that. Must not throw.
   */
  readonly onOutput?: ((end: string) => void) | undefined;
  /** Stops the program and everything it has started. */
  readonly signal?: AbortSignal | undefined;
};

/** Characters of the output that someone who watches is given at once. */
export const WATCHED_LENGTH = 16 * 1024;

/** The text of a stream: all of it, or its head and its tail. */
export type ProgramOutput = { readonly head: string; readonly tail: string; readonly droppedBytes: number };

export type ProgramResult = {
  /** Null when it was ended by a signal. */
  readonly exitCode: number | null;
  readonly endedBy: string | null;
  /** The reason why we ended it, if we did. */
  readonly stopped: "timeout" | "cancelled" | undefined;
  /** Standard output and standard error in the order they came, as a terminal shows them. */
  readonly output: ProgramOutput;
  /** Standard error, when it was asked for by itself. */
  readonly errors?: ProgramOutput | undefined;
  readonly durationMs: number;
};

/**
 * A program that is talked to, line by line. It keeps our process alive only while a line is waited for, sent, or the program is
 * being closed. However it ends, everything it has started ends with it, and `output` of its result is empty.
 */
export type TalkingProgram = AsyncDisposable & {
  readonly pid: number;
  /**
   * The lines of its standard output without their ends, one at a time: the program waits while they are not read. A line over
   * `maxLineBytes` is left out whole and counted; a last line without an end is left out too. Ends when the output does; what
   * came before the end can be read after it. For one reader: a second loop continues where the first was left.
   */
  readonly lines: AsyncIterable<string>;
  readonly droppedLines: number;
  /** Standard error so far, bounded like a result. */
  errors(): ProgramOutput;
  /**
   * Writes one line; resolves when the program can take more. Rejects with a `ToolFailure` when it no longer reads, and with a
   * `TypeError` for a line that holds a line break.
   */
  send(line: string): Promise<void>;
  /** Closes its standard input; what does not end by itself gets TERM, then KILL, after a grace each. Never rejects. */
  close(): Promise<ProgramResult>;
  readonly ended: Promise<ProgramResult>;
};

export type TalkRequest = Pick<ProgramRequest, "program" | "args" | "cwd" | "environment" | "signal"> & {
  readonly maxLineBytes: number;
  /** Max bytes of standard error; the head and the tail are kept. */
  readonly maxErrorBytes: number;
  /** Waiting for a line does not keep our process alive: the caller has a timer while it needs one. */
  readonly isQuiet?: boolean | undefined;
  /** Called as soon as a line is found to be too long, which may be before its end. */
  readonly onLongLine?: (() => void) | undefined;
};

/** A program that runs in the background. */
export type BackgroundProgram = AsyncDisposable & {
  readonly pid: number;
  /** Everything so far, bounded like a result. */
  output(): ProgramOutput;
  readonly ended: Promise<ProgramResult>;
};

export type Programs = AsyncDisposable & {
  /**
   * Resolves for every ending. Rejects with a `ToolFailure` when the program cannot be started, and with the reason of a
   * signal that has aborted before.
   */
  run(request: ProgramRequest): Promise<ProgramResult>;
  start(request: ProgramRequest): Promise<BackgroundProgram>;
  /** Starts a program with open standard input and output. It ends with us, as all programs do. */
  talk(request: TalkRequest): Promise<TalkingProgram>;
  /** The path of a program of ours as PATH has it; undefined when it is not there, or in the project only. Starts nothing. */
  find(program: string): Promise<string | undefined>;
};

/** Variables by name, as in `process.env`. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** Names, not patterns: anything can stand behind a name that only begins like one of these. PATH, HOME and SHELL are imposed. */
export const PASSED_ON: readonly string[] = (
  "USER LOGNAME TERM TZ TMPDIR LANG LANGUAGE LC_ALL LC_ADDRESS LC_COLLATE LC_CTYPE LC_IDENTIFICATION " +
  "LC_MEASUREMENT LC_MESSAGES LC_MONETARY LC_NAME LC_NUMERIC LC_PAPER LC_TELEPHONE LC_TIME"
).split(" ");

/** True for a variable that makes a program load or start code before its own; not even a name that was given on purpose gets through. */
export function loadsCode(name: string): boolean {
  return LOADER.test(name);
}

const LOADER =
  /^(?:LD_.*|DYLD_.*|_RLD.*|NODE_OPTIONS|NODE_PATH|BASH_ENV|BASH_FUNC_.*|ENV|PROMPT_COMMAND|SHELLOPTS|BASHOPTS|PS4|PYTHONSTARTUP|PYTHONHOME|PYTHONPATH|PERL5OPT|PERL5LIB|PERL5DB|RUBYOPT|RUBYLIB|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|GCONV_PATH|GLIBC_TUNABLES|GIT_(?:SSH|SSH_COMMAND|EXTERNAL_DIFF|EXEC_PATH|PROXY_COMMAND|ASKPASS|EDITOR|SEQUENCE_EDITOR|PAGER|TEMPLATE_DIR|DIR|CONFIG_(?:COUNT|KEY_.*|VALUE_.*|PARAMETERS)))$/;

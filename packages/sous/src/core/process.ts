/** Other programs: how one is asked for, and what comes back. Only `process/` starts them. */

export type ProgramRequest = {
  /** A name that is looked for in PATH, or an absolute path; never a line for a shell, and never a file of the project. */
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** Besides the few variables every program gets; nothing else of ours is passed on. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
  /**
   * For a command line of the terminal tool or of a person: in a trusted project it finds the programs of the project too,
   * where the user's PATH names their folder. Programs of ours do without.
   */
  readonly mayUseProject?: boolean | undefined;
  /** Of the output; the head and the tail are kept. */
  readonly maxOutputBytes: number;
  /** Standard error by itself, for output that is parsed; the order of the two is lost then. */
  readonly separateErrors?: boolean | undefined;
  readonly timeoutMs?: number | undefined;
  /** Stops the program and everything it has started. */
  readonly signal?: AbortSignal | undefined;
};

/** What a stream said: all of it, or its head and its tail. */
export type ProgramOutput = { readonly head: string; readonly tail: string; readonly droppedBytes: number };

export type ProgramResult = {
  /** Null when it was ended by a signal. */
  readonly exitCode: number | null;
  readonly endedBy: string | null;
  /** Why we ended it, if we did. */
  readonly stopped: "timeout" | "cancelled" | undefined;
  /** Standard output and standard error in the order they came, as a terminal shows them. */
  readonly output: ProgramOutput;
  /** Standard error, when it was asked for by itself. */
  readonly errors?: ProgramOutput | undefined;
  readonly durationMs: number;
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
  /** Where a program of ours is found in PATH; undefined when it is not there, or in the project only. Starts nothing. */
  find(program: string): Promise<string | undefined>;
};

/** The fields that each built-in tool returns. A test compares them with real calls. */

/** One field of a result: of `metadata`, or by its path in a `ToolResult`, such as `data.results[].label`; `about` is empty when the name says it. */
export type ResultField = { readonly name: string; readonly type: string; readonly about: string };

export type BuiltInResult = {
  readonly tool: string;
  /** Which calls, where a tool has several kinds of results. */
  readonly when: string | undefined;
  /** What the text consists of. */
  readonly text: string;
  /** The text of a small call. */
  readonly example: string;
  /** Lines in brackets that may stand in the text, and why; `…` is what differs. */
  readonly notices: readonly (readonly [line: string, why: string])[];
  readonly metadata: readonly ResultField[];
};

const PATH = field("path", "string", "");
const TRUNCATED = field("truncated", "boolean", "whether something was left out");

export const BUILT_IN_RESULTS: readonly BuiltInResult[] = [
  {
    tool: "read_file",
    when: undefined,
    text: "numbered lines, at most 2,000 of them and 48 KB; a line of more than 2,000 bytes is cut and says so.",
    example: "1\texport const retries = 3;\n2\texport const wait = 1;",
    notices: [
      ["[the file is empty]", ""],
      ["[lines … to … of …, … bytes in all; continue with offset …]", ""],
      ["… [… more bytes]", "at the end of a line that was cut"],
    ],
    metadata: [PATH, field("lines", "number", "How many lines are shown."), TRUNCATED],
  },
  {
    tool: "list_files",
    when: undefined,
    text: "at most 1,000 names.",
    example: "docs/\npay.ts",
    notices: [
      ["[the folder is empty]", ""],
      ["[… more names are not shown; use glob with a narrower pattern]", ""],
    ],
    metadata: [
      field("path", "string", "The folder, as it was given; `.` is the top of the workspace."),
      field("files", "number", "How many names the folder has."),
      TRUNCATED,
    ],
  },
  {
    tool: "glob",
    when: undefined,
    text: "at most 1,000 paths, relative to the top of the workspace.",
    example: "pay.ts",
    notices: [
      ["No files match.…", "nothing was found; the rest of the line says what was left out"],
      ["[only the first … files are shown; use a narrower pattern or a path]", ""],
    ],
    metadata: [field("pattern", "string", ""), field("files", "number", "How many paths are shown."), TRUNCATED],
  },
  {
    tool: "grep",
    when: undefined,
    text: "at most `limit` matches and 48 KB; 400 bytes of a line are shown, around the match.",
    example: "pay.ts:1:export const retries = 3;",
    notices: [
      ["No matches.", ""],
      ["[only the first … matches are shown; make the pattern narrower or give a path]", ""],
      ["[… lines are longer than … bytes; only their beginning was searched]", "16 KB of a line are searched"],
      ["[… is a binary file and was not searched]", ""],
      ["[hard links not searched, because their files may lie outside: …]", ""],
      ["[the workspace is too large to be searched whole; give a path]", ""],
      ["[the pattern takes too long to search for; make it simpler, or give a path or a glob]", ""],
      ["[only the first … bytes of … were searched]", "64 MB of a file are searched"],
    ],
    metadata: [
      field("pattern", "string", ""),
      field("matches", "number", "How many lines are shown."),
      field("files", "number", "In how many files they are."),
      TRUNCATED,
    ],
  },
  {
    tool: "write_file",
    when: undefined,
    text: "one sentence: whether the file was created or replaced, and its size. The file is replaced as a whole or not at all.",
    example: "Created new.ts: 1 lines, 6 bytes.",
    notices: [],
    metadata: [
      PATH,
      field("created", "boolean", "False: the file was there and was replaced."),
      field("lines", "number", ""),
      field("bytes", "number", ""),
    ],
  },
  {
    tool: "edit_file",
    when: undefined,
    text: "one sentence, then what changed as a unified diff with two lines around it, 8 KB at most.",
    example:
      "Edited pay.ts in 1 place.\n@@ -1,2 +1,2 @@\n-export const retries = 3;\n+export const retries = 5;\n export const wait = 1;",
    notices: [["[the rest of the change is not shown]", "the diff is longer than 8 KB; the file has all of it"]],
    metadata: [PATH, field("replacements", "number", "In how many places the text was replaced.")],
  },
  {
    tool: "terminal",
    when: "With `command`",
    text: "what the command printed, 48 KB at most. An exit code other than 0, a signal or the time limit makes the result a failure: then a sentence about the ending stands in front of the output.",
    example: "hello",
    notices: [
      ["[no output]", ""],
      [
        "[… bytes of output were left out here; write it to a file to look at all of it]",
        "in the middle of long output",
      ],
    ],
    metadata: [
      field("exit_code", "number | null", "Null when a signal ended the command."),
      field("signal", "string | null", "The signal that ended it, such as `SIGTERM`."),
      field("timed_out", "boolean", "Whether it was stopped at its time limit."),
      TRUNCATED,
      field("time", "string", "How long it took, such as `1.2 seconds`."),
    ],
  },
  {
    tool: "terminal",
    when: "With `background: true`",
    text: "the id of the command, and how to read its output and how to stop it.",
    example: 'Started in the background as bg1. Use output_of: "bg1" to read its output, stop: "bg1" to end it.',
    notices: [],
    metadata: [field("id", "string", "For `output_of` and `stop`.")],
  },
  {
    tool: "terminal",
    when: "With `output_of` or `stop`",
    text: "in brackets whether the command is still running or how it ended, then its output so far. After `stop` the id is gone.",
    example: "[bg1 is still running.]\n[no output]",
    notices: [["[The command has ended.]", "it has ended with exit code 0"]],
    metadata: [
      field("id", "string", ""),
      field("running", "boolean", ""),
      field("exit_code", "number | null", "Null while it runs, and when a signal ended it."),
    ],
  },
  {
    tool: "fetch",
    when: undefined,
    text: "the address in brackets, the title of an HTML page, then its text, 48 KB at most. A status outside 200 to 299 makes the result a failure with the beginning of the page.",
    example: "[http://page.example.com:PORT/]\nTitle: Notes\n\nRead me.",
    notices: [
      ["[the page has no text]", "nothing is left without scripts and markup"],
      ["[… more bytes of the page are not shown]", ""],
      ["[only the first … bytes of the page were read]", ""],
    ],
    metadata: [
      field("url", "string", "The address that answered, after redirects."),
      field("status", "number", ""),
      field("content_type", "string", "As the server says it; may be empty."),
      field("bytes", "number", "Bytes that were read of the page."),
      TRUNCATED,
    ],
  },
];

function field(name: string, type: string, about: string): ResultField {
  return { name, type, about };
}

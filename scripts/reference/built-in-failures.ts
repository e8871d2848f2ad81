/** The failed results of the built-in tools: sentences that a model reads. A test holds them to the sources and to real calls. */

export type BuiltInFailures = {
  readonly tools: readonly string[];
  /** `…` is what differs; `why` is empty where the sentence says it. */
  readonly sentences: readonly (readonly [sentence: string, why: string])[];
};

const READERS = ["read_file", "list_files", "glob", "grep"] as const;
const WRITERS = ["write_file", "edit_file"] as const;
const IN_FOLDERS = [...READERS, ...WRITERS, "terminal"] as const;

export const BUILT_IN_FAILURES: readonly BuiltInFailures[] = [
  {
    tools: IN_FOLDERS,
    sentences: [
      [
        "… leads outside the workspace. Give a path inside it",
        "an absolute path elsewhere, `..`, or a link that leads out",
      ],
      ["No … at …. …", ""],
      ["A path cannot hold a NUL byte.", ""],
      [
        "… is not a plain path: …. Begin it with ./ if this is its name.",
        "it begins with `~` or a variable, or is written as an address",
      ],
      ["The path is too long: …", ""],
      ["… may not be read: permission denied. Continue without it.", ""],
      ["… is a link that leads nowhere. Name the file itself.", "a broken link, or links in a circle"],
    ],
  },
  {
    tools: READERS,
    sentences: [["… is not a folder. Use read_file for a file.", ""]],
  },
  {
    tools: ["read_file", "grep"],
    sentences: [
      ["… is a folder. Use list_files to see what it holds.", ""],
      [
        "… is not a regular file (a device, pipe, socket or link) and is not opened.",
        "reading it could block or leave the workspace",
      ],
    ],
  },
  {
    tools: ["read_file", "grep", ...WRITERS],
    sentences: [
      [
        "… is a hard link: the same file has another name, perhaps outside the workspace, so it is not opened.",
        "where its other name lies cannot be known",
      ],
    ],
  },
  {
    tools: ["read_file"],
    sentences: [
      ["… is a binary file of … bytes and cannot be read as text.", "it has a NUL byte near its beginning"],
      ["… has … lines; offset … is past its end.", ""],
      ["Line … of … lies too far into the file. Use grep to find what you need.", "more than 256 MB lie before it"],
    ],
  },
  {
    tools: ["glob", "grep"],
    sentences: [
      ['"…" is not a pattern inside the workspace. Try **/*.ts or src/**.', "an absolute pattern, or one with `..`"],
      ["The braces of the pattern stand for more than … patterns. Use fewer.", ""],
      ["The pattern is too large with all choices of its braces. Use a shorter one.", ""],
    ],
  },
  {
    tools: ["grep"],
    sentences: [
      [
        "… Change it, or set literal to true to search for the text as it stands.",
        "the regular expression is not one that grep knows; the sentence says what is wrong",
      ],
    ],
  },
  {
    tools: WRITERS,
    sentences: [
      [
        "… is not written: …. Ask the person to change it, if it must be changed.",
        "settings of sous, agents, git, shells and editors are protected",
      ],
      ["… names a folder. Give the path of a file.", "the path ends in a slash or is the workspace"],
      ["… is a folder. Give the path of a file.", ""],
      ["… is a link. Name the file it leads to, if that is inside.", "links are not written through"],
      ["… is not a regular file (a device, pipe or socket) and is not written.", ""],
      ["… needs … new folders; at most … are made.", ""],
      ["… may not be written: permission denied. Continue without it.", ""],
      ["A part of … is a file or a link, not a folder. Use list_files to see what is there.", ""],
      ["… or its folder is gone. Use list_files to see what is there.", ""],
      ["… was changed by another program at this moment. Read it again, then try again.", ""],
      ["… was not written: the disk is full. Nothing was changed.", ""],
      ["The text holds half of a character. Write whole characters.", ""],
      ["… would have … bytes; at most … are written at once.", ""],
    ],
  },
  {
    tools: ["edit_file"],
    sentences: [
      ["… has … bytes, and at most … can be edited.", ""],
      ["The old text is not in …. …", "the rest shows the nearest lines, or says that the new text is already there"],
      ["The old text occurs … times in …, at the lines …", "give more of the lines around it, or set `all`"],
      ["The old text occurs … times in …, and at most … are replaced at once.", ""],
      ["The old and the new text are the same, so there is nothing to do.", ""],
      ["… was not changed: the new text is already there, wherever the old text is.", ""],
      ["… is a binary file and is not edited.", ""],
      ["… is not UTF-8 text; to edit it would damage it.", ""],
    ],
  },
  {
    tools: ["terminal"],
    sentences: [
      ["The command ended with exit code …", "any code but 0; 127: a program was not found"],
      ["The command was ended by …", ""],
      [
        "The command was stopped after …, its time limit. Give it more time with timeout, or run it with background: true.",
        "",
      ],
      ["Give exactly one of command, output_of and stop.", ""],
      ["A command cannot hold a NUL byte.", ""],
      ["… is not a folder. Give a folder of the workspace as cwd.", ""],
      ["No background command has the id …. …", "an unknown id, or one of another agent"],
      ["… commands run in the background already. Stop one of them first.", ""],
    ],
  },
  {
    tools: ["fetch"],
    sentences: [
      ["… answered with status …", ""],
      ["… is not fetched: …", "not an http or https address, or one that is not public"],
      [
        "… is not fetched: only public addresses and the ports … may be reached.",
        "an address of this machine or its network, or another port",
      ],
      ["… has no address. Check the name.", ""],
      [
        "… could not be reached (…). Check the address, or continue without it.",
        "the connection failed; the code is in brackets",
      ],
      ["… did not answer in full within … ms. Try again later.", ""],
      ["…, not text, and was not read.", "a picture, an archive and the like"],
      ["… is a binary file of … bytes and cannot be read as text.", "it says that it is text and is not"],
      ["… is packed as …, which is not understood.", "a content encoding other than gzip, deflate, br"],
      ["… redirects more than … times. Look for another address.", ""],
      ["… redirects to an address that cannot be read.", ""],
      ["… redirects to …, which is not encrypted. It was not followed.", ""],
      ["… redirects to another host. Call fetch with … to continue there.", "no rule allows that host"],
      ["… redirects to …, which a rule of the user does not allow: …. It was not followed.", "a deny rule"],
    ],
  },
];

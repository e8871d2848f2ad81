/** Calls whose target is changed between the question and the answer: links, other files, other contents. */

import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

type Call = readonly [toolName: "write_file" | "edit_file" | "terminal", input: Readonly<Record<string, string>>];

/** `place` is the folder of the variant, and the paths of a call are relative to it until `callIn` puts it before them. */
export type MovedTarget = {
  readonly name: string;
  /** A name that ends in `/` is an empty folder; a value that begins with `→` is a link. */
  readonly files: Readonly<Record<string, string>>;
  readonly call: Call;
  /** The file of a command that it writes; undefined for a tool that writes by itself. */
  readonly writes?: string;
  readonly move: (place: string) => void;
  readonly back: (place: string) => void;
};

type Move = Pick<MovedTarget, "name" | "files" | "move" | "back"> & { readonly path: string };

const LINK = "→";

export function makeFiles(place: string, files: MovedTarget["files"]): void {
  for (const [name, content] of Object.entries(files)) {
    const file = join(place, name);
    mkdirSync(name.endsWith("/") ? file : dirname(file), { recursive: true });
    if (content.startsWith(LINK)) symlinkSync(content.slice(1), file);
    else if (!name.endsWith("/")) writeFileSync(file, content);
  }
}

/** What was there is put aside, and a link takes its name. */
function becomesLink(name: string, to: string): Pick<Move, "move" | "back"> {
  return {
    move(place) {
      renameSync(join(place, name), join(place, `${name}.aside`));
      symlinkSync(to, join(place, name));
    },
    back(place) {
      rmSync(join(place, name));
      renameSync(join(place, `${name}.aside`), join(place, name));
    },
  };
}

function isPointed(name: string, to: string, before: string): Pick<Move, "move" | "back"> {
  const point = (place: string, target: string): void => {
    rmSync(join(place, name));
    symlinkSync(target, join(place, name));
  };
  return { move: (place) => point(place, to), back: (place) => point(place, before) };
}

/** The file that is asked about, and the one that must not be hit. */
const FILES = { "docs/prod.yaml": "n: 1\n", "deploy/prod.yaml": "n: 1\n" };
const PATH = "docs/prod.yaml";

const LINKS: readonly Move[] = [
  { name: "its folder becomes a link", files: FILES, path: PATH, ...becomesLink("docs", "deploy") },
  {
    name: "its folder becomes a link with ./ in it",
    files: FILES,
    path: `./docs/.//prod.yaml`,
    ...becomesLink("docs", "./deploy/."),
  },
  {
    name: "its folder becomes a link, .. in the path",
    files: FILES,
    path: `docs/../docs/prod.yaml`,
    ...becomesLink("docs", "deploy"),
  },
  { name: "the file becomes a link", files: FILES, path: PATH, ...becomesLink(PATH, "../deploy/prod.yaml") },
  { name: "the file becomes a link to none", files: FILES, path: PATH, ...becomesLink(PATH, "../deploy/new.yaml") },
  {
    name: "the folder two levels up becomes a link",
    files: { "a/b/prod.yaml": "n: 1\n", "z/b/prod.yaml": "n: 1\n" },
    path: "a/b/prod.yaml",
    ...becomesLink("a", "z"),
  },
  {
    name: "a link is pointed elsewhere",
    files: { ...FILES, now: `${LINK}docs` },
    path: "now/prod.yaml",
    ...isPointed("now", "deploy", "docs"),
  },
  {
    name: "a link behind a link is pointed elsewhere",
    files: { ...FILES, now: `${LINK}later`, later: `${LINK}docs` },
    path: "now/prod.yaml",
    ...isPointed("later", "deploy", "docs"),
  },
  {
    name: "a link becomes a folder",
    files: { ...FILES, now: `${LINK}docs`, "other/prod.yaml": "n: 1\n" },
    path: "now/prod.yaml",
    move(place) {
      rmSync(join(place, "now"));
      renameSync(join(place, "other"), join(place, "now"));
    },
    back(place) {
      renameSync(join(place, "now"), join(place, "other"));
      symlinkSync("docs", join(place, "now"));
    },
  },
  {
    name: "a composed name becomes a link to the decomposed one",
    files: { "caf\u00e9/prod.yaml": "n: 1\n", "cafe\u0301/prod.yaml": "n: 1\n" },
    path: "caf\u00e9/prod.yaml",
    ...becomesLink("caf\u00e9", "cafe\u0301"),
  },
  {
    name: "a name becomes a link to the one in capitals",
    files: { ...FILES, "DOCS/prod.yaml": "n: 1\n" },
    path: PATH,
    ...becomesLink("docs", "DOCS"),
  },
  {
    name: "a name becomes a link to one that looks the same",
    files: { ...FILES, "d\u043ecs/prod.yaml": "n: 1\n" },
    path: PATH,
    ...becomesLink("docs", "d\u043ecs"),
  },
];

/** Moves of a file that is not there yet. */
const NEW: readonly Move[] = [
  {
    name: "a folder that was missing appears as a link",
    files: { "deploy/": "" },
    path: "docs/new/prod.yaml",
    move: (place) => symlinkSync("deploy", join(place, "docs")),
    back: (place) => rmSync(join(place, "docs")),
  },
  {
    name: "a file that was missing appears as a link",
    files: { "docs/": "", "deploy/prod.yaml": "n: 1\n" },
    path: PATH,
    move: (place) => symlinkSync("../deploy/prod.yaml", join(place, PATH)),
    back: (place) => rmSync(join(place, PATH)),
  },
];

/** The same path with another content. */
const CONTENTS: readonly Move[] = [
  content("the line is another one", "test: 1\nprod: 2\n", "test: 2\nprod: 1\n"),
  content("a line comes before it", "n: 1\n", "prod: true\nn: 1\n"),
  content("only a blank is added at the end", "n: 1\n", "n: 1\n\n"),
  content("only the line ends are others", "a\nn: 1\n", "a\r\nn: 1\r\n"),
  {
    name: "another file of the same size and time takes its place",
    files: { "docs/prod.yaml": "a\nn: 1\n", "other.yaml": "b\nn: 1\n" },
    path: PATH,
    ...swapped("docs/prod.yaml", "other.yaml"),
  },
  {
    name: "the folder is replaced by one with another file",
    files: { "docs/prod.yaml": "a\nn: 1\n", "other/prod.yaml": "b\nn: 1\n" },
    path: PATH,
    ...swapped("docs", "other"),
  },
  {
    name: "the file disappears",
    files: FILES,
    path: PATH,
    move: (place) => renameSync(join(place, PATH), join(place, "aside")),
    back: (place) => renameSync(join(place, "aside"), join(place, PATH)),
  },
];

function swapped(one: string, other: string): Pick<Move, "move" | "back"> {
  const swap = (place: string): void => {
    renameSync(join(place, one), join(place, "aside"));
    renameSync(join(place, other), join(place, one));
    renameSync(join(place, "aside"), join(place, other));
  };
  return { move: swap, back: swap };
}

function content(name: string, before: string, after: string): Move {
  const put = (text: string) => (place: string) => writeFileSync(join(place, PATH), text);
  return { name, files: { [PATH]: before }, path: PATH, move: put(after), back: put(before) };
}

/** Commands, and the file that each writes. */
const COMMANDS: readonly (readonly [command: string, cwd?: string])[] = [
  ["echo x > docs/prod.yaml"],
  ["echo x >> docs/prod.yaml"],
  ["ls missing 2> 'docs/prod.yaml'"],
  ["echo x &> ./docs/prod.yaml"],
  ["cd docs && echo x > prod.yaml"],
  ["sort -o docs/prod.yaml < docs/prod.yaml"],
  ["echo x | tee docs/prod.yaml"],
  ["cp values.yaml docs/prod.yaml"],
  ["mv values.yaml docs"],
  ["dd if=values.yaml of=docs/prod.yaml"],
  ["cd . && cp values.yaml docs/"],
  ["node build.js --out=docs"],
  ['python3 -c \'open("docs/prod.yaml", "w")\''],
  ["touch docs/../docs/prod.yaml"],
  ["make install", "docs"],
  ["echo x > prod.yaml", "./docs"],
  // Words that the shell replaces, and options with their value attached.
  ...["d*s/prod.yaml", "doc?/prod.yaml", "[d]ocs/prod.yaml", "./*ocs/*.yaml", "*/prod.yaml"].map((path): [string] => [
    `cp values.yaml ${path}`,
  ]),
  ...[
    "cp -tdocs values.yaml",
    "sort -odocs/prod.yaml values.yaml",
    "tar -xzCdocs -f a.tgz",
    "mv -ft./docs values.yaml",
  ].map((command): [string] => [command]),
  ...["curl -sodocs/prod.yaml localhost", "node x.js -o=a,docs/prod.yaml", "rsync values.yaml me@docs/prod.yaml"].map(
    (command): [string] => [command],
  ),
  // Programs that work in a folder of their own, and text that is not understood.
  ...["env -C docs touch prod.yaml", "make -C docs install", "git -C ./docs apply x", "npm --prefix=docs ci"].map(
    (command): [string] => [command],
  ),
  ...[
    "(cd docs; touch prod.yaml)",
    "bash -c 'touch docs/prod.yaml'",
    "touch do'c's/prod.yaml",
    "touch do\\cs/prod.yaml",
  ].map((command): [string] => [command]),
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is for the shell.
  ["touch ${X:-docs}/prod.yaml"],
  ["for f in docs; do touch $f/prod.yaml; done"],
];

function byCommand([command, cwd]: (typeof COMMANDS)[number]): MovedTarget {
  const where = cwd === undefined ? "" : ` in ${cwd}`;
  return {
    name: `${command}${where}: docs becomes a link`,
    files: { ...FILES, "values.yaml": "n: 1\n" },
    call: ["terminal", cwd === undefined ? { command } : { command, cwd }],
    writes: PATH,
    ...becomesLink("docs", "deploy"),
  };
}

function byTool(toolName: "write_file" | "edit_file", { name, path, ...move }: Move): MovedTarget {
  const input = toolName === "write_file" ? { path, content: "n: 2\n" } : { path, old: "1", new: "2" };
  return { name: `${toolName}: ${name}`, call: [toolName, input], ...move };
}

export const MOVED_FILES: readonly MovedTarget[] = [
  ...[...LINKS, ...NEW].map((move) => byTool("write_file", move)),
  ...[...LINKS, ...CONTENTS].map((move) => byTool("edit_file", move)),
];

export const MOVED_COMMANDS: readonly MovedTarget[] = COMMANDS.map(byCommand);

/** The call with its paths below `place`, which is relative to the workspace. */
export function callIn(place: string, [toolName, input]: Call): [toolName: string, input: Record<string, string>] {
  if (toolName === "terminal") return [toolName, { ...input, cwd: `${place}/${input.cwd ?? "."}` }];
  return [toolName, { ...input, path: `${place}/${input.path}` }];
}

/** The plainest of them. */
export const FOLDER_BECOMES_LINK: MovedTarget = byTool("write_file", {
  name: "its folder becomes a link",
  files: FILES,
  path: PATH,
  ...becomesLink("docs", "deploy"),
});

/** The rules of the star in ARCHITECTURE.md, as a pure function from a source file to the sentences it breaks. */

import { posix } from "node:path";
import { parseSync, Visitor } from "rolldown/utils";

export type SourceFile = {
  /** Relative to `src/`, with forward slashes. */
  path: string;
  text: string;
};

/**
 * The rooms of `src/` and their folders. `core` and `machine` have no folders: each is one. `rerun` stands with the doors, because a
 * rerun needs the runtime and the recordings; the workers are in `runtime/tree/placing/`. The server of the viewer will be `bridges/server`.
 */
export const ROOMS: Readonly<Record<string, readonly string[]>> = {
  runtime: ["loop", "tree", "subagents", "budget", "rights", "model", "events", "schema", "secrets"],
  storage: ["store", "replay"],
  bridges: ["acp", "mcp", "telemetry"],
  app: ["cli", "config", "tools", "process"],
};

/** The one folder that may import each third-party package or part of Node. A name ending in `/` stands for a scope. */
const OWNER: Record<string, string> = {
  "@ai-sdk/": "runtime/model",
  "@agentclientprotocol/": "bridges/acp",
  "@modelcontextprotocol/": "bridges/mcp",
  "@opentelemetry/": "bridges/telemetry",
  "node:child_process": "app/process",
  "node:sqlite": "storage/store",
  pg: "storage/store",
  re2js: "core",
  yaml: "app/config",
};

/**
 * Exceptions by name: secrets are hidden where texts enter, addresses and private files have one set of rules, the clock of
 * the machine is a default at the doors, and a cassette holds messages as stored events do.
 */
const SHARED: Record<string, readonly string[]> = {
  "runtime/secrets": ["app/config", "app/tools"],
  machine: ["app/config", "app/process", "app/tools", "bridges/mcp"],
  "machine/host.ts": ["app/process", "storage/store", "testing", "engine"],
  "storage/store/kind-schemas.ts": ["storage/replay"],
};

/** Beside the doors: what stands on two rooms. */
const ABOVE_ROOMS: Record<string, readonly string[]> = {
  rerun: ["runtime", "storage"],
  engine: ["runtime", "storage"],
};

/** Folders without I/O, clock or randomness. */
const PURE: ReadonlySet<string> = new Set(["core", "runtime/secrets"]);

/** Entry points of the package. Code inside imports the files behind them. */
const DOORS = new Set([
  "index.ts",
  "embed.ts",
  "replay.ts",
  "testing.ts",
  "store.ts",
  "sqlite.ts",
  "postgres.ts",
  "acp.ts",
  "mcp.ts",
  "otel.ts",
  "engine.ts",
  "tools.ts",
]);
const MANIFEST = "../package.json";

/** What a pure folder may not touch: clocks, randomness, timers and anything that leaves the process. */
const IMPURE_GLOBALS = new Set([
  "setTimeout",
  "setInterval",
  "setImmediate",
  "clearTimeout",
  "clearInterval",
  "clearImmediate",
  "performance",
  "crypto",
  "fetch",
  "process",
  "console",
  "require",
]);
const IMPURE_MEMBERS = new Set(["Date.now", "Math.random", "AbortSignal.timeout", "globalThis.*"]);

const MAX_LINES = 300;

/** One sentence for each rule that the file breaks. */
export function brokenRules(file: SourceFile): string[] {
  const facts = readFacts(file);
  const folder = folderOf(file.path);
  return [
    ...facts.imports.flatMap(({ specifier }) => brokenImport(file.path, specifier)),
    ...(PURE.has(folder) ? facts.impure.map((name) => `${folder}/ is pure, it may not use ${name}`) : []),
    ...(facts.lines > MAX_LINES ? [`${facts.lines} lines; past ${MAX_LINES} it is more than one thing`] : []),
  ].map((rule) => `${file.path}: ${rule}`);
}

/**
 * Every loop of files that need each other to load, as `a.ts → b.ts → a.ts`. Lazy imports do not count, and types only
 * when they are asked for.
 */
export function importCycles(files: readonly SourceFile[], { types = false } = {}): string[] {
  const needs = new Map(files.map((file) => [file.path, importedBy(file, types)]));
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (path: string, way: readonly string[]): void => {
    if (way.includes(path)) cycles.push([...way.slice(way.indexOf(path)), path].join(" → "));
    if (done.has(path) || way.includes(path)) return;
    for (const next of needs.get(path) ?? []) visit(next, [...way, path]);
    done.add(path);
  };
  for (const path of needs.keys()) visit(path, []);
  return cycles;
}

function brokenImport(from: string, specifier: string): string[] {
  const folder = folderOf(from);
  if (folder === "" && !specifier.startsWith(".")) return [];
  if (specifier.startsWith(".")) return brokenRelativeImport(from, specifier);
  if (specifier === "zod" || specifier.startsWith("zod/")) return [];
  const owner = ownerOf(specifier);
  if (folder === "core" && owner !== "core") return [`core/ imports nothing but zod and re2js, not ${specifier}`];
  if (owner === folder || (owner === undefined && specifier.startsWith("node:"))) return [];
  return [owner === undefined ? `${specifier} has no owner yet` : `only ${owner}/ may import ${specifier}`];
}

function brokenRelativeImport(from: string, specifier: string): string[] {
  const to = posix.join(posix.dirname(from), specifier);
  const [here, there] = [folderOf(from), folderOf(to)];
  if (there === here || there === "core" || (SHARED[to] ?? SHARED[there])?.includes(here)) return [];
  // Files beside the rooms are entry points, or put the parts together.
  if (here === "") return [];
  const rooms = ABOVE_ROOMS[here];
  if (rooms !== undefined) {
    return rooms.includes(roomOf(there)) ? [] : [`${here}/ may import ${rooms.join("/, ")}/ and core/, not ${to}`];
  }
  if (here === "app/cli") {
    const isAbove = to.startsWith("..") && to !== MANIFEST;
    return DOORS.has(to) || isAbove ? [`${here}/ may not import ${to}`] : [];
  }
  if (here === "runtime/tree" && roomOf(there) === "runtime") return [];
  return [`${here}/ may import only itself${here === "core" ? "" : " and core/"}, not ${to}`];
}

/** The folder of a path below `src/`, with its room: `runtime/loop`, `core`; empty for a file beside the rooms. */
export function folderOf(path: string): string {
  const [room = "", ...rest] = path.split("/");
  if (rest.length === 0 || room === "..") return "";
  return room in ROOMS ? `${room}/${rest[0]}` : room;
}

function roomOf(folder: string): string {
  return folder.split("/")[0] ?? "";
}

function ownerOf(specifier: string): string | undefined {
  const owned = Object.keys(OWNER).find((name) =>
    name.endsWith("/") ? specifier.startsWith(name) : specifier === name || specifier.startsWith(`${name}/`),
  );
  return owned === undefined ? undefined : OWNER[owned];
}

/** Files of `core/` that only one room uses, so that it could have them. A file that another file of `core/` needs may stay. */
export function usedByOneRoom(files: readonly SourceFile[]): string[] {
  const users = new Map<string, Set<string>>();
  for (const file of files) {
    for (const to of importedBy(file, true)) {
      const rooms = users.get(to) ?? new Set();
      users.set(to, rooms.add(roomOf(folderOf(file.path))));
    }
  }
  return [...users].flatMap(([path, rooms]) => {
    rooms.delete("");
    return folderOf(path) === "core" && rooms.size === 1 && !rooms.has("core") ? [path] : [];
  });
}

/** The lines of a room, and how many of its imports lead to each other room; `core` and `machine` count as rooms. */
export function arrowsOf(room: string, files: readonly SourceFile[]): { lines: number; to: Record<string, number> } {
  const own = files.filter(({ path }) => path.startsWith(`${room}/`));
  const to: Record<string, number> = {};
  for (const file of own) {
    for (const { specifier } of readFacts(file).imports.filter((each) => each.specifier.startsWith("."))) {
      const there = roomOf(folderOf(posix.join(posix.dirname(file.path), specifier)));
      if (there !== room && there !== "") to[there] = (to[there] ?? 0) + 1;
    }
  }
  return { lines: own.reduce((sum, file) => sum + readFacts(file).lines, 0), to };
}

function importedBy({ path, text }: SourceFile, types: boolean): string[] {
  return readFacts({ path, text })
    .imports.filter(
      ({ specifier, when }) => specifier.startsWith(".") && (when === "load" || (types && when === "types")),
    )
    .map(({ specifier }) => posix.join(posix.dirname(path), specifier));
}

type Import = { specifier: string; when: "load" | "later" | "types" };
type Facts = { imports: Import[]; impure: string[]; lines: number };

const factsByText = new Map<string, Facts>();

/** Several rules ask about each file: it is parsed once. */
function readFacts(file: SourceFile): Facts {
  const key = `${file.path}\n${file.text}`;
  const facts = factsByText.get(key) ?? factsOf(file);
  factsByText.set(key, facts);
  return facts;
}

function factsOf({ path, text }: SourceFile): Facts {
  const { program, errors } = parseSync(path, text);
  if (errors[0] !== undefined) throw new Error(`${path} cannot be parsed: ${errors[0].message}`);
  const imports: Import[] = [];
  const impure: string[] = [];
  new Visitor({
    ImportDeclaration: (node) => add(node.source.value, node.importKind === "type"),
    ExportAllDeclaration: (node) => add(node.source.value, node.exportKind === "type"),
    ExportNamedDeclaration: (node) => node.source && add(node.source.value, node.exportKind === "type"),
    TSImportType: (node) => add(node.source.value, true),
    ImportExpression: (node) => {
      // A computed specifier cannot be checked, so it counts as a package without an owner.
      const specifier = node.source.type === "Literal" ? String(node.source.value) : "(computed)";
      imports.push({ specifier, when: "later" });
    },
    MemberExpression: (node) => {
      if (node.object.type !== "Identifier" || node.property.type !== "Identifier") return;
      const name = `${node.object.name}.${node.property.name}`;
      if (IMPURE_MEMBERS.has(name) || IMPURE_MEMBERS.has(`${node.object.name}.*`)) impure.push(name);
      if (IMPURE_GLOBALS.has(node.object.name)) impure.push(name);
    },
    CallExpression: (node) => {
      if (node.callee.type === "Identifier" && IMPURE_GLOBALS.has(node.callee.name)) impure.push(node.callee.name);
    },
    NewExpression: (node) => {
      const isClock = node.callee.type === "Identifier" && node.callee.name === "Date" && node.arguments.length === 0;
      if (isClock) impure.push("new Date()");
    },
  }).visit(program);
  return { imports, impure, lines: text.trimEnd().split("\n").length };

  function add(specifier: string, isType: boolean): void {
    imports.push({ specifier, when: isType ? "types" : "load" });
  }
}

/**
 * R14: a repository whose files want to be read or run. Whoever opens one of its pipes waits for ever, whoever runs one of
 * its programs leaves a marker, and whoever follows its settings talks to a canary server.
 */

import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export type HostileRepository = Disposable & {
  readonly folder: string;
  /** A home of its own, with nothing in it. */
  readonly home: string;
  /** A script for the model, outside the repository. */
  readonly script: string;
  /** Programs that ran. */
  markers(): string[];
};

/** What would be read or run at the start by a program that trusts too soon. As a pipe each hangs whoever opens it. */
const FILES: readonly string[] = [
  ".sous/config.yaml",
  ".sous/agents/evil.md",
  ".claude/agents/evil.md",
  ".claude/settings.json",
  ".gemini/agents/evil.md",
  ".opencode/agent/evil.md",
  ".opencode/agents/evil.md",
  "AGENTS.md",
  "CLAUDE.md",
  ".mcp.json",
  ".env",
  ".envrc",
  ".npmrc",
  ".ripgreprc",
  ".gitignore",
  ".gitattributes",
  ".git/config",
  ".git/HEAD",
  ".git/commondir",
  ".git/hooks/post-checkout",
  ".bashrc",
  ".node_repl_history",
  "package.json",
  "node_modules/.bin/node",
];

/** Programs that a careless PATH or a careless helper would start. */
const PROGRAMS: readonly string[] = ["git", "rg", "bash", "sh", "node", "npm", "sous"];

/** `asPipes`: every file hangs whoever opens it. Otherwise they are ordinary, for a tracer to see who opens them. */
export function hostileRepository({ asPipes }: { asPipes: boolean }): HostileRepository {
  const place = mkdtempSync(join(tmpdir(), "sous-hostile-"));
  const folder = join(place, "repository");
  const home = join(place, "home");
  const ran = join(place, "ran");
  for (const each of [folder, home, ran]) mkdirSync(each);
  for (const file of FILES) {
    const path = join(folder, file);
    mkdirSync(dirname(path), { recursive: true });
    if (!asPipes) writeFileSync(path, `[core]\n\tfsmonitor = touch ${join(ran, "fsmonitor")}\n`);
  }
  if (asPipes) execFileSync("mkfifo", FILES, { cwd: folder });
  for (const program of PROGRAMS) {
    const path = join(folder, program);
    writeFileSync(path, `#!/bin/sh\ntouch ${join(ran, program)}\n`);
    chmodSync(path, 0o755);
  }
  const script = join(place, "answers.json");
  writeFileSync(script, JSON.stringify({ sous: [{ text: "Nothing was read." }] }));
  return {
    folder,
    home,
    script,
    markers: () => [...PROGRAMS, "fsmonitor"].filter((name) => existsSync(join(ran, name))),
    [Symbol.dispose]: () => rmSync(place, { recursive: true, force: true, maxRetries: 5 }),
  };
}

/** The ways to begin in a folder that nobody has trusted. */
export function beginnings(script: string): readonly (readonly string[])[] {
  const model = ["--model", `script/${script}`];
  return [
    ["run", "Hello", ...model],
    ["-p", "Hello", ...model, "--json"],
    ["chat", ...model],
    ["agents", "list"],
    ["config", "explain"],
    ["config", "check"],
    ["doctor"],
    ["replay", "--list"],
    ["demo", "--help"],
    ["--version"],
  ];
}

export type HostilePackage = Disposable & {
  readonly folder: string;
  readonly home: string;
  /** A script of npm: the model looks around and asks for `git status`, which is allowed. */
  readonly script: string;
  markers(): string[];
};

/** What npm itself starts is not among them: that is npm's own affair. */
const BESIDE_NPM: readonly string[] = ["rg", "git", "bash", "cat", "env"];

/** A package in a repository, and in every `node_modules/.bin` around it programs that leave a marker. */
export function hostilePackage(command: readonly string[]): HostilePackage {
  const place = mkdtempSync(join(tmpdir(), "sous-hostile-"));
  const folder = join(place, "repository/packages/one");
  const home = join(place, "home");
  const ran = join(place, "ran");
  for (const each of [folder, home, ran, join(place, "repository/.git")]) mkdirSync(each, { recursive: true });
  for (const above of ["repository/packages/one", "repository/packages", "repository", "."]) {
    const bin = join(place, above, "node_modules/.bin");
    mkdirSync(bin, { recursive: true });
    for (const name of BESIDE_NPM)
      writeFileSync(join(bin, name), `#!/bin/sh\n: > '${join(ran, name)}'\n`, { mode: 0o755 });
  }
  writeFileSync(join(folder, "file.txt"), "needle\n");
  const calls = [
    { tool: "glob", input: { pattern: "**/*.txt" } },
    { tool: "grep", input: { pattern: "needle" } },
    { tool: "read_file", input: { path: "file.txt" } },
    { tool: "terminal", input: { command: "git status --short" } },
  ];
  const answers = join(place, "answers.json");
  writeFileSync(answers, JSON.stringify({ sous: [{ calls }, { text: "Looked." }] }));
  const model = ["--model", `script/${answers}`, "--allow", "terminal(git status*)", "--ephemeral"];
  const words = [...command, "run", "Look", ...model].map((word) => `'${word}'`);
  const script = `${words.join(" ")} < /dev/null`;
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "one", scripts: { look: script } }));
  return {
    folder,
    home,
    script,
    markers: () => BESIDE_NPM.filter((name) => existsSync(join(ran, name))),
    [Symbol.dispose]: () => rmSync(place, { recursive: true, force: true, maxRetries: 5 }),
  };
}

/** With the repository in front of everything else in PATH. */
export function hostileEnvironment({ folder, home }: HostileRepository): Record<string, string> {
  return { HOME: home, PATH: `${folder}:${folder}/node_modules/.bin:/usr/bin:/bin`, TERM: "dumb" };
}

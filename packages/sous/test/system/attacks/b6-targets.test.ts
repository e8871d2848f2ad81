/** B6.4: what an honest external agent may do with files, judged by what it was answered and by what is on disk. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { fileURLToPath } from "node:url";
import { compiled } from "../../support/app/cli/sous-process.ts";
import { type Command, calling, type Flags, openCommand, saying } from "../../support/attacks/whole-command.ts";
import * as reads from "./b6-read-forms.ts";
import * as writing from "./b6-write-forms.ts";
import type { Done, Task } from "./honest-agent.ts";

const AGENT = fileURLToPath(import.meta.resolve("./honest-agent.ts"));
const DELEGATION = "subagent_delegate";

/** What the person has allowed before. Nobody can be asked. */
const MODES: Record<string, { flags: Flags; writes: boolean }> = {
  "without any rule": { flags: { allow: [DELEGATION] }, writes: false },
  "with rules for all reads and writes": {
    flags: { allow: [DELEGATION, "read_file", "write_file", "grep", "glob"] },
    writes: true,
  },
  "with --yes": { flags: { yes: true }, writes: true },
};

for (const [mode, { flags, writes }] of Object.entries(MODES)) {
  suite(`B6.4: an external agent that asks, ${mode}`, () => {
    let command: Command;
    let attempts: Record<"reads" | "writes" | "fields" | "plainReads" | "plainWrites", Task[]>;
    let done: Map<string, Done>;
    let changed: string[];

    before(async () => {
      command = await openCommand();
      const { path } = command;
      reads.layOut(path);
      command.write("repository/team.yaml", configuration(path));
      attempts = {
        reads: reads.readsOutside(path),
        writes: writing.writesToGuarded(path),
        fields: writing.unknownFields(path),
        plainReads: reads.ordinaryReads(path),
        plainWrites: writing.ordinaryWrites(path),
      };
      writeFileSync(join(path, "tasks.json"), JSON.stringify(Object.values(attempts).flat()));
      const earlier = contents(path);
      const script = { sous: [calling([DELEGATION, { task: "Go.", description: "files" }]), saying("Done.")] };
      const { events } = await command.run(script, { ...flags, config: join(command.root, "team.yaml") });
      const ends = events.filter((event) => event.type === "tool-call-end");
      assert.deepEqual(
        ends.map(({ isError }) => isError),
        [false],
        ends[0]?.output,
      );
      const all: Done[] = JSON.parse(readFileSync(join(path, "results.json"), "utf8"));
      done = new Map(all.map((each) => [each.name, each]));
      const now = contents(path);
      changed = [...now].filter(([name, text]) => earlier.get(name) !== text).map(([name]) => name);
      changed.push(...[...earlier.keys()].filter((name) => !now.has(name)));
    });
    after(() => command[Symbol.asyncDispose]());

    const allowed = (tasks: Task[]) => tasks.filter(({ name }) => done.get(name)?.isAllowed).map(({ name }) => name);
    const refused = (tasks: Task[]) => tasks.filter(({ name }) => !done.get(name)?.isAllowed).map(({ name }) => name);

    test(`B6.4: an external agent gets no yes to read a file outside, ${mode}`, () => {
      assert.deepEqual(allowed(attempts.reads), []);
      assert.ok([...done.values()].every(({ text }) => !text.includes(reads.CANARY)));
    });

    test(`B6.4: an external agent gets no yes to write, move or delete a guarded file, ${mode}`, () =>
      assert.deepEqual(allowed(attempts.writes), []));

    test(`B6.4: an external agent gets no yes with a field that is not known, ${mode}`, () =>
      assert.deepEqual(allowed(attempts.fields), []));

    test(`B6.4: an external agent gets a yes to read ordinary files of the workspace, ${mode}`, () =>
      assert.deepEqual(refused(attempts.plainReads), []));

    test(`B6.4: an external agent gets ${writes ? "a yes" : "no yes"} to write ordinary files of the workspace, ${mode}`, () =>
      assert.deepEqual(writes ? refused(attempts.plainWrites) : allowed(attempts.plainWrites), []));

    test(`B4.5: an external agent changes no file that is not an ordinary one of the workspace, ${mode}`, () => {
      const own = ["answers.json", "results.json"];
      assert.deepEqual(
        changed.filter((name) => !own.includes(name)),
        writes ? ["repository/src/new.txt"] : [],
      );
    });
  });
}

test("B6.4: at least 20 forms of each kind are tried", () => {
  const counts = [reads.readsOutside, writing.writesToGuarded, writing.unknownFields].map(
    (make) => make("/tree").length,
  );
  assert.ok(Math.min(...counts) >= 20, counts.join());
});

function configuration(path: string): string {
  const server = {
    command: process.execPath,
    args: [AGENT, join(path, "tasks.json"), join(path, "results.json")],
    env: { NODE_COMPILE_CACHE: compiled },
  };
  return JSON.stringify({ agent_servers: { honest: server } });
}

/** Every file and link below a folder with what it holds. */
function contents(path: string, below = ""): Map<string, string> {
  const entries = readdirSync(join(path, below), { withFileTypes: true });
  return new Map(
    entries.flatMap((entry): [string, string][] => {
      const name = join(below, entry.name);
      if (entry.isDirectory()) return [...contents(path, name)];
      if (entry.isSymbolicLink()) return [[name, `-> ${readlinkSync(join(path, name))}`]];
      return [[name, readFileSync(join(path, name), "utf8")]];
    }),
  );
}

/**
 * Changes that no test can notice, because the program does the same with them. Each is known by the text of the line it
 * begins in, so that the list stays true when lines move. A change that a test could notice does not belong here.
 */

import type { Mutant } from "../figures/mutation/sites.ts";

export type Equivalent = {
  /** Relative to `src/`. */
  readonly path: string;
  /** The line as it reads without the change, without the spaces around it. */
  readonly line: string;
  readonly before: string;
  readonly after: string;
  readonly why: string;
};

export const EQUIVALENTS: readonly Equivalent[] = [
  {
    path: "app/cli/view/tree-lines.ts",
    line: "const room = columns - status - metrics.reduce((sum, width) => sum + width + (width > 0 ? 2 : 0), 0) - 4;",
    before: "0",
    after: "1",
    why: "a figure is empty or has a number and a unit, so none is one column wide",
  },
  {
    path: "core/truncate.ts",
    line: "while (index < text.length) {",
    before: "index < text.length",
    after: "index <= text.length",
    why: "only asked of a text that does not fit, so it ends before the end of the text",
  },
  {
    path: "core/truncate.ts",
    line: 'if (text.charCodeAt(index - 1) < 0x80 && text.charCodeAt(index) < 0x80 && text[index] !== "\\n") return index;',
    before: "0x80",
    after: "129",
    why: "U+0080 is a control character: there is a boundary on both sides of it, which the longer way finds too",
  },
  {
    path: "storage/store/postgres/budget.ts",
    line: "} finally {",
    before: "{\n      if (last.get(name) === step) last.delete(name);\n    }",
    after: "{}",
    why: "the next step waits for one that has ended, which takes no time; one small entry per budget stays",
  },
  ...undisposed("the process ends with the command, and nothing waits to be written", [
    ["app/cli/replay/diff.ts", 'await using store = await openRuns(file, "read");'],
    ["app/cli/replay/export.ts", 'await using store = await openRuns(file, "read");'],
    ["app/cli/replay/list.ts", 'await using store = await openRuns(file, "read");'],
    ["app/cli/replay/show.ts", 'await using store = await openRuns(file, "read");'],
    ["app/cli/replay/show.ts", 'await using store = await openRuns(replay.file, "read");'],
  ]),
  ...undisposed("the process ends with the command, and its signal handlers with it", [
    ["app/cli/commands/chat.ts", "using interrupts = catchInterrupts({ wrapsUp: true });"],
    ["app/cli/commands/demo.ts", "using interrupt = catchInterrupts();"],
    ["app/cli/replay/show.ts", "using interrupt = catchInterrupts();"],
    ["app/cli/commands/resume.ts", "using interrupt = catchInterrupts();"],
    ["app/cli/commands/run.ts", "using interrupts = catchInterrupts({ wrapsUp: true, earlier });"],
  ]),
  ...undisposed("exitSoon ends the process, whatever timers it has", [
    ["app/cli/commands/run.ts", "using patience = patienceAfter(interrupts.signal);"],
  ]),
  ...[
    "await refuseIfElsewhere(workspace, handle, real, path);",
    "await refuseIfElsewhere(workspace, handle, real, path)",
  ].map((before) => ({
    path: "app/tools/workspace.ts",
    line: "if (!isNamed) await refuseIfElsewhere(workspace, handle, real, path);",
    before,
    after: before.endsWith(";") ? ";" : "(refuseIfElsewhere(workspace, handle, real, path))",
    why: "runs only where the kernel does not name open files; the tests run on Linux",
  })),
  {
    path: "app/cli/commands/run.ts",
    line: "await using application = await openUnlessStopped(opening, stop);",
    before: "await using",
    after: "const",
    why: "the process ends next, which closes the database, and the guard of its programs ends them",
  },
  {
    path: "app/cli/commands/resume.ts",
    line: 'await using store = await openRuns(await findDatabase(typed, context), "write");',
    before: "await using",
    after: "const",
    why: "the process ends next, which closes the database, and the guard of its programs ends them",
  },
  {
    path: "app/cli/commands/demo.ts",
    line: "await using store = await openForRun(storageOf(flags.storage, configuration));",
    before: "await using",
    after: "const",
    why: "the process ends next, which closes the database, and the guard of its programs ends them",
  },
  {
    path: "app/cli/commands/chat.ts",
    line: "await using application = opened;",
    before: "await using",
    after: "const",
    why: "the process ends next, which closes the database, and the guard of its programs ends them",
  },
  {
    path: "app/cli/commands/chat.ts",
    line: "await using application = await openUnlessInterrupted(opening, interrupts);",
    before: "await using",
    after: "const",
    why: "the process ends next, which closes the database, and the guard of its programs ends them",
  },
  {
    path: "app/cli/replay/export.ts",
    line: "await using store = await openDatabase(file, { readOnly: false });",
    before: "await using",
    after: "const",
    why: "the process ends next, which closes the database, and the guard of its programs ends them",
  },
  {
    path: "app/cli/replay/export.ts",
    line: 'await using store = await openRuns(file, "write");',
    before: "await using",
    after: "const",
    why: "the process ends next, which closes the database, and the guard of its programs ends them",
  },
  {
    path: "app/cli/commands/chat.ts",
    line: "using log = await openScreenLog(logOptions(request, application), request.flags, warn);",
    before: "using",
    after: "const",
    why: "lines are written as they come, and the process ends next, which closes the file",
  },
  {
    path: "app/cli/commands/chat.ts",
    line: "using log = await openRunLog({ flags: flags.log, ...logOptions(request, application) });",
    before: "using",
    after: "const",
    why: "lines are written as they come, and the process ends next, which closes the file",
  },
  {
    path: "app/cli/application/open.ts",
    line: "await using opened = new Opened();",
    before: "await using",
    after: "const",
    why: "what was opened is given up only when the process ends with an error, which closes it",
  },
  {
    path: "app/cli/doctor/machine.ts",
    line: "await using programs = await openOutside(context);",
    before: "await using",
    after: "const",
    why: "it only looks for programs and starts none, so there is nothing to end",
  },
  {
    path: "storage/store/sqlite/connection.ts",
    line: "this.#lastCheck = now;",
    before: "this.#lastCheck = now;",
    after: ";",
    why: "it only saves looks at the file: without it every write looks",
  },
];

/** Resources of a command that are let go of when its process ends, which is the next thing that happens. */
function undisposed(why: string, places: readonly (readonly [path: string, line: string])[]): Equivalent[] {
  return places.map(([path, line]) => {
    const before = line.startsWith("await") ? "await using" : "using";
    return { path, line, before, after: "const", why };
  });
}

export function isEquivalent(mutant: Mutant, text: string, known: readonly Equivalent[]): boolean {
  const line = text.split("\n")[mutant.line - 1]?.trim();
  return known.some(
    ({ path, line: knownLine, before, after }) =>
      path === mutant.path && knownLine === line && before === mutant.before && after === mutant.after,
  );
}

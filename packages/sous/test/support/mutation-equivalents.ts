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
    line: "using patience = patienceAfter(interrupts.signal);",
    before: "using",
    after: "const",
    why: "exitSoon ends the process, whatever timers it has",
  },
  ...[
    ["app/cli/doctor/machine.ts", "await using programs = await openOutside(context);"],
    ["app/cli/commands/acp.ts", "await using finder = await openServerPrograms(context);"],
  ].map(([path = "", line = ""]) => ({
    path,
    line,
    before: "await using",
    after: "const",
    why: "it only looks for programs and starts none, so there is nothing to end",
  })),
  ...["app/cli/application/telemetry.ts", "app/cli/serve/over-stdio.ts"].map((path) => ({
    path,
    line: "await using opened = new Opened();",
    before: "await using",
    after: "const",
    why: "what cannot be opened or sent is a warning: nothing throws before everything is handed over",
  })),
  ...[
    "using interrupts = catchInterrupts();",
    "using output = protocolOutput(() => gone.abort());",
    "using patience = patienceAfter(signal);",
  ].map((line) => ({
    path: "app/cli/serve/over-stdio.ts",
    line,
    before: "using",
    after: "const",
    why: "a timer ends the process next, and nothing is printed before",
  })),
  {
    path: "app/cli/serve/over-stdio.ts",
    line: "[Symbol.dispose]() {",
    before:
      '{\n      if (own !== undefined) Object.defineProperty(stdout, "write", own);\n      stdout.off("error", onGone);\n    }',
    after: "{}",
    why: "a timer ends the process next, and nothing is printed before",
  },
  {
    path: "storage/store/sqlite/connection.ts",
    line: "this.#lastCheck = now;",
    before: "this.#lastCheck = now;",
    after: ";",
    why: "it only saves looks at the file: without it every write looks",
  },
];

export function isEquivalent(mutant: Mutant, text: string, known: readonly Equivalent[]): boolean {
  const line = text.split("\n")[mutant.line - 1]?.trim();
  return known.some(
    ({ path, line: knownLine, before, after }) =>
      path === mutant.path && knownLine === line && before === mutant.before && after === mutant.after,
  );
}

/** `sous trust`: shows what a project wants, and on a yes lets sous read it. `--revoke` takes it back. */

import { isExternalModel } from "../../../core/model.ts";
import { type ProjectSnapshot, readProject } from "../../config/trust/files.ts";
import { MAX_NESTED } from "../../config/trust/nested-notes.ts";
import { reviewProject } from "../../config/trust/review.ts";
import { trust as giveTrust, revoke } from "../../config/trust/trust.ts";
import { findNested } from "../application/nested-notes.ts";
import { findTrust } from "../application/project.ts";
import { CommandError, EXIT } from "../exit-codes.ts";
import { processContext, userFolder } from "../files/paths.ts";
import { readOnlyOptions } from "../table/options.ts";
import { TRUST } from "../table/setup-entries.ts";
import { type Output, openOutput, personAtTerminal } from "../terminal/output.ts";
import { breakLine, inertLine, plural } from "../terminal/text.ts";

const MAX_LINES = 100;

export async function trust(parameters: readonly string[]): Promise<number> {
  const values = readOnlyOptions(TRUST, parameters);
  const output = openOutput(process.stdout, values);
  const context = processContext();
  if (values.revoke) {
    const before = await findTrust(context);
    const wasTrusted = await revoke({ cwd: context.cwd, stateFolder: userFolder("state", context.env) });
    const root = inertLine(before.root, 1000);
    output.printText(wasTrusted ? `${root} is no longer trusted.` : `${root} was not trusted.`);
    return EXIT.ok;
  }
  const { root, state, present, changes, nested: before } = await findTrust(context);
  const { notes, left } = await findNested(root);
  if (present.length === 0 && notes.length === 0 && state === "unknown") {
    output.printText(`${inertLine(root, 1000)} has no files for sous: there is nothing to trust.`);
    return EXIT.ok;
  }
  const snapshot = await readProject(root);
  const nestedNow = state === "trusted" ? nestedChanges(before, notes) : [];
  output.print([
    ...reviewLines(root, snapshot, output),
    ...section("Notes of folders, for agents that work in them", nestedLines(notes, left, output), MAX_NESTED + 1),
    ...section(
      "What has changed since it was trusted",
      [...changes, ...nestedNow].map((change) => inertLine(change, 1000)),
    ),
  ]);
  const nested = notes.map(({ path, sha256 }) => ({ path, sha256 }));
  if (state === "trusted" && nestedNow.length === 0) {
    output.printText("It is trusted already.");
    return EXIT.ok;
  }
  if (!values.yes && !(await isAgreed())) {
    output.printText("Not trusted: nothing of it is read.");
    return EXIT.failed;
  }
  // Trusts what was shown, even if the files have changed since.
  await giveTrust(root, snapshot, { stateFolder: userFolder("state", context.env), at: new Date(), nested });
  output.printText("Trusted, until one of these files changes.");
  return EXIT.ok;
}

function reviewLines(root: string, snapshot: ProjectSnapshot, output: Output): string[] {
  const { paint } = output.style;
  const review = reviewProject(snapshot);
  const fileLines = snapshot.files.map(({ path, target, content }) => {
    const size = content === undefined ? "not read" : plural(content.length, "byte");
    return `${inertLine(path)}${target === undefined ? "" : ` -> ${inertLine(target)}`}  ${paint("dim", size)}`;
  });
  const agentLines = review.agents.flatMap(({ agent, problems }) => {
    const broken = problems.find(({ severity }) => severity === "error");
    if (agent === undefined)
      return broken === undefined ? [] : [`${inertLine(broken.file)}: not loaded: ${inertLine(broken.message)}`];
    const tools = agent.tools === undefined ? "the tools of its caller" : agent.tools.join(" ") || "no tools";
    const denied = agent.deny.length === 0 ? "" : `, never ${agent.deny.join(" ")}`;
    const { model = "" } = agent;
    const external = isExternalModel(model) ? `, works as ${inertLine(model)}, with tools of its own` : "";
    return [`${paint("bold", inertLine(agent.name))}: ${tools}${denied}${external}`];
  });
  const serverLines = review.servers.map(({ file, name, runs, cwd, sets, variables }) => {
    const where = cwd === undefined ? "" : `, in the folder ${inertLine(cwd, 300)}`;
    const gives = sets.length === 0 ? "" : `, sets ${inertLine(sets.join(", "), 1000)}`;
    const asks = variables.length === 0 ? "" : `, asks for ${inertLine(variables.join(", "), 300)}`;
    return brokenLines(inertLine(runs, 1000), `  (${inertLine(name, 100)} in ${file}${where}${gives}${asks})`, output);
  });
  return [
    `${paint("bold", inertLine(root, 1000))}`,
    ...section("Files that sous would read", fileLines),
    ...section("Agents it would have", agentLines),
    ...section(
      "Programs and addresses it names",
      serverLines.map((lines) => lines.join("\n")),
      serverLines.length,
    ),
  ];
}

/** Further lines are indented: a project chooses what it runs, and no part of that may look like a line of ours. */
function brokenLines(runs: string, facts: string, { style: { paint }, columns, isTerminal }: Output): string[] {
  const text = `${runs}${facts}`;
  let left = runs.length;
  return (isTerminal ? breakLine(text, columns - 6) : [text]).map((line, index) => {
    const coloured = Math.max(0, Math.min(left, line.length));
    left -= line.length + 1;
    return `${index === 0 ? "" : "      "}${paint("yellow", line.slice(0, coloured))}${line.slice(coloured)}`;
  });
}

type NestedFile = { readonly path: string; readonly sha256: string; readonly bytes: number };

function nestedLines(notes: readonly NestedFile[], left: string | undefined, { style: { paint } }: Output): string[] {
  const lines = notes.map(({ path, bytes }) => `${inertLine(path, 1000)}  ${paint("dim", plural(bytes, "byte"))}`);
  return left === undefined ? lines : [...lines, left];
}

/** The nested notes of a trusted project that agents would not read as they are now. */
function nestedChanges(before: readonly Pick<NestedFile, "path" | "sha256">[], now: readonly NestedFile[]): string[] {
  const known = new Map(before.map(({ path, sha256 }) => [path, sha256]));
  const found = new Set(now.map(({ path }) => path));
  return [
    ...now.flatMap(({ path, sha256 }) => {
      if (!known.has(path)) return [`added ${path}`];
      return known.get(path) === sha256 ? [] : [`changed ${path}`];
    }),
    ...before.filter(({ path }) => !found.has(path)).map(({ path }) => `removed ${path}`),
  ];
}

function section(title: string, lines: readonly string[], max = MAX_LINES): string[] {
  if (lines.length === 0) return [];
  const rest = lines.length - max;
  return [`${title}:`, ...lines.slice(0, max).map((line) => `  ${line}`), ...(rest > 0 ? [`  and ${rest} more`] : [])];
}

async function isAgreed(): Promise<boolean> {
  const ask = personAtTerminal();
  if (ask === undefined)
    throw new CommandError("No one can be asked: read the list above, then sous trust --yes", EXIT.consent);
  return ask("Trust it?");
}

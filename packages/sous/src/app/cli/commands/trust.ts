/** `sous trust`: shows what a project wants, and on a yes lets sous read it. `--revoke` takes it back. */

import { isExternalModel } from "../../../core/model.ts";
import { type ProjectSnapshot, readProject } from "../../config/trust/files.ts";
import { type NamedServer, type ProjectReview, reviewProject } from "../../config/trust/review.ts";
import { trust as giveTrust, revoke } from "../../config/trust/trust.ts";
import { findNested } from "../application/nested-notes.ts";
import { findTrust } from "../application/project.ts";
import { CommandError, EXIT } from "../exit-codes.ts";
import { processContext, userFolder } from "../files/paths.ts";
import { withoutValues } from "../files/without-secrets.ts";
import { readOnlyOptions } from "../table/options.ts";
import { TRUST } from "../table/setup-entries.ts";
import { type Output, openOutput, personAtTerminal } from "../terminal/output.ts";
import { shownName, shownWord, shownWords } from "../terminal/shown-words.ts";
import { inertLine, plural } from "../terminal/text.ts";
import { brokenRows } from "../terminal/whole-rows.ts";

/** Max characters of an entry as it is shown: more is not read by a person. */
const MAX_ENTRY = 4000;

export async function trust(parameters: readonly string[]): Promise<number> {
  const values = readOnlyOptions(TRUST, parameters);
  const output = openOutput(process.stdout, values);
  const context = processContext();
  if (values.revoke) {
    const before = await findTrust(context);
    const wasTrusted = await revoke({ cwd: context.cwd, stateFolder: userFolder("state", context.env) });
    const root = shownName(before.root);
    output.printText(wasTrusted ? `${root} is no longer trusted.` : `${root} was not trusted.`);
    return EXIT.ok;
  }
  const { root, state, present, changes, nested: before } = await findTrust(context);
  const { notes, left } = await findNested(root);
  if (present.length === 0 && notes.length === 0 && state === "unknown") {
    output.printText(`${shownName(root)} has no files for sous: there is nothing to trust.`);
    return EXIT.ok;
  }
  const snapshot = await readProject(root);
  const review = reviewProject(snapshot);
  const nestedNow = state === "trusted" ? nestedChanges(before, notes) : [];
  const isTrusted = state === "trusted" && nestedNow.length === 0;
  if (!isTrusted) refuseLongEntries(review);
  output.print([
    output.style.paint("bold", shownName(root)),
    ...section("Files that sous would read", fileLines(snapshot, output)),
    ...section("Agents it would have", agentLines(review, output)),
    ...section("Notes of folders, for agents that work in them", nestedLines(notes, left, output)),
    ...section("What has changed since it was trusted", [...changes, ...nestedNow].map(shownName)),
    ...section("Programs and addresses it names", serverLines(review, output)),
  ]);
  if (isTrusted) {
    output.printText("It is trusted already.");
    return EXIT.ok;
  }
  if (!values.yes && !(await isAgreed())) {
    output.printText("Not trusted: nothing of it is read.");
    return EXIT.failed;
  }
  // Trusts what was shown, even if the files have changed since.
  const nested = notes.map(({ path, sha256 }) => ({ path, sha256 }));
  await giveTrust(root, snapshot, { stateFolder: userFolder("state", context.env), at: new Date(), nested });
  output.printText("Trusted, until one of these files changes.");
  return EXIT.ok;
}

function fileLines({ files }: ProjectSnapshot, { style: { paint } }: Output): string[] {
  return files.map(({ path, target, content }) => {
    const size = content === undefined ? "not read" : plural(content.length, "byte");
    return `${shownName(path)}${target === undefined ? "" : ` -> ${shownName(target)}`}  ${paint("dim", size)}`;
  });
}

function agentLines({ agents }: ProjectReview, { style: { paint } }: Output): string[] {
  return agents.flatMap(({ agent, problems }) => {
    const broken = problems.find(({ severity }) => severity === "error");
    if (agent === undefined)
      return broken === undefined ? [] : [`${shownName(broken.file)}: not loaded: ${inertLine(broken.message)}`];
    const tools = agent.tools === undefined ? "the tools of its caller" : namesIn(agent.tools) || "no tools";
    const denied = agent.deny.length === 0 ? "" : `, never ${namesIn(agent.deny)}`;
    const { model = "" } = agent;
    const external = isExternalModel(model) ? `, works as ${shownName(model)}, with tools of its own` : "";
    return [`${paint("bold", shownName(agent.name))}: ${tools}${denied}${external}`];
  });
}

function namesIn(names: readonly string[]): string {
  return names.map(shownName).join(" ");
}

function serverLines({ servers }: ProjectReview, { style: { paint }, columns, isTerminal }: Output): string[] {
  return servers.map((server) => {
    const { runs, facts } = entryOf(server);
    const rows = isTerminal ? brokenRows(`${runs}${facts}`, columns - INDENT) : [`${runs}${facts}`];
    let left = runs.length;
    // Further rows are indented: no part of what a project runs may look like a line of ours.
    const painted = rows.map((row) => {
      const coloured = Math.max(0, Math.min(left, row.length));
      left -= row.length;
      return `${paint("yellow", row.slice(0, coloured))}${row.slice(coloured)}`;
    });
    return painted.join(`\n${" ".repeat(INDENT)}`);
  });
}

const INDENT = 6;

/**
 * Two blanks stand between what it runs and our words about it, and nowhere inside of what it runs. Only secrets that are known here
 * are marked: any other value may be a command.
 */
function entryOf({ file, name, runs, cwd, sets, variables }: NamedServer): { runs: string; facts: string } {
  const where = cwd === undefined ? "" : `, in the folder ${shownWord(cwd)}`;
  const gives =
    sets.length === 0
      ? ""
      : `, sets ${sets.map(({ name, value }) => shownWord(`${name}=${withoutValues(value)}`)).join(", ")}`;
  const asks = variables.length === 0 ? "" : `, asks for ${variables.map(shownWord).join(", ")}`;
  return {
    runs: shownWords(runs.map(withoutValues)) || "no command and no url",
    facts: `  (${shownWord(name)} in ${file}${where}${gives}${asks})`,
  };
}

function refuseLongEntries({ servers }: ProjectReview): void {
  for (const server of servers) {
    const { runs, facts } = entryOf(server);
    const length = runs.length + facts.length;
    if (length <= MAX_ENTRY) continue;
    const name = inertLine(shownWord(server.name), 100);
    throw new CommandError(
      `This project cannot be trusted: in ${server.file} the entry of the server ${name} takes ${length} characters to show, and ${MAX_ENTRY} is the most that a person is asked about. Shorten it, put its command into a script, or remove the entry.`,
      EXIT.configuration,
    );
  }
}

type NestedFile = { readonly path: string; readonly sha256: string; readonly bytes: number };

function nestedLines(notes: readonly NestedFile[], left: string | undefined, { style: { paint } }: Output): string[] {
  const lines = notes.map(({ path, bytes }) => `${shownName(path)}  ${paint("dim", plural(bytes, "byte"))}`);
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

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`${title}:`, ...lines.map((line) => `  ${line}`)];
}

async function isAgreed(): Promise<boolean> {
  const ask = personAtTerminal();
  if (ask === undefined)
    throw new CommandError("No one can be asked: read the list above, then sous trust --yes", EXIT.consent);
  return ask("Trust it?");
}

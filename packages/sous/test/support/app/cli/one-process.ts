/** `main.ts` for several lines in one process, one after the other: what it makes of its words, and with which code it ends. */

import { execFile } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { compiled, type Ended, PACKAGE } from "./sous-process.ts";

/** Each line has a `main.ts` of its own, from the sources: what is bundled is loaded once. A run is the last: it ends the process. */
const DRIVER = `
const lines = JSON.parse(process.argv[1]);
const print = process.stdout.write.bind(process.stdout);
const ended = [];
for (const [index, words] of lines.entries()) {
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"]) {
    process[name].write = (text, done) => {
      said[name] += text;
      done?.();
      return true;
    };
  }
  process.argv = [process.execPath, "sous", ...words];
  process.exitCode = undefined;
  await import(${JSON.stringify(pathToFileURL(join(PACKAGE, "src/app/cli/main.ts")).href)} + "?" + index);
  ended.push({ code: process.exitCode, ...said });
}
process.exitCode = 0;
print(JSON.stringify(ended));
`;

export async function inOneProcess(
  ...lines: readonly (readonly string[])[]
): Promise<Pick<Ended, "code" | "stdout" | "stderr">[]> {
  const running = promisify(execFile)(
    process.execPath,
    ["--input-type=module", "--eval", DRIVER, JSON.stringify(lines)],
    { env: { NODE_COMPILE_CACHE: compiled }, maxBuffer: 2 ** 24 },
  );
  running.child.stdin?.end();
  return JSON.parse((await running).stdout);
}

/** Imported before the unit tests: starting a process is an error there. */

import childProcess from "node:child_process";
import { syncBuiltinESMExports } from "node:module";

for (const name of ["spawn", "spawnSync", "exec", "execSync", "execFile", "execFileSync", "fork"]) {
  childProcess[name] = (file) => {
    throw new Error(`A unit test starts a process (${name} ${file}): move the test to test/system/.`);
  };
}
syncBuiltinESMExports();

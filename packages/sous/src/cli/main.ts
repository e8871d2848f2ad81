#!/usr/bin/env node
/** The command `sous`. Everything is imported late: `--version` and `--help` load nothing but this and their own text. */

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(`sous needs Node 22.18 or newer; this is ${process.versions.node}.\n`);
  process.exit(1);
}

/** The reader of a pipe went away: there is nobody left to tell. */
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit(141);
  });
}

const USAGE = 2;
process.exitCode = await main(process.argv.slice(2));

async function main([command, ...rest]: readonly string[]): Promise<number> {
  const wantsHelp = command === "demo" && (rest.includes("--help") || rest.includes("-h"));
  switch (wantsHelp ? "--help" : command) {
    case "--version":
    case "-V": {
      const { default: manifest } = await import("../../package.json", { with: { type: "json" } });
      process.stdout.write(`${manifest.version}\n`);
      return 0;
    }
    case "--help":
    case "-h":
    case "help": {
      const { HELP } = await import("./help.ts");
      process.stdout.write(HELP);
      return 0;
    }
    case "demo":
      return runDemo(rest);
    default: {
      const { complaintAbout } = await import("./help.ts");
      process.stderr.write(complaintAbout(command));
      return USAGE;
    }
  }
}

async function runDemo(parameters: readonly string[]): Promise<number> {
  const { UserError } = await import("../core/errors.ts");
  try {
    const { demo } = await import("./commands/demo.ts");
    return await demo(parameters);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    process.stderr.write(`error: ${error.message}\n`);
    return USAGE;
  }
}

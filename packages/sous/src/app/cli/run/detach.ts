/** `sous run --detach`: the run is placed in the database, and a worker continues it. The id is on stdout. */

import type { UserInput } from "../../../core/message.ts";
import type { JsonSchema } from "../../../core/schema.ts";
import { openApplication } from "../application/open.ts";
import { EXIT } from "../exit-codes.ts";
import { processContext } from "../files/paths.ts";
import { databaseFlags, findDatabase, openDatabase, sameDatabase } from "../stored/database.ts";
import { openUnlessStopped } from "../terminal/interrupts.ts";
import { printJson, tell } from "../terminal/output.ts";
import { waitSentence } from "./able-workers.ts";
import type { RunRequest } from "./request.ts";

type Detached = {
  readonly task: UserInput;
  readonly schema: JsonSchema | undefined;
  /** Aborts when the command is stopped: then nothing is placed. */
  readonly stop: AbortSignal;
};

/** Returns the exit code. Throws before anything is placed when the run cannot be. */
export async function detach(request: RunRequest, { task, schema, stop }: Detached): Promise<number> {
  const { flags, format } = request;
  const context = processContext();
  await using store = await openDatabase(await findDatabase(databaseFlags(flags), context), { readOnly: false });
  const asked = { flags, ...context, ask: undefined, store, places: "roots" as const, signal: stop, warn: tell };
  await using application = await openUnlessStopped(openApplication(asked), stop);
  const agent = schema === undefined ? application.agent : application.agent.with({ outputSchema: schema });
  stop.throwIfAborted();
  const { id } = await application.runtime.submit(agent, task, application.runOptions);
  if (format === "json") printJson({ schema: "sous.detached.v1", status: "queued", run_id: id });
  else process.stdout.write(`${id}\n`);
  if (!flags.log.isQuiet) {
    const waits = await waitSentence("The run", agent.name, store, databaseFlags(flags));
    const look = `sous replay --tree --id ${id}${sameDatabase(databaseFlags(flags))}`;
    tell(`${waits ?? "A worker continues the run."} See it: ${look}`);
  }
  return EXIT.ok;
}

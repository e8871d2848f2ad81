/** The source of the models of the command line: a provider with the settings of the configuration, or a script. */

import { resolve } from "node:path";
import type { ModelChoice } from "../../../core/agent.ts";
import { MissingKey, messageOf } from "../../../core/errors.ts";
import { type Model, providerOf } from "../../../core/model.ts";
import type { Programs } from "../../../core/process.ts";
import type { ResolveOptions } from "../../../runtime/model/resolve.ts";
import type { Configuration } from "../../config/configuration.ts";
import { CommandError } from "../exit-codes.ts";
import { readForeign } from "../files/file-access.ts";
import type { ProcessContext } from "../files/paths.ts";
import { inertLine } from "../terminal/text.ts";

/** Answers from a file of this machine: `script/answers.json`. */
const SCRIPT = "script/";
const KEY_TIMEOUT_MS = 30_000;
const MAX_KEY_BYTES = 16 * 1024;

type ModelContext = ProcessContext & { readonly programs: Programs };

export type ModelSource = {
  resolve(choice: ModelChoice): Model | Promise<Model>;
  /** Keys that no variable of a known name holds: they are removed from everything that is stored, too. */
  readonly secrets: Readonly<Record<string, string>>;
};

export async function modelSource(context: ModelContext, { provider, model }: Configuration): Promise<ModelSource> {
  const { modelCache } = await import("../../../runtime/model/resolve.ts");
  const { cwd, env } = context;
  const isScripted = model?.startsWith(SCRIPT) === true;
  const key = isScripted ? undefined : await givenKey(context, provider);
  const chosen = providerOf(model ?? "");
  const optionsFor = (choice: string): ResolveOptions => {
    const { maxRetries, timeout, callTimeout, maxRateWait } = provider;
    const common = {
      maxRetries,
      silenceMs: timeout * 1000,
      callTimeoutMs: callTimeout * 1000,
      maxRateWaitMs: maxRateWait * 1000,
    };
    // The address and the key are those of the provider that was chosen; an agent may name a model of another.
    return providerOf(choice) === chosen ? { ...common, baseUrl: provider.baseUrl, apiKey: key } : common;
  };
  const known = modelCache(env, optionsFor);
  const scripted = new Map<string, Promise<Model>>();
  return {
    secrets: key === undefined ? {} : { SOUS_API_KEY: key },
    resolve(choice) {
      // A model may name another one for a child: unless the person plays scripts, no file is opened for that.
      if (!isScripted || typeof choice !== "string" || !choice.startsWith(SCRIPT)) return known(choice);
      const found = scripted.get(choice) ?? readScript(choice, cwd);
      scripted.set(choice, found);
      return found;
    },
  };
}

/** The file of a model that is a script; undefined for others. */
export function scriptFile(model: string): string | undefined {
  return model.startsWith(SCRIPT) ? model.slice(SCRIPT.length) : undefined;
}

/** Reads the key from the variable or command that the user's configuration names. An error says which failed, never what it held. */
async function givenKey(
  { env, programs }: ModelContext,
  { apiKeyEnv, apiKeyCommand }: Configuration["provider"],
): Promise<string | undefined> {
  if (apiKeyEnv !== undefined) {
    const key = env[apiKeyEnv];
    if (key) return key;
    throw new MissingKey(`The key is expected in ${apiKeyEnv}, as provider.api_key_env says: set that variable`);
  }
  if (apiKeyCommand === undefined) return undefined;
  const [program = "", ...args] = apiKeyCommand.split(/\s+/).filter((word) => word !== "");
  const file = await programs.find(program);
  if (file === undefined)
    throw new MissingKey(
      `provider.api_key_command (${inertLine(program, 80)}) is not found outside the project: name a program in PATH, or give the absolute path of one outside`,
    );
  const { exitCode, output } = await programs.run({
    program: file,
    args,
    // The program does not start in the project: many programs obey files of the folder they are started in.
    cwd: "/",
    maxOutputBytes: MAX_KEY_BYTES,
    separateErrors: true,
    timeoutMs: KEY_TIMEOUT_MS,
  });
  const key = output.head.trim();
  if (exitCode === 0 && key !== "" && !/\s/.test(key)) return key;
  throw new MissingKey(
    `provider.api_key_command (${inertLine(program, 80)}) gave no key: it ended with ${exitCode ?? "a signal"} and must print one word`,
  );
}

async function readScript(choice: string, cwd: string): Promise<Model> {
  const [{ scriptedModel }, { parseScript }] = await Promise.all([
    import("../../../testing/scripted-model.ts"),
    import("../../../testing/script-file.ts"),
  ]);
  const file = resolve(cwd, choice.slice(SCRIPT.length));
  const text = await readForeign(file).catch((error: unknown) => {
    throw new CommandError(`The script of the model cannot be read: ${inertLine(messageOf(error))}`);
  });
  return scriptedModel(parseScript(text, file), { id: choice, price: { input: 0, output: 0 } });
}

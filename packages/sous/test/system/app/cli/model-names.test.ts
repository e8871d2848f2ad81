/** F3: on the command line a model that a call makes up is `other`, in what is sent and in what `sous metrics` serves. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { child, type Folder, folder, MODEL, USED } from "../../../support/app/cli/chat-folder.ts";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { compiled, MAIN } from "../../../support/app/cli/sous-process.ts";
import { samplesOf } from "../../../support/bridges/telemetry/metric-text.ts";
import { OtlpReceiver } from "../../../support/bridges/telemetry/otlp-receiver.ts";

const MADE_UP = Array.from({ length: 40 }, (_, index) => `up-${index}`);
const OTHERS = ["allowed", "scout", "priced"];
const HERE = [{ ...USED, text: "Here." }];

const naming = (name: string, more: object = {}): object =>
  child(name, `Look at ${name}.`, { model: `script/${name}.json`, ...more });

async function place(): Promise<Folder> {
  const made = await folder({
    sous: [
      { ...USED, calls: [...MADE_UP, "allowed", "priced"].map((name) => naming(name)) },
      { ...USED, calls: [{ tool: "subagent_scout", input: { task: "Look around." } }] },
      { ...USED, text: "Done." },
    ],
    "**": HERE,
  });
  for (const name of [...MADE_UP, ...OTHERS]) await made.write(`${name}.json`, { "**": HERE });
  const config = join(made.env.XDG_CONFIG_HOME ?? "", "sous");
  await mkdir(join(config, "agents"), { recursive: true });
  await writeFile(
    join(config, "config.yaml"),
    'models: { allow: ["script/allowed.json", "other/*"] }\nprices: { "script/priced.json": { input: 1, output: 1 } }\n',
  );
  await writeFile(
    join(config, "agents/scout.md"),
    "---\nname: scout\ndescription: Looks.\nmodel: script/scout.json\n---\nLook.\n",
  );
  return made;
}

/** What `sous metrics` serves of this database. */
async function served({ cwd, env }: Folder): Promise<string> {
  const metrics = spawn(process.execPath, [MAIN, "metrics", "--port", "0"], {
    cwd,
    env: { NODE_COMPILE_CACHE: compiled, ...env },
    stdio: ["ignore", "inherit", "pipe"],
    timeout: 60_000,
  });
  const closed = once(metrics, "close");
  let said = "";
  for await (const chunk of metrics.stderr) {
    said += chunk;
    const [url] = /http:\/\/127\.0\.0\.1:\d+\/metrics/.exec(said) ?? [];
    if (url === undefined) continue;
    const text = await (await fetch(url)).text();
    metrics.kill("SIGTERM");
    await closed;
    return text;
  }
  throw new Error(said);
}

test("F3: forty made-up models are other; configured ones and those of agent files keep their names", async () => {
  await using here = await place();
  await using receiver = await OtlpReceiver.start();
  const { cwd } = here;
  const env = { ...here.env, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_BSP_SCHEDULE_DELAY: "20" };
  const { code, stderr } = await inProcess(["run", "Go", ...MODEL, "--quiet"], { cwd, env });
  assert.equal(code, 0, stderr);
  const { spans, metrics } = await receiver.until((received) => received.metrics.length > 0);
  const names = ["allowed", "priced", "scout", "script"].map((name) => `${name}.json`);
  const asked = spans.flatMap(({ attributes }) => attributes["gen_ai.request.model"] ?? []);
  assert.deepEqual([...new Set(asked)].sort(), [...names, "other"].sort());
  assert.equal(spans.filter(({ name }) => name === "chat other").length, MADE_UP.length);
  assert.doesNotMatch(JSON.stringify(metrics), /up-\d/);
  const text = await served(here);
  const counted = Object.keys(samplesOf(text, "modelTokens")).map((each) => /model="([^"]*)"/.exec(each)?.[1]);
  assert.deepEqual([...new Set(counted)].sort(), ["other", ...names.map((name) => `script/${name}`)]);
});

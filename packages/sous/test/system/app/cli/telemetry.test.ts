/** Traces and metrics of `sous run`, `chat`, `resume` and `acp serve`, sent to a collector and served to Prometheus by real processes. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { after, before, beforeEach, suite, test } from "node:test";
import { pathToFileURL } from "node:url";
import { METRICS } from "../../../../src/bridges/telemetry/names.ts";
import { child, type Folder, folder, MODEL, USED } from "../../../support/app/cli/chat-folder.ts";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { compiled, type Ended, MAIN, sous } from "../../../support/app/cli/sous-process.ts";
import { nameTree, OtlpReceiver } from "../../../support/bridges/telemetry/otlp-receiver.ts";
import { editor, home, newSession, say } from "../../bridges/acp/serve-client.ts";
import { serveStage, toolCall, wireClient } from "../../bridges/mcp/serve-stage.ts";

const SCRIPT = {
  sous: [
    { ...USED, text: "I ask one.", calls: [child("slow", "Take your time")] },
    { ...USED, text: "It is done." },
  ],
  "sous/slow": [{ ...USED, text: "Slowly done." }],
};
const STUCK = { ...SCRIPT, "sous/slow": [{ ...USED, wait_ms: 60_000, text: "never" }] };

/** Quick, so that a test need not wait for what a process sends while it works. */
function sendingTo({ url }: OtlpReceiver, more: Record<string, string> = {}): Record<string, string> {
  return { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_BSP_SCHEDULE_DELAY: "20", ...more };
}

async function runIn(place: Folder, env: Record<string, string>, ...more: string[]): Promise<Ended> {
  const options = { cwd: place.cwd, env: { ...place.env, ...env } };
  const ended = await inProcess(["run", "Go", ...MODEL, "--quiet", ...more], options);
  assert.equal(ended.code, 0, ended.stderr);
  return ended;
}

/** The names of a tree with one child, as `SCRIPT` makes it. */
const CHAT = "chat script.json";
const TREE = {
  "invoke_agent sous": {
    [CHAT]: {},
    "execute_tool subagent": { "invoke_agent subagent": { [CHAT]: {} } },
    [`${CHAT} (2)`]: {},
  },
};

// One after the other: a command sends for a second at its end, and processes that start beside it would take that second.
suite("F2: a collector in another process", () => {
  let receiver: OtlpReceiver;
  before(async () => {
    receiver = await OtlpReceiver.start();
  });
  const forget = (): void => void receiver.requests.splice(0);
  beforeEach(forget);
  after(() => receiver[Symbol.asyncDispose]());

  test("a collector gets the trace that TRACEPARENT names, the resource and the headers of the user, compressed", async () => {
    await using place = await folder(SCRIPT);
    const [traceId, spanId] = ["0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"];
    const { stderr } = await runIn(
      place,
      sendingTo(receiver, {
        TRACEPARENT: `00-${traceId}-${spanId}-01`,
        OTEL_SERVICE_NAME: "kitchen",
        OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test,service.name=unused",
        OTEL_EXPORTER_OTLP_HEADERS: "x-team=blue",
        OTEL_EXPORTER_OTLP_COMPRESSION: "gzip",
      }),
    );
    assert.equal(stderr, "");
    const { spans, resource, metrics } = await receiver.until((received) => received.metrics.length > 0);
    assert.deepEqual(nameTree(spans), TREE);
    assert.deepEqual([...new Set(spans.map((span) => span.traceId))], [traceId]);
    assert.deepEqual(
      spans.filter(({ parentSpanId }) => parentSpanId === spanId).map(({ name }) => name),
      ["invoke_agent sous"],
    );
    assert.equal(resource["service.name"], "kitchen");
    assert.equal(resource["deployment.environment.name"], "test");
    for (const { headers } of receiver.requests)
      assert.deepEqual([headers["x-team"], headers["content-encoding"]], ["blue", "gzip"]);
    const known = new Set<string>(Object.values(METRICS).map(({ name }) => name));
    const names = metrics.map(({ name }) => name);
    assert.deepEqual(
      names.filter((name) => !known.has(name)),
      [],
    );
    const executions = metrics.find(({ name }) => name === METRICS.executions.name)?.points ?? [];
    assert.deepEqual(
      executions.map(({ attributes, value }) => [attributes.depth, value]),
      [
        ["0", 1],
        ["1", 1],
      ],
    );
  });

  test("a collector gets nothing when the sampler is off, or the trace of the caller is not sampled", async () => {
    await using place = await folder(SCRIPT);
    const off = [
      { OTEL_TRACES_SAMPLER: "always_off" },
      { TRACEPARENT: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00" },
      { OTEL_TRACES_EXPORTER: "none" },
      { OTEL_SDK_DISABLED: "true" },
    ];
    for (const env of off) {
      const { stderr } = await runIn(place, sendingTo(receiver, { OTEL_METRICS_EXPORTER: "none", ...env }));
      assert.equal(stderr, "");
    }
    assert.deepEqual(receiver.requests, []);
  });

  test("B8.3: a collector gets no content unless it is asked for, and never a secret", async () => {
    const secret = "Zq7mP2xW9rT4kL8vB3nC";
    const header = "hR5tY8uJ2kM4nB6v";
    const words = { task_prompt: `Look for ${secret} and ${header} in marmalade` };
    const script = {
      sous: [
        { ...USED, text: `Marmalade ${secret}`, calls: [child("slow", words.task_prompt)] },
        { ...USED, text: "Done." },
      ],
      "sous/slow": [{ ...USED, text: `marmalade ${header}` }],
    };
    await using place = await folder(script);
    const env = { ANTHROPIC_API_KEY: secret, OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer ${header}` };
    for (const capture of ["false", "true"]) {
      forget();
      await runIn(place, sendingTo(receiver, { ...env, SOUS_TELEMETRY_CAPTURE_CONTENT: capture }));
      await receiver.until(({ spans }) => spans.some(({ name }) => name === "invoke_agent sous"));
      assert.equal(receiver.bytes.toLowerCase().includes("marmalade"), capture === "true");
      for (const each of [secret, header]) assert.ok(!receiver.bytes.includes(each));
    }
  });

  test("a collector gets the runs of all sessions of sous acp serve, from one process", async () => {
    await using place = await home();
    const served = await editor(place, undefined, sendingTo(receiver));
    for (const name of ["one", "two"]) {
      const { sessionId } = await newSession(served, await place.project(name, SCRIPT));
      assert.equal((await say(served, sessionId, "Go")).stopReason, "end_turn");
    }
    served.process.stdin?.end();
    assert.equal(await served.ended, 0);
    const { spans, metrics } = receiver.received();
    assert.equal(new Set(spans.map(({ traceId }) => traceId)).size, 2);
    assert.deepEqual(metrics.find(({ name }) => name === METRICS.executions.name)?.points[0]?.value, 2);
    assert.doesNotMatch(served.stderr(), /warning: .*(?:exported|Metrics)/);
  });

  test("a collector gets the runs of all calls of sous mcp serve, before it ends", async () => {
    await using stage = await serveStage({ sous: [{ text: "Done." }] });
    const served = wireClient(stage, [], sendingTo(receiver));
    await served.initialize();
    for (const id of [1, 2]) {
      await served.send(toolCall(id, "sous", "Go."));
      await served.answerTo(id);
    }
    served.process.stdin?.end();
    assert.equal(await served.ended, 0);
    const { spans } = receiver.received();
    assert.equal(new Set(spans.map(({ traceId }) => traceId)).size, 2);
  });

  test("the collector is where telemetry.otlp_endpoint of the user says, and never where a project says", async () => {
    await using place = await folder(SCRIPT);
    const settings = `telemetry: { otlp_endpoint: "${receiver.url}" }\n`;
    mkdirSync(join(place.cwd, ".sous"));
    writeFileSync(join(place.cwd, ".sous/config.yaml"), settings);
    const options = { cwd: place.cwd, env: place.env };
    assert.equal((await inProcess(["trust", "--yes"], options)).code, 0);
    const ignored = await runIn(place, {});
    assert.match(ignored.stderr, /telemetry\.otlp_endpoint is ignored/);
    writeFileSync(join(place.cwd, ".env"), `OTEL_EXPORTER_OTLP_ENDPOINT=${receiver.url}\n`);
    await runIn(place, {}, "--bare");
    assert.deepEqual(receiver.requests, []);
    writeFileSync(join(place.cwd, "user.yaml"), settings);
    await runIn(place, {}, "--bare", "--config", "user.yaml");
    assert.deepEqual(nameTree(receiver.received().spans), TREE);
  });

  test("a collector gets one nested trace of a tree that was killed and resumed, as JSON or as protobuf", async () => {
    await using place = await folder(STUCK);
    const sending = (protocol: string) => sendingTo(receiver, { OTEL_EXPORTER_OTLP_PROTOCOL: protocol });
    const first = spawn(process.execPath, [MAIN, "run", "Go", ...MODEL], {
      cwd: place.cwd,
      env: { NODE_COMPILE_CACHE: compiled, ...place.env, ...sending("http/json") },
      stdio: "ignore",
    });
    const ended = once(first, "close");
    await receiver.until(({ spans }) => spans.some(({ name }) => name === CHAT));
    first.kill("SIGKILL");
    await ended;
    await place.write("script.json", SCRIPT);
    const options = { cwd: place.cwd, env: { ...place.env, ...sending("http/protobuf") } };
    const resumed = await inProcess(["resume"], options);
    assert.deepEqual([resumed.code, resumed.stdout], [0, "It is done.\n"], resumed.stderr);
    assert.doesNotMatch(resumed.stderr, /warning/);
    const { spans } = receiver.received();
    const types = receiver.requests
      .filter(({ path }) => path === "/v1/traces")
      .map(({ headers }) => headers["content-type"]);
    assert.deepEqual([...new Set(types)], ["application/json", "application/x-protobuf"]);
    assert.equal(new Set(spans.map(({ traceId }) => traceId)).size, 1);
    assert.equal(new Set(spans.map(({ spanId }) => spanId)).size, spans.length);
    assert.deepEqual(
      spans.filter(({ parentSpanId }) => parentSpanId === "").map(({ name }) => name),
      ["invoke_agent sous"],
    );
    // The child was asked twice: what the first process had asked has no answer.
    const child = { "invoke_agent subagent": { [CHAT]: {}, [`${CHAT} (1)`]: {} } };
    assert.deepEqual(nameTree(spans), {
      "invoke_agent sous": { ...TREE["invoke_agent sous"], "execute_tool subagent": child },
    });
  });
});

suite("F2: a collector that fails", { concurrency: true }, () => {
  /** Without a limit of ours a collector that is gone keeps a process for 11 s and more. A slow machine is slow with both. */
  const mayTake = (plainMs: number): number => 5 * plainMs + 3000;
  const GONE = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" };
  const RUN = ["run", "Go", ...MODEL, "--quiet"];
  let place: Folder;
  let plain: Ended;
  before(async () => {
    place = await folder(SCRIPT);
    plain = await sous(RUN, place);
  });
  after(() => place[Symbol.asyncDispose]());

  test("a collector that fails costs a run one line and about a second at its end, and nothing of its result", async () => {
    await using hanging = await OtlpReceiver.start("hang");
    const hangs = await sous(RUN, { ...place, env: { ...place.env, OTEL_EXPORTER_OTLP_ENDPOINT: hanging.url } });
    const gone = await inProcess(RUN, { ...place, env: { ...place.env, ...GONE } });
    for (const { code, stdout, stderr } of [hangs, gone]) {
      assert.deepEqual([code, stdout], [0, "It is done.\n"]);
      assert.match(stderr, /^warning: 6 of 6 spans and the last metrics were not exported \(http:[^\n]*\)\n$/);
    }
    for (const { milliseconds } of [hangs, gone])
      assert.ok(milliseconds < mayTake(plain.milliseconds), `${milliseconds} and ${plain.milliseconds} ms`);
  });

  test("a collector that fails is not named when nothing has happened that it could be told", async () => {
    const env = { ...place.env, ...GONE };
    const { code, stderr } = await inProcess(["run", "Go.", "--model", "script/none.json"], { ...place, env });
    assert.equal(code, 1);
    assert.match(stderr, /^error: [^\n]*none\.json[^\n]*\n$/);
  });

  test("a collector that fails does not keep sous chat either", async () => {
    const env = { ...place.env, ...GONE };
    const { code, milliseconds, stderr } = await sous(["chat", ...MODEL], { ...place, env });
    assert.equal(code, 0, stderr);
    assert.ok(milliseconds < mayTake(plain.milliseconds), `${milliseconds} and ${plain.milliseconds} ms`);
  });
});

suite("F2: packages of OpenTelemetry", { concurrency: true }, () => {
  test("missing packages of OpenTelemetry are named in one line, and the run continues", async () => {
    await using place = await folder(SCRIPT);
    const hook = join(place.cwd, "missing.mjs");
    writeFileSync(
      hook,
      `import { registerHooks } from "node:module";
registerHooks({ resolve(name, context, next) {
  if (!name.startsWith("@opentelemetry/sdk-trace")) return next(name, context);
  throw Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" });
} });`,
    );
    const { code, stdout, stderr } = await sous(["run", "Go", ...MODEL, "--quiet"], {
      cwd: place.cwd,
      env: {
        ...place.env,
        OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1",
        NODE_OPTIONS: `--import=${pathToFileURL(hook)}`,
      },
    });
    assert.deepEqual([code, stdout], [0, "It is done.\n"], stderr);
    assert.match(
      stderr,
      /^warning: no traces and no metrics are sent: OTLP needs [^\n]* npm install @opentelemetry\/api@1 [^\n]*sdk-trace@3 @opentelemetry\/exporter-trace-otlp-proto@0.301 [^\n]*exporter-metrics-otlp-proto@0.301\n$/,
    );
  });
});

suite("F4: --metrics-port", { concurrency: true }, () => {
  test("--metrics-port serves the metrics of a run while it works, on a port that it names", async () => {
    await using place = await folder(STUCK);
    const run = spawn(process.execPath, [MAIN, "run", "Go", ...MODEL, "--metrics-port", "0"], {
      cwd: place.cwd,
      env: { NODE_COMPILE_CACHE: compiled, ...place.env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const ended = once(run, "close");
    let said = "";
    const works = new Promise<void>((resolve) => {
      run.stderr.on("data", (chunk) => {
        said += chunk;
        if (said.includes("sous/slow  starts")) resolve();
      });
    });
    await Promise.race([works, ended]);
    const [, url = ""] = /^Metrics are at (http:\S+)$/m.exec(said) ?? [];
    const text = await (await fetch(url)).text();
    assert.match(text, /^subagent_active_count\{depth="0"\} 1$/m);
    assert.match(text, /^subagent_active_count\{depth="1"\} 1$/m);
    run.kill("SIGTERM");
    await ended;
  });

  test("a metrics port that is in use is one warning, and stdout stays clean", async () => {
    await using place = await folder(SCRIPT);
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const { stdout, stderr } = await runIn(place, {}, "--json", "--metrics-port", String(port));
    server.close();
    assert.equal(JSON.parse(stdout).result, "It is done.");
    assert.equal(stderr, `warning: Metrics cannot be served: port ${port} is in use, choose another\n`);
  });
});

/** OTLP is sent by packages that users install: what they hear when one is missing, or is of a version that does not fit. */

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { installCommand, withOtlpPackages } from "../../../../src/bridges/telemetry/otlp.ts";
import { readOtlpSettings } from "../../../../src/bridges/telemetry/otlp-settings.ts";
import { UserError } from "../../../../src/core/errors.ts";

const settings = readOtlpSettings({ endpoint: "http://127.0.0.1:4318", variables: {}, warn: assert.fail });
assert.ok(settings !== undefined);

const ALL =
  "npm install @opentelemetry/api@1 @opentelemetry/resources@3 @opentelemetry/sdk-trace@3 @opentelemetry/exporter-trace-otlp-proto@0.301 @opentelemetry/sdk-metrics@3 @opentelemetry/exporter-metrics-otlp-proto@0.301";

suite("the packages of OTLP", () => {
  test("a package that is not installed is named with all that are needed", async () => {
    const missing = Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" });
    const message = `OTLP needs packages that are not installed beside sous: ${ALL}`;
    await assert.rejects(
      withOtlpPackages(settings, () => Promise.reject(missing)),
      new UserError(message),
    );
  });

  test("a package without a class that is used is of another version", async () => {
    const { TracerProvider } = {} as { TracerProvider: new () => object };
    await assert.rejects(
      withOtlpPackages(settings, async () => new TracerProvider()),
      (error) =>
        error instanceof UserError &&
        error.message === `OTLP needs other versions of the packages beside sous: ${ALL}` &&
        error.cause instanceof TypeError,
    );
  });

  test("another error stays as it is", async () => {
    const error = new Error("no");
    await assert.rejects(
      withOtlpPackages(settings, () => Promise.reject(error)),
      error,
    );
  });

  test("the packages of OTLP are installed globally where sous is, and else in the project that has sous", () => {
    const folder = mkdtempSync(join(tmpdir(), "sous-installed-"));
    try {
      const file = join(folder, "node_modules/sous/dist/chunks/otlp.js");
      mkdirSync(join(file, ".."), { recursive: true });
      assert.equal(installCommand(["x"], file), "npm install --global x");
      writeFileSync(join(folder, "package.json"), "{}");
      assert.equal(installCommand(["x"], file), "npm install x");
      assert.equal(installCommand(["x"], join(folder, "src/bridges/telemetry/otlp.ts")), "npm install x");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

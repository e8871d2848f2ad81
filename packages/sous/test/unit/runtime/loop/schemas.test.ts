/** Schemas of tools: zod, valibot, arktype and plain JSON Schema do the same. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as z from "zod";
import type { AnySchema } from "../../../../src/core/schema.ts";
import { tool } from "../../../../src/core/tool.ts";
import { calls, says } from "../../../../src/testing/steps.ts";
import { openStage } from "../../../support/requirements/support.ts";

suite("a schema", () => {
  const schemas: [string, () => Promise<AnySchema>][] = [
    ["of zod", async () => z.object({ word: z.string().min(2) })],
    [
      "of valibot",
      async () => {
        const { object, string, pipe, minLength } = await import("valibot");
        const { toStandardJsonSchema } = await import("@valibot/to-json-schema");
        return toStandardJsonSchema(object({ word: pipe(string(), minLength(2)) }));
      },
    ],
    ["of arktype", async () => (await import("arktype")).type({ word: "string >= 2" }) as AnySchema],
    [
      "in plain JSON Schema",
      async () => ({ type: "object", properties: { word: { type: "string", minLength: 2 } }, required: ["word"] }),
    ],
  ];
  for (const [name, make] of schemas) {
    test(`${name} tells the model the shape and keeps bad input from the tool`, async () => {
      const seen: unknown[] = [];
      const inputSchema = await make();
      const say = tool({ name: "say", description: "Says.", inputSchema, execute: (input) => void seen.push(input) });
      const shown: unknown[] = [];
      const stage = openStage(
        { lead: [calls("say", { word: "x" }), calls("say", { word: "hello" }), says("Done.")] },
        { model: { onRequest: ({ tools }) => shown.push(...tools.map((each) => each.inputSchema)) } },
      );
      await stage.run(stage.lead({ tools: [say], delegate: false }));
      assert.deepEqual(seen, [{ word: "hello" }]);
      const [bad, good] = stage.resultsOf("lead");
      assert.equal(bad?.isError, true);
      assert.match(bad?.output ?? "", /word/);
      assert.deepEqual([good?.isError, good?.output], [false, "done"]);
      const { type, properties, required } = shown[0] as Record<string, unknown>;
      assert.deepEqual(
        { type, properties, required },
        { type: "object", properties: { word: { type: "string", minLength: 2 } }, required: ["word"] },
      );
    });
  }

  test("a schema that cannot be used is refused before anything starts", async () => {
    const stage = openStage({ lead: [says("Done.")] });
    const bad = tool({ name: "bad", description: "Bad.", inputSchema: { type: "nonsense" }, execute: () => 1 });
    await assert.rejects(
      stage.world.run(() => stage.start(stage.lead({ tools: [bad] }))),
      { name: "UserError" },
    );
  });
});

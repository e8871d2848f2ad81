/** The report of a redirect that is not followed. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { unredirectedFetch } from "../../../../src/runtime/model/model-fetch.ts";

test("B3.3: the error tells the first 100 characters of the new path within one host, otherwise only the host", async () => {
  const said = async (location: string | undefined) => {
    const headers = location === undefined ? {} : { location };
    const fetch = unredirectedFetch(async () => new Response(null, { status: 308, headers }));
    return await fetch("https://models.example/v1").then(
      () => assert.fail("it was followed"),
      ({ message }: Error) => /a redirect to (.*), which is not followed/.exec(message)?.[1],
    );
  };
  assert.equal(await said("/v2"), "https://models.example/v2");
  assert.equal(await said(`/${"v".repeat(150)}?key=x`), `https://models.example/${"v".repeat(99)}`);
  assert.equal(await said("https://other.example/v1?key=x"), "other.example");
  assert.equal(await said(undefined), "an address that cannot be read");
});

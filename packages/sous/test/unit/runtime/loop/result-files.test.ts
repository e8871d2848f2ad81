/** Files of a result: how many and how large they may be, and what the model reads of the others. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { FilePart } from "../../../../src/core/message.ts";
import type { ToolResult } from "../../../../src/core/tool.ts";
import { calls, says } from "../../../../src/testing/steps.ts";
import { openStage, type Stage, simpleTool } from "../../../support/requirements/support.ts";
import { rerunBothWays } from "../../../support/rerun/support.ts";

const MEGABYTE = 1024 * 1024;

function file(megabytes: number, mediaType = "image/png", filename?: string): FilePart {
  return { type: "file", mediaType, data: "A".repeat(megabytes * MEGABYTE), ...(filename && { filename }) };
}

/** What is stored and what the model is given of a result. A rerun gives the same, which takes long with large files. */
async function given(
  result: ToolResult,
  { isRunAgain = true } = {},
): Promise<{ output: string; files: readonly FilePart[] }> {
  const stage: Stage = openStage({ lead: [calls("look", {}), says("Done.")] });
  const lead = stage.lead({ tools: [simpleTool("look", () => result)] });
  const { runId } = await stage.run(lead);
  const [end] = stage.eventsOf("tool-call-end");
  const [read] = stage.resultsOf("lead");
  assert.deepEqual(end?.files, read?.files ?? []);
  if (isRunAgain) await rerunBothWays(stage, runId, [lead]);
  return { output: read?.output ?? "", files: read?.files ?? [] };
}

suite("files of a result", () => {
  test("files of a result are 20 at most, and the others are named", async () => {
    const documents = Array.from({ length: 27 }, (_, index) => file(0.001, "image/png", `${index}.png`));
    const { output, files } = await given({ success: true, output: "Seen", documents });
    assert.equal(files.length, 20);
    assert.match(
      output,
      /^Seen\n\[Files that were left out: 20\.png \(image\/png, 0\.0 MB\), .*24\.png .*, and 2 more\. /,
    );
  });

  test("files of a result are 10 MB at most together: a later one that still fits stays", async () => {
    const documents = [file(4), file(4), file(4, "image/png", "third.png"), file(1)];
    const { output, files } = await given({ success: true, output: "Seen", documents }, { isRunAgain: false });
    assert.deepEqual(
      files.map(({ data }) => data.length / MEGABYTE),
      [4, 4, 1],
    );
    assert.match(output, /left out: third\.png \(image\/png, 4\.0 MB\)\. A result can have 20 files, 10 MB together/);
  });

  test("files of a result are 5 MB at most for one picture, because providers refuse a larger one", async () => {
    const documents = [file(6), file(6, "application/pdf")];
    const { output, files } = await given({ success: true, output: "", documents }, { isRunAgain: false });
    assert.deepEqual(
      files.map(({ mediaType }) => mediaType),
      ["application/pdf"],
    );
    assert.match(output, /^\[Files that were left out: \(image\/png, 6\.0 MB\)\./);
  });

  test("files of a failed result are bounded too, and its error comes first", async () => {
    const { output } = await given({ success: false, output: "", error: "It broke", documents: [file(6)] });
    assert.match(output, /^It broke\n\[Files that were left out/);
  });

  test("files of a result within the limits are as they were, sound among them", async () => {
    const documents = [file(0.5, "audio/wav", "a.wav"), file(2)];
    assert.deepEqual(await given({ success: true, output: "Heard", documents }), { output: "Heard", files: documents });
  });

  test("files of a result have names of strangers: nothing in them acts", async () => {
    const { output } = await given({
      success: true,
      output: "",
      documents: [file(6, "image/png", "a\u001b[31m\nb.png")],
    });
    assert.match(output, /left out: a b\.png \(image/);
  });
});

/** Modes and models as agents offer them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { currentMode, modelRequest, modeRequest, skipsQuestions } from "../../../../src/bridges/acp/choices.ts";
import { sessionState } from "../../../../src/bridges/acp/schema.ts";
import { UserError } from "../../../../src/core/errors.ts";

const options = sessionState.parse({
  configOptions: [
    { id: "m", name: "Mode", category: "mode", type: "select", currentValue: "build", options: [{ value: "plan" }] },
    {
      id: "model",
      name: "Model",
      category: "model",
      type: "select",
      currentValue: "a/one",
      options: [{ group: "a", name: "A", options: [{ value: "a/one", name: "One" }, { value: 7 }] }],
    },
    { id: "fast", name: "Fast", type: "boolean", currentValue: true },
  ],
});
const modes = sessionState.parse({
  modes: { currentModeId: "default", availableModes: [{ id: "default", name: "Default" }, { id: "yolo" }] },
  models: { currentModelId: "old", availableModels: [{ modelId: "old" }] },
});

test("D4: a mode is set by its own request, or as an option where the agent has only options", () => {
  assert.deepEqual(modeRequest("x", modes, "yolo"), { method: "session/set_mode", params: { modeId: "yolo" } });
  const asOption = { method: "session/set_config_option", params: { configId: "m", value: "plan" } };
  assert.deepEqual(modeRequest("x", options, "plan"), asOption);
  assert.deepEqual([currentMode(modes), currentMode(options)], ["default", "build"]);
});

test("D4: a model is an option, found by its value or its name, also in a group", () => {
  const request = { method: "session/set_config_option", params: { configId: "model", value: "a/one" } };
  assert.deepEqual(modelRequest("x", options, "One"), request);
  assert.throws(() => modelRequest("x", modes, "old"), /has no model "old"; it offers no choice of model/);
  assert.throws(
    () => modelRequest("x", options, "two"),
    (error) => error instanceof UserError,
  );
});

test("B6.4: modes that skip questions are known however they are written", () => {
  const all = ["bypassPermissions", "yolo", "YOLO", "full-access", "danger-full-access", "auto_approve", "dontAsk"];
  const some = ["acceptEdits", "autoEdit", "auto_edit"];
  const skipping = [...all, ...some];
  assert.deepEqual(
    skipping.filter((mode) => !skipsQuestions(mode)),
    [],
  );
  assert.deepEqual(["default", "plan", "ask", "auto", "read-only"].filter(skipsQuestions), []);
});

/** Every part that knows a built-in tool without loading it, as one module: a test imports it with a changed table. */

export { readAgentFile } from "../../../src/app/config/agents/read.ts";
export { callTitle, diffOf, kindOf } from "../../../src/bridges/acp/serve-calls.ts";
export { createPolicy } from "../../../src/runtime/rights/policy.ts";
export { checkPattern } from "../../../src/runtime/rights/rule-pattern.ts";
export { toToolLog } from "../../../src/runtime/subagents/tool-logs.ts";

import { answer } from "./tree.mjs";

console.log(JSON.stringify(await answer()));

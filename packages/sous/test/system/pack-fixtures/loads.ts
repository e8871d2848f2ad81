/** Prints the address of every module that `import "sous"` loads. */

import { registerHooks } from "node:module";

const loaded: string[] = [];
registerHooks({
  load(url, context, nextLoad) {
    loaded.push(url);
    return nextLoad(url, context);
  },
});
await import("sous");
console.log(JSON.stringify(loaded));

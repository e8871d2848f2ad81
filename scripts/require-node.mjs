/** Preloaded by every npm script: says in one line that Node is too old, before TypeScript would fail to load. */

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(`sous needs Node 22.18 or newer to work on; this is ${process.versions.node}.
On Linux \`npm ci\` brings the right one; elsewhere install it first.`);
  process.exit(1);
}

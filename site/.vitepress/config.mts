/** VitePress turns the pages that `npm run site` stages in `.cache/pages` into `.cache/site`. Dead links fail the build. */

import { sidebarOf } from "../../scripts/site/sidebar.ts";
import { readSiteMap } from "../../scripts/site/site-map.ts";
import { slugOf } from "../../scripts/site/slug.ts";

export default {
  title: "sous",
  description: "An agent runtime for TypeScript, and a command line, whose agents can delegate.",
  srcDir: ".cache/pages",
  outDir: ".cache/site",
  cacheDir: ".cache/vite",
  // Links that go to the sources of a page would need the address of a repository.
  lastUpdated: false,
  markdown: { anchor: { slugify: slugOf } },
  themeConfig: {
    search: { provider: "local" },
    outline: { level: [2, 3] },
    nav: [
      { text: "Start", link: "/overview" },
      { text: "Examples", link: "/examples/" },
      { text: "Changelog", link: "/changelog" },
    ],
    sidebar: sidebarOf(readSiteMap(process.env.SOUS_ROOT ?? "..")),
  },
};

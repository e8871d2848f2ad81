/** VitePress turns the pages that `npm run site` stages in `.cache/pages` into `.cache/site`. Dead links fail the build. */

import { sidebarOf } from "../../scripts/site/sidebar.ts";
import { readSiteMap } from "../../scripts/site/site-map.ts";
import { slugOf } from "../../scripts/site/slug.ts";

/** The first page: a headline, code, and three doors beside each other. */
const STYLE = `
.vp-doc .language-text code { font-size: 13px; }
.VPHome .VPHero .main { max-width: none; text-align: center; }
.VPHome .VPHero .name, .VPHome .VPHero .text, .VPHome .VPHero .tagline { max-width: none; margin-left: auto; margin-right: auto; }
.VPHome .VPHero .tagline { max-width: 720px; }
.VPHome .VPHero.VPHomeHero { padding-bottom: 16px; }
.VPHome .vp-doc > div { max-width: 960px; margin: 0 auto; }
.VPHome .vp-doc ul { list-style: none; padding: 0; display: grid; gap: 16px; grid-template-columns: repeat(auto-fit, minmax(240px, 1fr)); }
.VPHome .vp-doc li { margin: 0; padding: 20px; border-radius: 12px; background: var(--vp-c-bg-soft); }
.VPHome .vp-doc li strong { display: block; margin-bottom: 8px; }
`;

export default {
  title: "sous",
  description: "An agent runtime for TypeScript, and a command line, whose agents can delegate.",
  srcDir: ".cache/pages",
  outDir: ".cache/site",
  cacheDir: ".cache/vite",
  // Links that go to the sources of a page would need the address of a repository.
  lastUpdated: false,
  head: [["style", {}, STYLE]],
  // The readme has a picture of a tree that is wider than the column beside an outline.
  transformPageData: (page: { relativePath: string; frontmatter: Record<string, unknown> }) => {
    if (page.relativePath === "overview.md") page.frontmatter.aside = false;
  },
  markdown: { anchor: { slugify: slugOf } },
  themeConfig: {
    search: { provider: "local" },
    outline: { level: [2, 3] },
    nav: [
      { text: "Start", link: "/overview" },
      { text: "Documentation", link: "/documentation" },
      { text: "Examples", link: "/examples/" },
      { text: "Changelog", link: "/changelog" },
    ],
    sidebar: sidebarOf(readSiteMap(process.env.SOUS_ROOT ?? "..")),
  },
};

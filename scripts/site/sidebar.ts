/** The sidebar of the site, in the form of VitePress. */

import { addressOf } from "./address.ts";
import type { Entry, Section } from "./site-map.ts";

export type SidebarItem = {
  readonly text: string;
  readonly link?: string;
  readonly collapsed?: boolean;
  readonly items?: readonly SidebarItem[];
};

export function sidebarOf(sections: readonly Section[]): SidebarItem[] {
  return sections.map(({ title, groups }) => ({
    // "Tutorials: learn by doing" is too long for a narrow column.
    text: title.split(":", 1)[0] ?? title,
    items: groups.flatMap(({ title, entries }) => {
      const items = entries.map(itemOf);
      return title === undefined ? items : [{ text: title, items }];
    }),
  }));
}

function itemOf({ title, path, heading, below }: Entry): SidebarItem {
  const link = `/${addressOf(path).replace(/(^|\/)index\.md$|\.md$/, "$1")}${heading === undefined ? "" : `#${heading}`}`;
  return { text: title, link, ...(below.length > 0 && { collapsed: true, items: below.map(itemOf) }) };
}

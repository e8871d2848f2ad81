/** The chart of the page about performance: for four figures, how many times as much as the bare loop each runtime takes. */

import { COLUMNS } from "./plan.mjs";
import { readable } from "./table.mjs";

const CHARTED = [
  { figure: "turn", title: "A turn with one tool call: CPU" },
  { figure: "delegation", title: "A delegation to a child of three turns: CPU" },
  { figure: "largeWall", title: "1,000 children at once, on a model that takes 20 ms: wall time" },
  { figure: "resident", title: "1,000 children at once: memory for each" },
];

const WIDTH = 760;
const [LEFT, RIGHT] = [120, 70];
const [TITLE, BAR, GAP] = [30, 18, 22];

/** An SVG in the colours that the reader prefers, light or dark. The scale is logarithmic: from the bare loop to the slowest runtime. */
export function drawChart(summaries) {
  const runtimes = COLUMNS.filter(({ name, kind }) => name === "sous" || (kind === "peer" && summaries[name] !== undefined));
  const ratioOf = (name, figure) => summaries[name]?.[figure]?.median / summaries.raw[figure].median;
  const most = Math.max(...CHARTED.flatMap(({ figure }) => runtimes.map(({ name }) => ratioOf(name, figure) || 1)));
  const lengthOf = (ratio) => (Math.log(Math.max(1, ratio)) / Math.log(most)) * (WIDTH - LEFT - RIGHT);
  let y = 28;
  const parts = [];
  for (const { figure, title } of CHARTED) {
    y += TITLE;
    parts.push(text(0, y - 8, title, "title"));
    const bars = runtimes
      .map(({ name }) => ({ name, ratio: ratioOf(name, figure) }))
      .filter(({ ratio }) => Number.isFinite(ratio))
      .sort((one, other) => one.ratio - other.ratio);
    for (const { name, ratio } of bars) {
      const length = Math.max(1, lengthOf(ratio));
      const kind = name === "sous" ? "sous" : "peer";
      parts.push(
        text(LEFT - 8, y + BAR - 5, name, `${kind} name`),
        `<rect class="${kind}" x="${LEFT}" y="${y}" width="${length.toFixed(1)}" height="${BAR - 4}" rx="2"/>`,
        text(LEFT + length + 6, y + BAR - 5, `${readable(ratio)}×`, kind),
      );
      y += BAR;
    }
    y += GAP;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="-16 0 ${WIDTH + 32} ${y}" role="img" aria-labelledby="title">
<title id="title">How many times as much as a bare loop sous and other runtimes take, less is better</title>
<style>${STYLE}</style>
<rect class="ground" x="-16" width="${WIDTH + 32}" height="${y}"/>
${text(0, 24, "Multiples of a bare loop, on a logarithmic scale; less is better", "note")}
${parts.join("\n")}
</svg>
`;
}

function text(x, y, words, kind) {
  return `<text class="${kind}" x="${x.toFixed(1)}" y="${y}">${words}</text>`;
}

const STYLE = `
text { font: 13px system-ui, sans-serif; fill: #57606a }
text.title { font-weight: 600; fill: #1f2328 }
text.name { text-anchor: end }
text.sous { font-weight: 600; fill: #0b6b46 }
rect.ground { fill: #ffffff }
rect.sous { fill: #1a9c68 }
rect.peer { fill: #b6bec8 }
@media (prefers-color-scheme: dark) {
  text { fill: #9da7b3 }
  text.title { fill: #e6edf3 }
  text.sous { fill: #56d4a0 }
  rect.ground { fill: #0d1117 }
  rect.sous { fill: #2ea776 }
  rect.peer { fill: #484f58 }
}
`;

/** The style of an exported tree: on a screen, light or dark, on a phone and on paper. */

export const HTML_STYLE = `
:root {
  color-scheme: light dark;
  --paper: light-dark(#fbfaf8, #16171a); --card: light-dark(#fff, #1e2024); --ink: light-dark(#1c1d20, #e8e6e1);
  --soft: light-dark(#63666d, #9b9ea6); --line: light-dark(#e3e0da, #33363c); --well: light-dark(#f5f3ef, #191b1e);
  --good: light-dark(#1a7f4b, #5cc98f); --half: light-dark(#8a6100, #e0b34d); --bad: light-dark(#b3261e, #ff8a80);
  --open: light-dark(#2a5db0, #82b1ff); --accent: light-dark(#7a4a1e, #e0a876);
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace;
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 2rem 1.25rem 4rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { margin: .25rem 0 .5rem; font-size: 1.6rem; line-height: 1.25; text-wrap: balance; overflow-wrap: anywhere; }
h3, h4 { margin: 0; font-size: 1rem; }
h4 { color: var(--soft); font-size: .75rem; font-weight: 600; letter-spacing: .05em; text-transform: uppercase; }
a { color: inherit; text-decoration-color: var(--accent); text-underline-offset: .2em; }
.kicker, .figures, .time, .approval, footer { color: var(--soft); font-size: .875rem; }
.kicker { margin: 0; }
.figures span + span::before, .approval::before { content: "· "; }
.child { font-weight: 400; overflow-wrap: anywhere; } .child::before { content: "→ "; color: var(--soft); }
.badge { display: inline-block; padding: 0 .5em; border: 1px solid currentColor; border-radius: 1em; font-size: .75rem;
  font-weight: 600; line-height: 1.6; white-space: nowrap; }
.badge.good { color: var(--good); } .badge.half { color: var(--half); }
.badge.bad { color: var(--bad); } .badge.open { color: var(--open); }
nav { margin: 1.5rem 0; border: 1px solid var(--line); border-radius: .6rem; background: var(--card); }
.scroll { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .9rem; text-align: right; white-space: nowrap; }
thead th { color: var(--soft); font-size: .75rem; font-weight: 600; border-bottom: 1px solid var(--line); }
tbody tr + tr > * { border-top: 1px solid var(--line); }
th:first-child, td:nth-child(2), th:nth-child(2) { text-align: left; }
tbody th { padding-left: calc(.9rem + var(--depth, 0) * 1.4rem); font-weight: 500; }
tbody th:not([style="--depth:0"])::before { content: "└ "; color: var(--soft); }
.run { margin: 1rem 0; border: 1px solid var(--line); border-left: .3rem solid var(--soft); border-radius: .6rem;
  background: var(--card); }
.run.good { border-left-color: var(--good); } .run.half { border-left-color: var(--half); }
.run.bad { border-left-color: var(--bad); } .run.open { border-left-color: var(--open); }
summary { cursor: pointer; }
.run > summary { padding: .75rem 1rem; }
.path { font-weight: 600; overflow-wrap: anywhere; }
.inside { padding: 0 1rem 1rem; scroll-margin-top: 4rem; }
.facts { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; margin: 0 0 1rem; font-size: .85rem; }
.facts div { display: flex; gap: .4rem; min-width: 0; } .facts dt { color: var(--soft); white-space: nowrap; }
.facts dd { margin: 0; overflow-wrap: anywhere; }
.entries { list-style: none; margin: 0; padding: 0; }
.message { padding: .75rem 0; border-top: 1px solid var(--line); }
.by { margin-bottom: .25rem; font-size: .8rem; font-weight: 600; }
.by .time { font-weight: 400; }
.model .by { color: var(--accent); }
.number { display: inline-block; min-width: 1.6em; padding: 0 .35em; border-radius: 1em; background: var(--well);
  color: var(--soft); text-align: center; }
.text { max-width: 48rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.notice .text, .steer .text, .report .text { padding-left: .75rem; border-left: 2px solid var(--line); }
.remark { margin: .5rem 0; color: var(--soft); font-size: .875rem; overflow-wrap: anywhere; }
.remark.bad { color: var(--bad); } .remark.bad::before { content: "! "; font-weight: 700; }
.call, .end { margin-top: .75rem; padding: .6rem .75rem .75rem; border: 1px solid var(--line); border-radius: .5rem; }
.call h3, .end h3 { margin-bottom: .4rem; font-size: .9rem; } .end h3:last-child { margin-bottom: 0; }
h3 .time, h3 .approval { font-weight: 400; }
.call.failed { border-color: var(--bad); } .call.failed .state { color: var(--bad); }
.call.done .state { color: var(--good); } .call.open { border-style: dashed; }
.sides { display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); gap: .75rem; }
pre { margin: .2rem 0 0; max-height: 26rem; padding: .6rem .75rem; overflow: auto; border-radius: .4rem; background: var(--well);
  font: .8125rem/1.5 var(--mono); white-space: pre-wrap; overflow-wrap: anywhere; tab-size: 4; }
code { font-family: var(--mono); overflow-wrap: anywhere; }
.text, pre, h1, .path { unicode-bidi: isolate; }
.more { margin: .25rem 0; } .more > summary { color: var(--soft); font-size: .875rem; }
.hidden { padding: 0 .25em; border-radius: .25em; background: var(--half); color: var(--card); font: .85em var(--mono);
  unicode-bidi: isolate; }
figure { margin: .5rem 0; } img { display: block; max-width: 100%; max-height: 30rem; border: 1px solid var(--line); border-radius: .4rem; }
figcaption, .file { margin: .25rem 0; color: var(--soft); font-size: .875rem; overflow-wrap: anywhere; }
footer { margin-top: 2rem; text-align: center; }
:focus-visible { outline: 2px solid var(--open); outline-offset: 2px; }
@media (max-width: 40rem) {
  body { padding: 1rem .75rem 3rem; } h1 { font-size: 1.3rem; }
  .sides { grid-template-columns: minmax(0, 1fr); } th, td { padding: .4rem .5rem; }
}
@media print {
  :root { color-scheme: light; } body { max-width: none; padding: 0; font-size: 10pt; }
  details::details-content { display: block; height: auto; content-visibility: visible; opacity: 1; }
  pre { max-height: none; overflow: visible; } .run, nav { break-inside: auto; } .call, tr { break-inside: avoid; }
}
`;

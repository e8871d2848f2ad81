/** Shows a run in the page of a browser while it works. */

// #region browser
export function watch(url, { show, done }) {
  const texts = new Map();
  const source = new EventSource(url);
  source.onmessage = ({ data }) => {
    const event = JSON.parse(data);
    if (event.type === "text-delta") texts.set(event.path, (texts.get(event.path) ?? "") + event.text);
    if (event.type === "message-end") texts.set(event.path, event.text); // whole, also when deltas were missed
    show(event, texts.get(event.path) ?? "");
    if (event.type === "message-end") texts.delete(event.path);
    if (event.type !== "run-end" || event.path.includes("/")) return;
    source.close(); // else the browser would connect again
    done(event.status);
  };
}
// #endregion

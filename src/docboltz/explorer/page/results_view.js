// Documents that answer a search or are like another, with the reasons for each.

import { button, element, foreign, link } from "./dom.js";
import { format } from "./address.js";
import { bestWindow, beginning, counted, pieces, score } from "./format.js";
import { nothing } from "./panel.js";
import { about, topicLink } from "./parts.js";
import { reasonBar, reasonTable } from "./reasons.js";

const HITS = 20;
const WIDTH = 220; // code points of a snippet

export async function showSearch(app, { query: { q = "" } }) {
  if (!q.trim()) {
    const nodes = nothing("Search", "Type words into the field above: hits come as you type, and are marked on the map.");
    return { nodes, onMap: () => app.emphasise([]) };
  }
  const found = await app.source.search(q, { limit: HITS, reasons: true });
  return results(app, found, [element("h2", {}, "Results for ", quoted(q))], `for “${q}”`);
}

export async function showSimilar(app, { id }) {
  if (!id) return showSearch(app, { query: {} });
  const found = await app.source.similar(id, { limit: HITS, reasons: true });
  const title = element("h2", {}, "Most like ", link(format("document", id), {}, foreign(id)));
  return results(app, found, [title], `like ${id}`);
}

const quoted = (text) => foreign(`“${beginning(text, 60)}”`);

function results(app, { hits, unknown, message }, title, of) {
  const onMap = () => app.emphasise(hits);
  const not = unknown.length > 0 && element("p", { class: "quiet" }, "Not in the vocabulary: ",
    ...unknown.flatMap((word, i) => [i ? ", " : "", foreign(word)]));
  if (!hits.length) {
    const why = message ?? "No document answers this. Try other words.";
    return { nodes: [...title, element("p", { class: "problem" }, why), not], said: `No documents ${of}. ${why}`, onMap };
  }
  const said = `${counted(hits.length, "document")} ${of}, best first.`;
  const zoom = element("div", { class: "actions" },
    button("Zoom to the hits", () => app.map.zoomTo(hits.map((hit) => hit.row)), { class: "small" }));
  return { nodes: [...title, not, zoom, hitList(app, hits)], said, onMap };
}

/** Hits with their numbers on the map. */
export function hitList(app, hits) {
  const most = Math.max(...hits.map((hit) => hit.score), 1e-9);
  return element("ol", { class: "hits" }, ...hits.map((hit, i) => hitItem(app, hit, i, most)));
}

function hitItem(app, hit, i, most) {
  const pointed = () => app.map.encircle(hit.row);
  const left = () => app.map.encircle(-1);
  const why = hit.reasons ? [reasonBar(app, hit, most)] : [];
  return element("li",
    { class: "hit", onpointerenter: pointed, onpointerleave: left, onfocusin: pointed, onfocusout: left },
    element("div", { class: "hit-head" },
      element("span", { class: "rank", "aria-hidden": "true" }, String(i + 1)),
      link(format("document", hit.id), { class: "title" }, foreign(hit.id)),
      element("span", { class: "number", title: "score" }, score(hit.score))),
    snippet(hit), ...why,
    element("div", { class: "meta" }, topicLink(app, hit.topic), about(hit)),
    element("div", { class: "actions" },
      hit.reasons && reasonTable(app, hit),
      link(format("similar", hit.id), { class: "small" }, "Documents like it")));
}

function snippet({ text, matches }) {
  const begin = bestWindow(matches, WIDTH, text);
  const spans = matches.map(([from, to]) => [from, to, true]);
  const marked = pieces(text, spans, begin, begin + WIDTH).map(([piece, hit]) => {
    const plain = piece.replace(/\s+/g, " ");
    return hit ? element("mark", {}, plain) : plain;
  });
  const more = Array.from(text.slice(0, 4 * WIDTH + begin)).length > begin + WIDTH;
  return element("p", { class: "snippet", dir: "auto" }, begin > 0 && "… ", ...marked, more && " …");
}

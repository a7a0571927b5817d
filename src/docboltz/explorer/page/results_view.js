// Documents that answer a search or are like another, with the reasons for each.

import { button, element, foreign, link } from "./dom.js";
import { format } from "./address.js";
import { afterTitle, bestWindow, beginning, counted, pieces, score } from "./format.js";
import { nothing } from "./panel.js";
import { about, headline, idOf, topicLink } from "./parts.js";
import { reasonBar, reasonTable } from "./reasons.js";

const HITS = 20;
const WIDTH = 220; // code points of a snippet

export async function showSearch(app, { query: { q = "" } }) {
  if (!q.trim()) {
    const nodes = nothing("Search", "Type words into the field above: hits come as you type, and are marked on the map.",
      "“exact words” in quotes find a phrase, -word leaves documents out, label:name, since:2013, until:2014 and "
      + "column:value choose among them.");
    return { nodes, onMap: () => app.emphasise([]) };
  }
  const title = [element("h2", {}, "Results for ", quoted(q))];
  const found = await app.source.search(q, { limit: HITS, reasons: true }).catch((error) => {
    if (error.kind !== "refused" || (error.status ?? 400) !== 400) throw error;
    return { hits: [], unknown: [], suggestions: {}, phrases: [], message: error.message }; // of a filter, half typed
  });
  return results(app, q, found, title, `for “${q}”`);
}

export async function showSimilar(app, { id }) {
  if (!id) return showSearch(app, { query: {} });
  const [found, [document]] = await Promise.all([
    app.source.similar(id, { limit: HITS, reasons: true }),
    app.source.documents({ ids: [id] }),
  ]);
  const title = headline(document);
  const heading = element("h2", {}, "Most like ", link(format("document", id), {}, foreign(title)));
  return results(app, "", found, [heading, idOf(document)], `like ${title}`);
}

const quoted = (text) => foreign(`“${beginning(text, 60)}”`);

/** What to know of a query beside its hits, with links to what may have been meant. */
function remarks(q, { unknown, suggestions, phrases, hits, message }) {
  const listed = (nodes) => nodes.flatMap((node, i) => [i ? ", " : "", node]);
  const spelt = Object.entries(suggestions).filter(([, found]) => found.length);
  const others = spelt.flatMap(([word, found]) => found.map((other) => [other, replaced(q, word, other)]));
  const corrected = spelt.reduce((text, [word, [first]]) => replaced(text, word, first), q);
  if (spelt.length > 1) others.unshift([corrected, corrected]);
  const links = others.map(([text, query]) => link(format("search", null, { q: query }), {}, foreign(text)));
  const told = [
    ...phrases.map((phrase) => ["No document has the phrase ", foreign(`“${phrase}”`), hits.length ? ". These are about its words." : "."]),
    ...(unknown.length ? [["No document has: ", ...listed(unknown.map((word) => foreign(word))), "."]] : []),
    ...(links.length ? [["Did you mean: ", ...listed(links), "?"]] : []),
  ];
  const kind = hits.length ? "quiet" : "problem";
  if (!told.length && !hits.length) told.push([message ?? "No document answers this. Try other words."]);
  return told.length > 0 && element("p", { class: `${kind} remark` }, ...told.flatMap((nodes) => [...nodes, " "]));
}

/** A query with another word in the place of one, in whatever case that was typed. */
function replaced(q, word, other) {
  const at = q.toLowerCase().indexOf(word.toLowerCase());
  return at < 0 ? other : q.slice(0, at) + other + q.slice(at + word.length);
}

function results(app, q, found, title, of) {
  const { hits, message } = found;
  const onMap = () => app.emphasise(hits);
  const told = remarks(q, found);
  if (!hits.length) return { nodes: [...title, told], said: `No documents ${of}. ${message ?? ""}`, onMap };
  const said = `${counted(hits.length, "document")} ${of}, best first.`;
  const zoom = element("div", { class: "actions" },
    button("Zoom to the hits", () => app.map.zoomTo(hits.map((hit) => hit.row)), { class: "small" }));
  return { nodes: [...title, told, zoom, hitList(app, hits)], said, onMap };
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
      link(format("document", hit.id), { class: "title" }, foreign(headline(hit))),
      element("span", { class: "number", title: "score" }, score(hit.score))),
    snippet(hit), ...why,
    element("div", { class: "meta" }, topicLink(app, hit.topic), about(hit)),
    idOf(hit),
    element("div", { class: "actions" },
      hit.reasons && reasonTable(app, hit),
      link(format("similar", hit.id), { class: "small" }, "Documents like it")));
}

function snippet({ text, title, matches, begin: before, whole }) {
  const found = bestWindow(matches, WIDTH, text);
  const behind = Array.from(text.slice(0, text.length - afterTitle({ title, text }).length)).length; // where the text goes on, if that has matches
  const begin = found === 0 && (!matches.length || matches.some(([from]) => from >= behind)) ? behind : found;
  const spans = matches.map(([from, to]) => [from, to, true]);
  const marked = pieces(text, spans, begin, begin + WIDTH).map(([piece, hit]) => {
    const plain = piece.replace(/\s+/g, " ");
    return hit ? element("mark", {}, plain) : plain;
  });
  const more = !whole || Array.from(text.slice(0, 4 * WIDTH + begin)).length > begin + WIDTH;
  return element("p", { class: "snippet", dir: "auto" }, begin + before > 0 && begin !== behind && "… ", ...marked, more && " …");
}

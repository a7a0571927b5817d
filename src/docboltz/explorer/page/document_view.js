// A document, and a text that was pasted: topics, what its words say, what is like it.

import { button, element, foreign, link, section } from "./dom.js";
import { format, go } from "./address.js";
import { contributions } from "./contributions.js";
import { counted, percent } from "./format.js";
import { nothing } from "./panel.js";
import { about, bars, headline, idOf, topicLink, words } from "./parts.js";
import { hitList } from "./results_view.js";

const NEIGHBOURS = 8;

export async function showDocument(app, { id }) {
  if (!id) {
    const nodes = nothing("Document", "Choose a document: a point on the map, a hit, or a typical document of a topic.");
    return { nodes, onMap: () => app.emphasise([]) };
  }
  const [found, near] = await Promise.all([
    app.source.document(id),
    app.source.similar(id, { limit: NEIGHBOURS, reasons: true }),
  ]);
  const onMap = () => {
    app.emphasise(near.hits, [{ ...app.map.placeOf(found.row), text: "", kind: "self" }]);
    app.map.reveal([found.row]);
  };
  const nodes = [
    element("h2", { class: "title" }, foreign(headline(found))),
    idOf(found),
    about(found),
    section("Topics", topicBars(app, found.topics)),
    section("Text", ...contributions(found)),
    section("Documents like it", near.hits.length ? hitList(app, near.hits) : element("p", { class: "quiet" }, near.message ?? "None."),
      near.hits.length > 0 && link(format("similar", id), { class: "small" }, "More documents like it")),
  ];
  return { nodes, said: `Document ${headline(found)}.`, onMap };
}

/** Ask with a text: a field, and what the model makes of the text if there is one. */
export async function showAsk(app, { query: { text = "" } }) {
  const field = element("textarea", { id: "ask-text", rows: 6, dir: "auto", maxlength: 100000 });
  field.value = text;
  const ask = () => field.value.trim() && go("ask", null, { text: field.value });
  field.addEventListener("keydown", (event) => (event.ctrlKey || event.metaKey) && event.key === "Enter" && ask());
  const form = [
    element("h2", {}, "Ask with a text"),
    element("label", { for: "ask-text", class: "quiet" }, "Paste or write a text: its topics, its place on the map and what is like it."),
    field, button("Ask", ask, { class: "primary" }),
  ];
  if (!text.trim()) {
    setTimeout(() => field.focus()); // when it is shown: whoever asks wants to write
    return { nodes: form, onMap: () => app.emphasise([]) };
  }
  const found = await app.source.explain(text);
  const onMap = () => {
    app.emphasise(found.hits, [{ x: found.x ?? NaN, y: found.y ?? NaN, text: "", kind: "self" }]);
    if (found.x !== null) app.map.revealPlace(found.x, found.y);
  };
  const [said, ...answer] = explained(app, text, found);
  return { nodes: [...form, ...answer], said, onMap };
}

/** What is said of the answer, and its nodes. */
function explained(app, text, found) {
  const like = section("Documents like it", found.hits.length ? hitList(app, found.hits) : element("p", { class: "quiet" }, "None."));
  if (!found.known.length) {
    const told = "The model knows none of these words, so it says nothing of their topics. Try a longer text, or one in the language of the collection.";
    return [told, element("p", { class: "problem" }, told), found.hits.length > 0 && like];
  }
  const expected = found.expected.map(({ word, lift }) => ({ word, hint: `${lift.toFixed(1)} ×` }));
  return [
    `${counted(found.topics.length, "topic")} and ${counted(found.hits.length, "neighbour")} found.`,
    section("Topics", topicBars(app, found.topics)),
    section("Words the model expects beside it", words(expected)),
    section("Which words say what", ...contributions({ ...found, text })),
    found.unknown.length > 0 && element("p", { class: "quiet" }, "The model does not know: ",
      ...found.unknown.flatMap((word, i) => [i ? ", " : "", foreign(word)])),
    like,
  ];
}

function topicBars(app, topics) {
  if (!topics.length) return element("p", { class: "quiet" }, "It belongs to no topic.");
  return bars(topics.map(({ topic, name, probability }) => ({
    name: topicLink(app, topic, name), share: probability, text: percent(probability), colour: app.colourOf(topic),
  })));
}

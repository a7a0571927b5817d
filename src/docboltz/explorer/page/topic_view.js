// One topic: words, typical documents, labels, the course of time; its name can be changed.

import { button, element, foreign, link, section } from "./dom.js";
import { format } from "./address.js";
import { line } from "./charts.js";
import { count, counted, percent } from "./format.js";
import { nothing } from "./panel.js";
import { bars, documentItem, dot, topicLink, words } from "./parts.js";

const LABELS = 10;

export async function showTopic(app, { id }) {
  const topic = app.topics.find((each) => String(each.topic) === id);
  if (!topic) {
    const nodes = nothing("There is no such topic", "It may have been merged with another. All topics are in the list.",
      ...(app.draft === null ? [] : [`The name that was not saved: ${app.draft}`]));
    return { nodes, onMap: () => app.emphasise([]) };
  }
  const own = app.leavesOf(topic.topic);
  const onMap = () => app.emphasise([], [], app.rowsOfTopics(own), topic.topic);
  const ids = topic.examples.map(({ id }) => id);
  const [byLabel, byDate, examples] = await Promise.all([
    app.collection.has_labels ? app.topicsBy("label") : null,
    app.collection.has_dates ? app.topicsBy("date") : null,
    app.source.documents({ ids }).catch(() => topic.examples), // which may be gone
  ]);
  const below = app.topics.filter((each) => each.parent === topic.topic);
  const path = above(app, topic);
  const nodes = [
    path.length > 0 && element("nav", { class: "path", "aria-label": "Broader topics" }, ...path),
    heading(app, topic, below.length > 0),
    element("p", { class: "quiet" }, `${counted(topic.documents, "document")}, ${percent(topic.share)} of all. `),
    element("div", { class: "actions" },
      button("Zoom to it", () => app.map.zoomTo(app.rowsOfTopics(own)), { class: "small" })),
    below.length > 1 && section("Made of", bars(below.map((each) => ({
      name: topicLink(app, each.topic, each.name), share: each.share, colour: app.colourOf(each.topic),
    })))),
    section("Words", words(topic.words)),
    topic.expected.length > 0 && section("Words the model expects", words(topic.expected)),
    byDate && overTime(byDate, own, topic),
    byLabel && overLabels(byLabel, own),
    topic.examples.length > 0 && section("Typical documents",
      element("ul", { class: "documents" }, ...examples.map((each) => documentItem(app, each)))),
  ];
  return { nodes, said: `Topic ${topic.name}: ${counted(topic.documents, "document")}.`, onMap };
}

function above(app, topic) {
  const found = [];
  for (let at = topic.parent; at !== null; ) {
    const parent = app.topics.find((each) => each.topic === at);
    if (!parent) break;
    found.unshift(link(format("topic", parent.topic), {}, foreign(parent.name)), " › ");
    at = parent.parent;
  }
  return found;
}

/** The name, and a field for another. */
function heading(app, topic, broad) {
  const title = element("h2", {}, !broad && dot(app, topic.topic), foreign(topic.name));
  const row = element("div", { class: "title-row" }, title);
  if (app.collection.edit) row.append(button("Rename", edit, { class: "small" }));

  function edit() {
    app.draft ??= topic.name;
    const field = element("input", { type: "text", "aria-label": "Name of the topic", maxlength: 200, dir: "auto" });
    field.value = app.draft;
    field.addEventListener("input", () => (app.draft = field.value));
    const form = element("form", { class: "rename" }, field,
      element("button", { type: "submit", class: "primary" }, "Save"), button("Cancel", cancel));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      app.change(() => app.source.renameTopic(topic.topic, field.value.trim()), "The topic is renamed.");
    });
    form.addEventListener("keydown", (event) => event.key === "Escape" && cancel());
    row.replaceChildren(form);
    field.select();
  }

  function cancel() {
    app.draft = null;
    app.refresh();
  }
  if (app.draft !== null) edit(); // it was being typed when the view was shown anew
  return row;
}

/** Groups of several topics added up. */
function summed(all, own) {
  const mine = all.filter((each) => own.has(each.topic));
  return (mine[0]?.groups ?? []).map(({ group, of }, i) => {
    const documents = mine.reduce((total, each) => total + each.groups[i].documents, 0);
    return { group, of, documents, share: of ? documents / of : 0 };
  });
}

function overTime(all, own, topic) {
  const periods = summed(all, own);
  if (periods.length < 2) return null;
  const { trend } = own.size === 1 ? (all.find((each) => own.has(each.topic)) ?? {}) : {};
  return section("Over time", line(periods, `Share of ${topic.name}`),
    element("p", { class: "quiet" }, "Share of each period’s documents.", trend ? ` It is ${trend}.` : ""));
}

function overLabels(all, own) {
  const groups = summed(all, own).filter(({ documents }) => documents > 0);
  if (!groups.length) return null;
  const shown = groups.toSorted((a, b) => b.share - a.share).slice(0, LABELS);
  return section("By label", bars(shown.map(({ group, share, documents, of }) => ({
    name: foreign(group, { title: `${count(documents)} of ${count(of)}` }), share,
  }))), element("p", { class: "quiet" }, "Share of the documents with the label that are about this topic."));
}

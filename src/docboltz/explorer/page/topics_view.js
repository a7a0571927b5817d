// All topics as a tree; several can be made one.

import { button, element, foreign, link } from "./dom.js";
import { format, go } from "./address.js";
import { counted, percent } from "./format.js";
import { nothing } from "./panel.js";
import { dot } from "./parts.js";

const WORDS = 7; // of each topic

export async function showTopics(app) {
  const onMap = () => app.emphasise([]);
  const topics = app.topics;
  if (!topics.length) return { nodes: nothing("Topics", "No topics were found in this collection."), onMap };
  const children = Map.groupBy ? Map.groupBy(topics, (topic) => topic.parent) : grouped(topics);
  const leaves = topics.filter((topic) => !children.has(topic.topic));
  const chosen = new Set();
  const merge = button("Merge topics…", () => start(), { class: "small" });
  const bar = element("div", { class: "actions" }, app.collection.edit && leaves.length > 1 && merge);
  const tree = element("ul", { class: "topics" }, ...branch(null));
  const told = `${counted(leaves.length, "topic")} in ${counted(app.collection.documents, "document")}.`;

  function branch(parent) {
    return (children.get(parent) ?? []).flatMap((topic) => {
      const below = children.get(topic.topic) ?? [];
      // A broader topic of one topic alone says nothing that this one does not say.
      return below.length === 1 ? branch(topic.topic) : [item(topic, below.length > 0)];
    });
  }

  function item(topic, broad) {
    const size = element("span", { class: "bar", "aria-hidden": "true" });
    size.style.width = `${100 * topic.share}%`;
    if (!broad) size.style.background = app.colourOf(topic.topic);
    const shown = topic.words.filter((word) => !topic.name.includes(word)).slice(0, WORDS);
    return element("li", { class: broad ? "topic broad" : "topic" },
      element("div", { class: "topic-row" },
        !broad && dot(app, topic.topic),
        link(format("topic", topic.topic), { class: "title" }, foreign(topic.name)),
        element("span", { class: "number" }, percent(topic.share))),
      element("div", { class: "bar-track thin" }, size),
      !broad && element("p", { class: "quiet", dir: "auto" }, shown.join(" · ")),
      broad && element("ul", {}, ...branch(topic.topic)));
  }

  /** Let topics be chosen. */
  function start() {
    const save = button("Merge", () => done(), { class: "primary", disabled: true });
    bar.replaceChildren(element("span", { class: "quiet" }, "Choose two topics or more to make one of."),
      save, button("Cancel", () => app.refresh()));
    for (const row of tree.querySelectorAll(".topic:not(.broad) > .topic-row")) {
      const a = row.querySelector("a");
      const number = Number(a.hash.split("/")[2].split("?")[0]);
      const box = element("input", { type: "checkbox", "aria-label": `Merge ${a.textContent}` });
      box.addEventListener("change", () => {
        chosen[box.checked ? "add" : "delete"](number);
        save.disabled = chosen.size < 2;
        save.textContent = chosen.size < 2 ? "Merge" : `Merge ${chosen.size} topics`;
      });
      row.prepend(box);
    }
    tree.querySelector("input")?.focus();
  }

  async function done() {
    const numbers = [...chosen];
    const merged = await app.change(() => app.source.mergeTopics(numbers), "The topics are merged.");
    if (merged) go("topic", numbers[0]);
  }

  const nodes = [element("h2", {}, "Topics"), element("p", { class: "quiet" }, told), bar, tree];
  return { nodes, said: told, onMap };
}

function grouped(topics) {
  const found = new Map();
  for (const topic of topics) found.set(topic.parent, [...(found.get(topic.parent) ?? []), topic]);
  return found;
}

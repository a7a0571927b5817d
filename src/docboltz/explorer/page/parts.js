// Pieces that several views share: bars, chips, topics with their colours, documents in a list.

import { element, foreign, link } from "./dom.js";
import { format } from "./address.js";
import { afterTitle, beginning, firstLine, percent } from "./format.js";

/** A dot in the colour of a topic. */
export function dot(app, topic) {
  const found = element("span", { class: "dot" });
  found.style.setProperty("--swatch", app.colourOf(topic));
  return found;
}

/** A link to a topic, with its colour. */
export function topicLink(app, topic, name = app.topicName(topic)) {
  if (topic === null) return element("span", { class: "quiet" }, "no topic");
  return link(format("topic", topic), { class: "topic-link" }, dot(app, topic), foreign(name));
}

/**
 * Rows of a name, a bar and a number.
 * @param {{name: Node, share: number, text?: string, colour?: string}[]} rows
 */
export function bars(rows) {
  const most = Math.max(...rows.map(({ share }) => share), 1e-9);
  return element("ul", { class: "bars" }, ...rows.map(({ name, share, text, colour }) => {
    const bar = element("span", { class: "bar", "aria-hidden": "true" });
    bar.style.width = `${(100 * share) / most}%`;
    if (colour) bar.style.background = colour;
    return element("li", {},
      element("span", { class: "bar-name" }, name),
      element("span", { class: "bar-track" }, bar),
      element("span", { class: "number" }, text ?? percent(share)));
  }));
}

/** Words that are searched for when they are clicked. */
export function words(list) {
  return element("ul", { class: "chips" }, ...list.map((each) => {
    const { word, hint } = typeof each === "string" ? { word: each, hint: null } : each;
    return element("li", {},
      link(format("search", null, { q: word }), { class: "chip" }, foreign(word),
        hint && element("span", { class: "number" }, hint)));
  }));
}

/** What a document is called: its title, or its id if it has neither that nor a text. */
export const headline = ({ title, id }) => title || id;

/** The id, small, where it is not the headline. */
export function idOf({ title, id }) {
  return title && title !== id && element("p", { class: "id quiet" }, foreign(id));
}

/** What is known about a document beside its text: labels, date, columns that were kept. */
export function about({ labels, date, columns = {} }) {
  const kept = Object.entries(columns).filter(([, value]) => value);
  return element("p", { class: "about" },
    ...labels.map((label) => foreign(label, { class: "chip" })),
    date && foreign(date.replace("T", " "), { class: "quiet" }),
    ...kept.map(([name, value]) => element("span", { class: "quiet" }, foreign(name), ": ", foreign(value))));
}

/** A document in a list; the map shows where it is while one points at it. */
export function documentItem(app, { id, row, text, title = beginning(firstLine(text), 100), labels, date, columns, topic }) {
  const pointed = () => row !== undefined && app.map.encircle(row);
  const left = () => app.map.encircle(-1);
  return element("li",
    { class: "document-item", onpointerenter: pointed, onpointerleave: left, onfocusin: pointed, onfocusout: left },
    link(format("document", id), { class: "title" }, foreign(headline({ title, id }))),
    element("p", { class: "snippet", dir: "auto" }, beginning(afterTitle({ title, text })) || "(without a text)"),
    element("div", { class: "meta" }, topic !== undefined && topicLink(app, topic), labels && about({ labels, date, columns })),
    idOf({ id, title }));
}

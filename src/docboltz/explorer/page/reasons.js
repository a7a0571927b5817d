// Why a document is a hit: parts of its score as a bar, and in numbers that add up to it.

import { element, foreign } from "./dom.js";
import { score } from "./format.js";
import { topicLink } from "./parts.js";

/** The parts of a score, words first. */
function parts({ words, topics, other }) {
  return [
    ...words.map(({ word, score: value }) => ({ kind: "word", name: word, value })),
    ...topics.map(({ topic, name, score: value }) => ({ kind: "topic", topic, name, value })),
    { kind: "other", name: "other features in common", value: other },
  ];
}

/** A bar as long as the score, in parts; what takes away is left to the numbers. */
export function reasonBar(app, hit, most) {
  const bar = element("div", { class: "reason-bar", "aria-hidden": "true" });
  for (const { kind, topic, value, name } of parts(hit.reasons).filter(({ value }) => value > 0)) {
    const piece = element("span", { class: `piece ${kind}`, title: `${name} ${score(value)}` });
    piece.style.width = `${(100 * value) / most}%`;
    if (kind === "topic") piece.style.background = app.colourOf(topic);
    bar.append(piece);
  }
  return bar;
}

/** All parts and their sum. */
export function reasonTable(app, hit) {
  const rows = parts(hit.reasons).filter(({ value, kind }) => kind !== "other" || Math.abs(value) >= 0.0005);
  const row = ({ kind, topic, name, value }) =>
    element("tr", {},
      element("td", { class: `kind ${kind}` }, kind === "other" ? "" : kind),
      element("th", { scope: "row" }, kind === "topic" ? topicLink(app, topic, name) : foreign(name)),
      element("td", { class: "number" }, score(value)));
  return element("details", { class: "why" },
    element("summary", {}, "Why this hit"),
    element("table", {},
      element("tbody", {}, ...rows.map(row)),
      element("tfoot", {}, element("tr", {}, element("td"), element("th", { scope: "row" }, "score"),
        element("td", { class: "number" }, score(hit.score))))));
}

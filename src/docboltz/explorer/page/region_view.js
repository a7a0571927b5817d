// A region of the map: what its documents have in common, the documents, and a file of them.

import { button, element, foreign, section } from "./dom.js";
import { save, table } from "./csv.js";
import { counted, percent } from "./format.js";
import { nothing } from "./panel.js";
import { bars, documentItem, topicLink, words } from "./parts.js";

const LISTED = 30; // documents, and more on demand

/** A shape as it stands in an address. */
export const shapeText = (shape) => shape.map((place) => place.map((value) => value.toFixed(4)).join(",")).join(";");

function parsed(text) {
  const shape = (text ?? "").split(";").map((place) => place.split(",").map(Number));
  return shape.length > 2 && shape.flat().every(Number.isFinite) && shape.every((place) => place.length === 2) ? shape : null;
}

export async function showRegion(app, { query }) {
  const shape = parsed(query.shape);
  if (!shape) {
    const nodes = [...nothing("Region", "Choose documents on the map: press “Lasso” and draw around them, or hold Shift while you drag."),
      button("Take the documents in view", () => app.takeView(), { class: "primary" })];
    return { nodes, onMap: () => app.emphasise([]) };
  }
  await app.mapReady;
  const rows = app.map.ready ? app.map.grid.inside(shape) : [];
  const onMap = () => {
    app.emphasise([], [], rows);
    app.map.outline(shape);
  };
  if (!rows.length) return { nodes: nothing("An empty region", "No document lies in it. Draw a larger one."), said: "No document lies in the region.", onMap };
  const [found, documents] = await Promise.all([
    app.source.region(rows),
    app.source.documents({ rows: rows.slice(0, LISTED) }),
  ]);
  const lift = (value) => `${value >= 10 ? value.toFixed(0) : value.toFixed(1)} ×`;
  const nodes = [
    element("h2", {}, counted(rows.length, "document"), " in the region"),
    element("div", { class: "actions" },
      button("Save as CSV", (event) => saveAll(app, rows, event.currentTarget), { class: "primary" }),
      button("Zoom to it", () => app.map.zoomTo(rows), { class: "small" })),
    section("Words", words(found.words.map((each) => ({ word: each.word, hint: lift(each.lift) }))),
      element("p", { class: "quiet" }, "How many times as often as in all documents.")),
    found.labels.length > 0 && section("By label", bars(found.labels.map(({ label, share }) => ({ name: foreign(label), share })))),
    found.topics.length > 0 && section("By topic", bars(found.topics.map(({ topic, name, share }) => ({
      name: topicLink(app, topic, name), share, text: percent(share), colour: app.colourOf(topic),
    })))),
    section("Documents", ...list(app, rows, documents)),
  ];
  return { nodes, said: `${counted(rows.length, "document")} in the region.`, onMap };
}

function list(app, rows, documents) {
  const shown = element("ul", { class: "documents" }, ...documents.map((each) => documentItem(app, each)));
  let listed = documents.length;
  const more = button("Show more", async () => {
    const next = rows.slice(listed, listed + LISTED);
    listed += next.length;
    const found = await app.attempt(() => app.source.documents({ rows: next }));
    shown.append(...(found ?? []).map((each) => documentItem(app, each)));
    more.hidden = listed >= rows.length;
  });
  more.hidden = listed >= rows.length;
  return [shown, more];
}

async function saveAll(app, rows, pressed) {
  pressed.disabled = true;
  app.panel.say("Making the file…");
  const documents = await app.attempt(() => app.source.documents({ rows }));
  pressed.disabled = false;
  if (!documents) return;
  const names = ["id", "title", "labels", "date", "topic", "topic_name", "x", "y", "text"];
  const cells = documents.map((each) => {
    const { x, y } = app.map.placeOf(each.row);
    const topic = each.topic === null ? ["", ""] : [each.topic, app.topicName(each.topic)];
    return [each.id, each.title, each.labels.join("; "), each.date, ...topic, Number(x.toFixed(5)), Number(y.toFixed(5)), each.text];
  });
  save("region.csv", table(names, cells));
  app.panel.say(`${counted(documents.length, "document")} saved as region.csv.`);
}

// What the colours mean; a topic or label in it can be picked out on the map.

import { button, element, foreign } from "./dom.js";
import { categoryColour, dateColour } from "./colours.js";
import { count, isoDay } from "./format.js";

const SHOWN = 20;

/**
 * @param {{by: string, entries: {name: string, code: number, documents: number}[], firstDay: number,
 *   lastDay: number, dark: boolean, picked: number|null, onpick: (code: number|null) => void}} given
 * @returns {Node[]}
 */
export function legend({ by, entries, firstDay, lastDay, dark, picked, onpick }) {
  if (by === "date") return dates(firstDay, lastDay, dark);
  const shown = entries.toSorted((a, b) => b.documents - a.documents).slice(0, SHOWN);
  const items = shown.map(({ name, code, documents }) => {
    const swatch = element("span", { class: "dot" });
    swatch.style.setProperty("--swatch", categoryColour(code, dark));
    const entry = button("", () => onpick(picked === code ? null : code), { "aria-pressed": picked === code });
    entry.append(swatch, foreign(name), element("span", { class: "number" }, count(documents)));
    return element("li", {}, entry);
  });
  const rest = entries.length - shown.length;
  return [
    element("ul", { class: "legend-list" }, ...items),
    rest > 0 && element("p", { class: "quiet" }, `and ${count(rest)} more`),
  ].filter(Boolean);
}

function dates(firstDay, lastDay, dark) {
  const bar = element("div", { class: "gradient", role: "img", "aria-label": "Colours from the first date to the last" });
  const stops = Array.from({ length: 11 }, (_, i) => dateColour(i / 10, dark));
  bar.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
  const ends = [firstDay, lastDay].map((day) => element("span", {}, isoDay(day)));
  return [bar, element("p", { class: "ends" }, ...ends)];
}

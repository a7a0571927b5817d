// Which words of a text say what: the input of a unit is a sum over words, shown as it is.

import { button, element, foreign } from "./dom.js";
import { percent, pieces, signed } from "./format.js";

const LISTED = 8; // words of a unit; the rest is one line, so that all adds up

/**
 * A text with its words marked by what they add to a unit, and the units to choose from.
 * @param {{text: string, matches: {word: string, matches: [number, number][]}[], units: any[]}} found
 * @returns {Node[]}
 */
export function contributions({ text, matches, units }) {
  const shown = element("div", { class: "text", dir: "auto", tabindex: 0, role: "group", "aria-label": "Text" });
  if (!units.length) {
    shown.append(text || "(without a text)");
    return [shown, element("p", { class: "quiet" }, "The model knows none of its words.")];
  }
  const spans = matches.flatMap(({ word, matches: all }) => all.map(([begin, end]) => [begin, end, word]));
  const cut = pieces(text, spans);
  const table = element("div", { class: "unit" });
  const tabs = element("div", { class: "units", role: "group", "aria-label": "Units" });

  const choose = (unit) => {
    for (const tab of tabs.children) tab.setAttribute("aria-pressed", String(tab.value === String(unit.unit)));
    shown.replaceChildren(...marked(cut, unit));
    table.replaceChildren(...sum(unit));
  };
  for (const unit of units) {
    const tab = button("", () => choose(unit), { class: "chip", value: unit.unit, title: unit.words.join(", ") });
    tab.append(foreign(unit.words.slice(0, 2).join(" ") || `unit ${unit.unit}`),
      element("span", { class: "number" }, percent(unit.probability)));
    tabs.append(tab);
  }
  choose(units[0]);
  const said = "Strongest units, and what each word adds to the chosen one:";
  return [element("p", { class: "quiet" }, said), tabs, shown, table];
}

function marked(cut, unit) {
  const value = new Map(unit.contributions.map((each) => [each.word, each.value]));
  const most = Math.max(...unit.contributions.map((each) => Math.abs(each.value)), 1e-9);
  return cut.map(([piece, word]) => {
    const own = word === null ? 0 : (value.get(word) ?? 0);
    if (Math.abs(own) < 0.05 * most) return document.createTextNode(piece);
    const title = `${word}: ${signed(own)}`;
    const mark = element("mark", { class: own > 0 ? "for" : "against", title }, piece);
    mark.style.setProperty("--strength", `${Math.round(8 + (42 * Math.abs(own)) / most)}%`);
    return mark;
  });
}

/** Bias, words, and their sum: the unit's input. */
function sum(unit) {
  const first = unit.contributions.slice(0, LISTED);
  const rest = unit.contributions.slice(LISTED);
  const row = (name, value) =>
    element("tr", {}, element("th", { scope: "row" }, name), element("td", { class: "number" }, signed(value)));
  const others = rest.reduce((total, each) => total + each.value, 0);
  const body = element("tbody", {}, ...first.map(({ word, value }) => row(foreign(word), value)));
  if (rest.length) body.append(row(`${rest.length} more words`, others));
  body.append(row("length of the text", unit.bias));
  const foot = element("tfoot", {}, row("input of the unit", unit.input));
  const caption = element("caption", {}, `Unit ${unit.unit}: on with probability ${percent(unit.probability)}. `,
    "It stands for ", foreign(unit.words.join(", ")), ".");
  return [element("table", {}, caption, body, foot)];
}

// The buttons of the map and the search field.

import { amend, go, here } from "./address.js";
import { debounced, element } from "./dom.js";
import { icon } from "./icons.js";
import { switchTheme } from "./theme.js";

const wide = () => matchMedia("(min-width: 800px)").matches;
const REST = 180; // milliseconds without a key before it is searched
const NEARER = 1.6;

/** Buttons of the map, what the colours are chosen by, and folding the panel. */
export function tools(app) {
  const found = (name) => document.querySelector(`[data-tool=${name}]`);
  const actions = {
    nearer: () => zoom(app.map.camera, NEARER),
    farther: () => zoom(app.map.camera, 1 / NEARER),
    whole: () => app.map.camera.fly(0, 0, 1),
    lasso: () => lasso(!app.map.lasso),
    view: () => app.takeView(),
    theme: switchTheme,
  };
  for (const [name, action] of Object.entries(actions)) {
    found(name).append(icon(name));
    found(name).addEventListener("click", action);
  }

  function lasso(on) {
    app.map.lasso = on;
    app.map.area.classList.toggle("lasso", on);
    found("lasso").setAttribute("aria-pressed", String(on));
  }
  addEventListener("keydown", (event) => event.key === "Escape" && lasso(false));

  const select = document.getElementById("colour");
  let chosen = "topic"; // which the names on the map explain; other colours need the legend
  select.addEventListener("change", () => app.colourWith(select.value));
  const toggle = document.querySelector(".legend-head button");
  const unfold = (open) => {
    toggle.setAttribute("aria-expanded", String(open));
    document.getElementById("legend").hidden = !open;
    app.map.cover();
  };
  toggle.append(icon("fold"));
  toggle.addEventListener("click", () => unfold(toggle.getAttribute("aria-expanded") === "false"));
  fold(app);

  return {
    lasso,
    choose(by) {
      if (by !== chosen && wide()) unfold(true);
      [chosen, select.value] = [by, by];
    },
    colours({ has_labels: labels, has_dates: dates }) {
      const all = [["topic", "by topic"], labels && ["label", "by label"], dates && ["date", "by date"]];
      select.replaceChildren(...all.filter(Boolean).map(([value, text]) => element("option", { value }, text)));
    },
  };
}

function zoom(camera, factor) {
  camera.fly(camera.x, camera.y, camera.zoom * factor, 220);
}

/** On a telephone the panel can make way for the map. */
function fold(app) {
  const button = document.querySelector(".fold");
  button.append(icon("fold"));
  button.addEventListener("click", () => {
    const folded = document.body.classList.toggle("folded");
    button.setAttribute("aria-expanded", String(!folded));
    button.setAttribute("aria-label", folded ? "Unfold the panel" : "Fold the panel");
    setTimeout(() => app.map.resize(), 0);
  });
}

/** Searching as one types: the first letter is a step in the history, the others change it. */
export function searchField(app) {
  const field = document.getElementById("query");
  let sent = null; // what was searched last by typing: answers to it do not change the field
  const search = debounced(() => {
    const q = field.value;
    sent = q;
    if (here().view === "search") {
      amend({ q }, { view: "search" });
      app.refresh();
    } else if (q.trim()) {
      go("search", null, { q });
    }
  }, REST);
  field.addEventListener("input", search);
  field.form.addEventListener("submit", (event) => {
    event.preventDefault();
    search.cancel();
    sent = field.value;
    if (here().query.q !== field.value || here().view !== "search") go("search", null, { q: field.value });
  });
  addEventListener("keydown", (event) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? "");
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    field.focus();
  });
  return {
    /** The field says what is searched, unless that was typed and someone types on. */
    show({ view, query }) {
      if (view !== "search" || query.q === sent) return;
      sent = query.q ?? "";
      field.value = sent;
    },
  };
}

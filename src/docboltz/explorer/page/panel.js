// The panel beside the map: tabs, and one view at a time, with words for waiting and for failing.

import { button, element } from "./dom.js";

const SHORT = 120; // milliseconds before "Loading" is said
const LONG = 3000; // and before it is said that it takes long

export class Panel {
  /** @param {HTMLElement} root holds .tabs, .view and [role=status] */
  constructor(root) {
    this.view = root.querySelector(".view");
    this.status = root.querySelector("[role=status]");
    this.tabs = [...root.querySelectorAll("[role=tab]")];
    this.asked = 0;
    this.onMap = () => {}; // what the view does on the map, also when that comes later
    root.querySelector("[role=tablist]").addEventListener("keydown", (event) => this.#arrows(event));
  }

  /** Left and right go from tab to tab, as in every list of tabs. */
  #arrows(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = this.tabs.indexOf(document.activeElement);
    const next = this.tabs[(at + step + this.tabs.length) % this.tabs.length];
    next.focus();
    next.click();
  }

  #choose(name) {
    for (const tab of this.tabs) {
      const chosen = tab.dataset.tab === name;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
      if (chosen) this.view.setAttribute("aria-labelledby", tab.id);
    }
  }

  say(text) {
    this.status.textContent = text;
  }

  /**
   * Show what `load` gives, unless something else was asked for in the meantime: its nodes, what
   * is said of them to those who do not see, and what it does on the map.
   * @param {string} tab
   * @param {() => Promise<{nodes: Node[], said?: string, onMap?: () => void}>} load
   */
  async show(tab, load) {
    const asked = ++this.asked;
    this.#choose(tab);
    const current = () => asked === this.asked;
    const waiting = [
      setTimeout(() => current() && this.#wait("Loading…"), SHORT),
      setTimeout(() => current() && this.#wait("This takes longer than usual. Still waiting for the answer…"), LONG),
    ];
    try {
      const { nodes, said = "", onMap = () => {} } = await load();
      if (!current()) return;
      this.#put(nodes);
      this.say(said);
      this.onMap = onMap;
      onMap();
    } catch (error) {
      if (!current()) return;
      this.#put(this.#failed(error, () => this.show(tab, load)));
      this.say(error.message);
    } finally {
      waiting.forEach(clearTimeout);
    }
  }

  #wait(text) {
    this.view.setAttribute("aria-busy", "true");
    this.view.classList.add("waiting");
    this.say(text);
    if (!this.view.childElementCount) this.view.append(element("p", { class: "quiet" }, text));
  }

  /** New content; whoever was in the old one finds themselves at the top of it, not nowhere. */
  #put(nodes) {
    const inside = this.view.contains(document.activeElement);
    this.view.removeAttribute("aria-busy");
    this.view.classList.remove("waiting");
    this.view.replaceChildren(...nodes.filter(Boolean));
    this.view.scrollTop = 0;
    const heading = this.view.querySelector("h2");
    if (!inside || !heading) return;
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  }

  #failed(error, again) {
    if (!error.kind) console.error(error); // a fault of the page itself
    const title = { offline: "The server does not answer", late: "No answer yet", refused: "That did not work",
      changed: "The collection has changed" };
    return [
      element("h2", {}, title[error.kind] ?? "Something went wrong"),
      element("p", { class: "problem" }, error.message),
      button("Retry", again, { class: "primary" }),
    ];
  }
}

/** What a view without anything to show says. */
export function nothing(title, ...told) {
  return [element("h2", {}, title), ...told.map((text) => element("p", { class: "quiet" }, text))];
}

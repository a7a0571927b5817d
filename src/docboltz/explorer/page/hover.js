// The text of the document under the mouse, after a short rest, each asked for once.

import { debounced, element, foreign } from "./dom.js";
import { afterTitle, beginning } from "./format.js";

const REST = 90; // milliseconds
const KEPT = 500; // documents

export class Hover {
  /**
   * @param {HTMLElement} card
   * @param {{source: any, topicName: (topic: number|null) => string, colourOf: (topic: number|null) => string,
   *   overtaken: (error: Error) => void}} app
   */
  constructor(card, app) {
    [this.card, this.app, this.row] = [card, app, -1];
    this.known = new Map();
    this.ask = debounced((row, x, y) => this.#show(row, x, y), REST);
  }

  /** The mouse is at a pixel, over the document of a row, or over none if that is −1. */
  at(row, x, y) {
    if (row === this.row) return;
    this.row = row;
    this.card.hidden = true;
    this.ask.cancel();
    if (row >= 0) this.ask(row, x, y);
  }

  /** A document by its row, from memory if it was asked for before. */
  document(row) {
    if (!this.known.has(row)) {
      if (this.known.size >= KEPT) this.known.delete(this.known.keys().next().value);
      const asked = this.app.source.documents({ rows: [row] }).then(([found]) => found);
      asked.catch(() => this.known.delete(row));
      this.known.set(row, asked);
    }
    return this.known.get(row);
  }

  /** Rows mean other documents from now on. */
  forget() {
    this.known.clear();
    this.at(-1);
  }

  async #show(row, x, y) {
    const found = await this.document(row).catch((error) => this.app.overtaken(error));
    if (!found || row !== this.row) return;
    const about = [...found.labels, found.date.replace("T", " ")].filter(Boolean);
    const dot = element("span", { class: "dot" });
    dot.style.setProperty("--swatch", this.app.colourOf(found.topic));
    this.card.replaceChildren(
      element("p", { class: "topic" }, dot, foreign(this.app.topicName(found.topic))),
      element("p", { class: "title", dir: "auto" }, foreign(found.title || found.id)),
      element("p", { class: "text", dir: "auto" }, beginning(afterTitle(found), 220)),
      element("p", { class: "about" }, foreign(found.id, { class: "id quiet" }), ...about.map((each) => foreign(each, { class: "chip" }))),
    );
    this.card.hidden = false;
    const { clientWidth: width, clientHeight: height } = this.card.parentElement;
    const box = this.card.getBoundingClientRect();
    const left = x + 16 + box.width > width ? Math.max(8, x - 16 - box.width) : x + 16;
    const top = Math.max(8, Math.min(y + 12, height - box.height - 8));
    this.card.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }
}

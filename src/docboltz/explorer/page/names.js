// Names of topics on the map: broad ones from afar, finer ones from near, none over another.

import { element } from "./dom.js";
import { format } from "./address.js";

const GAP = 6; // pixels between names
const APART = 2.2; // zoom from which on a broad topic gives way to those it is made of
const LEAST = 0.012; // share × zoom² of a topic that is named: smaller ones wait until one is near
const SHIFTS = [0, -22, 22, -44, 44]; // pixels up or down, where another name or a mark is in the way
const EDGE = 4; // pixels between a name and the edge
const MOST = 60;

export class Names {
  /** @param {HTMLElement} layer */
  constructor(layer) {
    this.layer = layer;
    this.names = [];
    this.local = new Map();
    this.preferred = null;
  }

  /** The topic that the panel shows: it is named before all others. */
  prefer(topic) {
    this.preferred = topic;
  }

  /**
   * Near in, a topic may fill the view while its middle is far outside: it is named in the middle of
   * what is seen of it.
   * @param {Map<number, [number, number]>} places by topic
   */
  localise(places) {
    this.local = places;
  }

  /** @param {any[]} topics as the source gives them @param {(topic: number) => string} colour */
  set(topics, colour) {
    this.layer.replaceChildren();
    const parents = new Set(topics.map((topic) => topic.parent));
    const only = new Map();
    for (const topic of topics) only.set(topic.parent, (only.get(topic.parent) ?? 0) + 1);
    this.names = topics
      .filter((topic) => topic.x !== null && topic.documents > 0 && only.get(topic.topic) !== 1)
      .map((topic) => {
        const broad = parents.has(topic.topic);
        const node = element(
          "a",
          { href: format("topic", topic.topic), class: broad ? "name broad" : "name", tabindex: -1, hidden: true },
          element("bdi", {}, shortened(topic.name)),
        );
        if (!broad) node.style.setProperty("--swatch", colour(topic.topic));
        this.layer.append(node);
        return { topic, node, broad, width: 0, height: 0 };
      })
      .sort((a, b) => b.broad - a.broad || b.topic.documents - a.topic.documents);
    this.#measure();
  }

  #measure() {
    for (const name of this.names) name.node.hidden = false;
    for (const name of this.names) {
      const box = name.node.getBoundingClientRect();
      [name.width, name.height] = [box.width, box.height];
    }
  }

  /**
   * Put every name that has room where its topic is.
   * @param {number[][]} covered boxes of what lies over the map: left, top, right, bottom
   */
  place(camera, covered) {
    const taken = [...covered];
    const [zoom, { width, height, insets }] = [camera.zoom, camera];
    const first = (name) => name.topic.topic === this.preferred;
    for (const name of this.names.toSorted((a, b) => first(b) - first(a))) {
      const [x, y] = camera.project(...(this.local.get(name.topic.topic) ?? [name.topic.x, name.topic.y]));
      const right = width - insets.right;
      const seen = x > 0 && x < right && y > insets.top && y < height - insets.bottom;
      const left = Math.max(EDGE, Math.min(x - name.width / 2, right - name.width - EDGE)); // at an edge all the same
      const at = (shift) => [left, y + shift - name.height / 2, left + name.width, y + shift + name.height / 2];
      const inside = ([, begin, , end]) => begin > insets.top && end < height - insets.bottom;
      const box = SHIFTS.map(at).find((each) => inside(each) && !taken.some((other) => overlap(each, other)));
      const wanted = first(name) || (name.broad ? zoom < APART : name.topic.share * zoom * zoom >= LEAST);
      const shown = wanted && seen && box && taken.length < MOST + covered.length;
      name.node.hidden = !shown;
      if (!shown) continue;
      taken.push(box);
      name.node.style.transform = `translate(${Math.round(box[0])}px, ${Math.round(box[1])}px)`;
    }
  }
}

const overlap = (a, b) =>
  a[0] < b[2] + GAP && b[0] < a[2] + GAP && a[1] < b[3] + GAP && b[1] < a[3] + GAP;

const shortened = (name) => (name.length > 42 ? `${name.slice(0, 40)}…` : name);

// What is drawn over the points: hits with their numbers, the document in question, a region.

import { drawing } from "./dom.js";

const SIZE = 9; // pixels from the middle of a mark to its edge

export class Overlay {
  /** @param {SVGElement} layer */
  constructor(layer) {
    this.shape = drawing("path", { class: "region" });
    this.marks = drawing("g");
    this.ring = drawing("circle", { class: "ring", r: 9, visibility: "hidden" });
    layer.append(this.shape, this.marks, this.ring);
    this.outline = [];
    this.places = [];
    this.ringed = null;
  }

  /** @param {{x: number, y: number, text: string, kind: string}[]} places on the map */
  mark(places) {
    this.places = places.filter(({ x, y }) => Number.isFinite(x) && Number.isFinite(y));
    this.marks.replaceChildren(...this.places.map(({ text, kind }) =>
      drawing("g", { class: `mark ${kind}` },
        drawing("circle", { r: SIZE }),
        drawing("text", { "text-anchor": "middle", dy: "0.35em" }, text))));
  }

  /** A region's outline, in map units. */
  outlineOf(shape) {
    this.outline = shape;
  }

  /** A ring around one place, or none. */
  encircle(x, y) {
    this.ringed = Number.isFinite(x) && Number.isFinite(y) ? [x, y] : null;
    this.ring.setAttribute("visibility", this.ringed ? "visible" : "hidden");
  }

  /** Boxes of the marks, in pixels. */
  boxes(camera) {
    return this.places.map(({ x, y }) => camera.project(x, y)).map(([x, y]) => [x - SIZE, y - SIZE, x + SIZE, y + SIZE]);
  }

  place(camera) {
    const points = this.outline.map(([x, y]) => camera.project(x, y).map(Math.round).join(" "));
    this.shape.setAttribute("d", points.length > 1 ? `M ${points.join(" L ")} Z` : "");
    this.places.forEach(({ x, y }, i) => {
      const [px, py] = camera.project(x, y);
      this.marks.children[i].setAttribute("transform", `translate(${px.toFixed(1)} ${py.toFixed(1)})`);
    });
    if (!this.ringed) return;
    const [px, py] = camera.project(...this.ringed);
    this.ring.setAttribute("cx", px.toFixed(1));
    this.ring.setAttribute("cy", py.toFixed(1));
  }
}

// The map: points, names, marks, hover and gestures around one camera.

import { Camera } from "./camera.js";
import { palette, shades } from "./colours.js";
import { listen } from "./gestures.js";
import { Grid } from "./grid.js";
import { Hover } from "./hover.js";
import { Names } from "./names.js";
import { Overlay } from "./overlay.js";
import { Points } from "./points.js";

const REACH = 10; // pixels from a point at which it is meant
const STILL = 160; // milliseconds after which the map counts as still
const NEAR = 1.8; // zoom from which on topics are named where they are seen
const CORNERS = 80; // of a region in an address

export class MapView {
  /**
   * @param {HTMLElement} area holds canvas, .names, .overlay and .hover
   * @param {any} app
   * @param {{moved: () => void, picked: (row: number) => void, drawn: (shape: [number, number][]) => void,
   *   key: (key: string) => boolean}} on
   */
  constructor(area, app, on) {
    [this.area, this.app, this.on] = [area, app, on];
    this.points = new Points(area.querySelector("canvas"));
    this.names = new Names(area.querySelector(".names"));
    this.overlay = new Overlay(area.querySelector(".overlay"));
    this.hover = new Hover(area.querySelector(".hover"), app);
    this.camera = new Camera((moved) => this.#changed(moved));
    this.columns = null;
    this.lasso = false;
    this.covered = [];
    this.frame = 0;
    this.unmeasured = false; // how long it takes to draw the points
    listen(area, this.camera, {
      drawing: () => this.lasso,
      draw: (outline, done) => this.#draw(outline, done),
      hover: (x, y) => this.#hover(x, y),
      leave: () => this.hover.at(-1),
      click: (x, y) => this.#click(x, y),
      key: (key) => this.on.key(key),
    });
    new ResizeObserver(() => this.resize()).observe(area);
  }

  get ready() {
    return this.columns !== null;
  }

  /** Take the columns of `source.state()`, null for none: rows mean other documents than before. */
  setColumns(columns) {
    this.columns = columns;
    const { x, y } = columns ?? { x: new Float32Array(), y: new Float32Array() };
    this.grid = new Grid(x, y);
    this.points.setFocus(null);
    this.points.setPoints(x, y);
    this.unmeasured = columns !== null;
    this.names.localise(new Map());
    this.hover.forget();
    this.redraw();
  }

  setTopics(topics) {
    this.names.set(topics, (topic) => this.app.colourOf(topic));
    this.redraw();
  }

  colour(by, dark, { first_day: first, last_day: last }) {
    this.names.layer.classList.toggle("plain", by !== "topic"); // dots would mean other colours
    this.points.setShades(shades(by, this.columns, first, last));
    this.points.setPalette(palette(by, dark));
    this.redraw();
  }

  /** Let some documents stand out; null for none. */
  focus(rows) {
    const known = rows?.filter((row) => !Number.isNaN(this.columns?.x[row] ?? NaN)) ?? null;
    this.points.setFocus(known);
    this.redraw();
  }

  mark(places) {
    this.overlay.mark(places);
    this.redraw();
  }

  outline(shape) {
    this.overlay.outlineOf(shape);
    this.redraw();
  }

  encircle(row) {
    this.overlay.encircle(this.columns?.x[row], this.columns?.y[row]);
    this.redraw();
  }

  placeOf(row) {
    return this.columns ? { x: this.columns.x[row], y: this.columns.y[row] } : { x: NaN, y: NaN };
  }

  /** Make room: the panel covers some pixels of the right or of the bottom. */
  resize() {
    const { clientWidth: width, clientHeight: height } = this.area;
    const canvas = this.points.canvas;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    this.cover();
    this.camera.resize(Math.max(width, 1), Math.max(height, 1), this.app.insets());
  }

  /** See what lies over the map now: names keep clear of it. */
  cover() {
    this.covered = this.app.covered();
    this.redraw();
  }

  /** Go to a place that is not in sight. */
  revealPlace(x, y) {
    const [[left, bottom], , [right, top]] = this.camera.seen();
    if (x < left || x > right || y < bottom || y > top) this.camera.fly(x, y, this.camera.zoom);
  }

  /** Go to rows that are not all in sight. */
  reveal(rows) {
    if (!this.ready || !rows.length) return;
    const [[left, bottom], , [right, top]] = this.camera.seen();
    const { x, y } = this.columns;
    const away = rows.some((row) => x[row] < left || x[row] > right || y[row] < bottom || y[row] > top);
    if (away) this.zoomTo(rows);
  }

  zoomTo(rows) {
    if (!this.ready) return;
    this.camera.flyTo(Array.from(rows, (row) => this.columns.x[row]), Array.from(rows, (row) => this.columns.y[row]));
  }

  #changed(moved) {
    if (moved) {
      clearTimeout(this.still);
      this.moving = true;
      this.still = setTimeout(() => {
        this.moving = false;
        this.#nameWhatIsSeen();
        this.redraw();
        this.on.moved();
      }, STILL + Math.min(1000, this.points.taken)); // all points are drawn then, which may take long
    }
    this.redraw();
  }

  redraw() {
    this.frame ||= requestAnimationFrame(() => this.#paint());
  }

  #paint() {
    this.frame = 0;
    const n = Math.max(this.columns?.x.length ?? 1, 1);
    const room = Math.min(1, Math.max(0.6, this.camera.whole / 350)); // a small map has small points
    const nearness = Math.sqrt(Math.min(this.camera.zoom, 40));
    const size = Math.min(11, Math.max(1.2, 9 - 1.25 * Math.log10(n)) * room * nearness ** 0.8);
    const opacity = Math.min(0.85, Math.max(0.25, 1.25 - 0.14 * Math.log10(n)) + 0.05 * nearness);
    if (this.unmeasured) this.points.measure(this.camera, { size, opacity });
    this.unmeasured = false;
    this.points.draw(this.camera, { size, opacity, moving: this.moving });
    this.names.place(this.camera, [...this.covered, ...this.overlay.boxes(this.camera)]);
    this.overlay.place(this.camera);
  }

  /** Topics of which much is seen, but not the middle, are named where they are seen. */
  #nameWhatIsSeen() {
    const places = new Map();
    this.names.localise(places);
    if (!this.ready || this.camera.zoom < NEAR) return;
    const [[left, bottom], , [right, top]] = this.camera.seen();
    const { x, y, topic } = this.columns;
    const rows = this.grid.inside(this.camera.seen());
    const sums = new Map();
    for (const row of rows) {
      const sum = sums.get(topic[row]) ?? [0, 0, 0];
      sums.set(topic[row], [sum[0] + x[row], sum[1] + y[row], sum[2] + 1]);
    }
    for (const { topic: { topic: number, x: mx, y: my } } of this.names.names) {
      const [sx, sy, n] = sums.get(this.app.legendOf.topics.indexOf(number)) ?? [0, 0, 0];
      const inside = mx > left && mx < right && my > bottom && my < top;
      if (!inside && n > rows.length / 10) places.set(number, [sx / n, sy / n]);
    }
  }

  #under(px, py) {
    if (!this.ready) return -1;
    const [x, y] = this.camera.place(px, py);
    return this.grid.nearest(x, y, REACH / this.camera.scale);
  }

  #hover(px, py) {
    if (this.lasso) return;
    const row = this.#under(px, py);
    this.area.classList.toggle("pointing", row >= 0);
    this.hover.at(row, px, py);
  }

  #click(px, py) {
    const row = this.#under(px, py);
    if (row >= 0) this.on.picked(row);
  }

  #draw(outline, done) {
    const step = Math.max(1, outline.length / CORNERS);
    const places = outline.map(([px, py]) => this.camera.place(px, py));
    this.outline(places);
    if (!done) return;
    const corners = Array.from({ length: Math.min(outline.length, CORNERS) }, (_, i) => places[Math.floor(i * step)]);
    this.on.drawn(corners);
  }
}

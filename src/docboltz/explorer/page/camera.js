// Which part of the map is seen: a place in the middle and how many pixels a unit has.

const CLOSEST = 400; // times as near as when all of the map is seen
const MARGIN = 28;
const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

export class Camera {
  constructor(onchange) {
    Object.assign(this, { x: 0, y: 0, scale: 1, width: 1, height: 1, onchange });
    this.insets = { left: 0, right: 0, top: 0, bottom: 0 };
    this.flight = 0;
  }

  /** The window's size and what of it lies under the panel; the same part of the map stays. */
  resize(width, height, insets) {
    const { zoom } = this;
    Object.assign(this, { width, height, insets });
    this.scale = zoom * this.whole;
    this.onchange(false);
  }

  get middleX() {
    return (this.insets.left + this.width - this.insets.right) / 2;
  }

  get middleY() {
    return (this.insets.top + this.height - this.insets.bottom) / 2;
  }

  /** Pixels of a unit when all of the map is seen. */
  get whole() {
    const { left, right, top, bottom } = this.insets;
    const free = Math.min(this.width - left - right, this.height - top - bottom);
    return Math.max(free - 2 * MARGIN, 40) / 2;
  }

  get zoom() {
    return this.scale / this.whole;
  }

  /** Map → pixels. */
  project(x, y) {
    return [this.middleX + (x - this.x) * this.scale, this.middleY - (y - this.y) * this.scale];
  }

  /** Pixels → map. */
  place(px, py) {
    return [this.x + (px - this.middleX) / this.scale, this.y - (py - this.middleY) / this.scale];
  }

  /** The corners of what is seen beside the panel. */
  seen() {
    const { left, right, top, bottom } = this.insets;
    const [x0, y1] = this.place(left, top);
    const [x1, y0] = this.place(this.width - right, this.height - bottom);
    return [[x0, y0], [x1, y0], [x1, y1], [x0, y1]];
  }

  set(x, y, zoom) {
    this.x = Math.min(1.2, Math.max(-1.2, x));
    this.y = Math.min(1.2, Math.max(-1.2, y));
    this.scale = Math.min(CLOSEST, Math.max(0.5, zoom)) * this.whole;
    this.onchange(true);
  }

  pan(dx, dy) {
    this.land();
    this.set(this.x - dx / this.scale, this.y + dy / this.scale, this.zoom);
  }

  /** Nearer or farther, with the place under a pixel kept where it is. */
  zoomAt(factor, px = this.middleX, py = this.middleY) {
    this.land();
    const [x, y] = this.place(px, py);
    this.set(this.x, this.y, this.zoom * factor);
    const [nowX, nowY] = this.place(px, py);
    this.set(this.x + x - nowX, this.y + y - nowY, this.zoom);
  }

  /** Go there smoothly, or at once where motion is not wanted. */
  fly(x, y, zoom, milliseconds = 450) {
    this.land();
    const from = { x: this.x, y: this.y, zoom: this.zoom };
    if (calm() || document.hidden) return this.set(x, y, zoom);
    const begin = performance.now();
    const step = (now) => {
      const t = Math.min(1, Math.max(0, (now - begin) / milliseconds));
      const eased = t * t * (3 - 2 * t);
      const nearer = from.zoom * (zoom / from.zoom) ** eased;
      this.set(from.x + (x - from.x) * eased, from.y + (y - from.y) * eased, nearer);
      this.flight = t < 1 ? requestAnimationFrame(step) : 0;
    };
    this.flight = requestAnimationFrame(step);
  }

  /** Show all of some points. */
  flyTo(xs, ys) {
    const xRange = quantiles(xs);
    const yRange = quantiles(ys);
    if (!xRange || !yRange) return;
    const { left, right, top, bottom } = this.insets;
    const across = (this.width - left - right - 3 * MARGIN) / Math.max(xRange[1] - xRange[0], 0.05);
    const up = (this.height - top - bottom - 3 * MARGIN) / Math.max(yRange[1] - yRange[0], 0.05);
    const zoom = Math.max(1, Math.min(across, up) / this.whole);
    this.fly((xRange[0] + xRange[1]) / 2, (yRange[0] + yRange[1]) / 2, zoom);
  }

  land() {
    cancelAnimationFrame(this.flight);
    this.flight = 0;
  }
}

/** From the 2nd to the 98th percentile: a few stray points do not make the view wide. */
function quantiles(values) {
  const known = Float32Array.from(values).filter((value) => !Number.isNaN(value)).sort();
  if (!known.length) return null;
  const at = (share) => known[Math.round(share * (known.length - 1))];
  return [at(0.02), at(0.98)];
}

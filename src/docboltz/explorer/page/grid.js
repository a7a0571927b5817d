// Which points are near a place or inside a shape: points sorted into the cells of a grid.

const SIDE = 200; // cells along each side; at a million points 25 a cell
const cell = (value) => Math.min(SIDE - 1, Math.max(0, Math.floor(((value + 1) / 2) * SIDE)));

export class Grid {
  /** @param {Float32Array} x −1 to 1, NaN for none @param {Float32Array} y */
  constructor(x, y) {
    [this.x, this.y] = [x, y];
    this.starts = new Uint32Array(SIDE * SIDE + 1);
    const cells = new Int32Array(x.length);
    for (let row = 0; row < x.length; row++) {
      cells[row] = Number.isNaN(x[row]) ? -1 : cell(y[row]) * SIDE + cell(x[row]);
      if (cells[row] >= 0) this.starts[cells[row] + 1]++;
    }
    for (let c = 0; c < SIDE * SIDE; c++) this.starts[c + 1] += this.starts[c];
    const next = this.starts.slice();
    this.rows = new Uint32Array(this.starts[SIDE * SIDE]);
    for (let row = 0; row < x.length; row++) {
      if (cells[row] >= 0) this.rows[next[cells[row]]++] = row;
    }
  }

  *#within(left, bottom, right, top) {
    for (let j = cell(bottom); j <= cell(top); j++) {
      const begin = this.starts[j * SIDE + cell(left)];
      const end = this.starts[j * SIDE + cell(right) + 1];
      for (let at = begin; at < end; at++) yield this.rows[at];
    }
  }

  /** The row of the point nearest to a place, −1 if none is within so far. */
  nearest(x, y, radius) {
    let [best, least] = [-1, radius * radius];
    for (const row of this.#within(x - radius, y - radius, x + radius, y + radius)) {
      const distance = (this.x[row] - x) ** 2 + (this.y[row] - y) ** 2;
      if (distance <= least) [best, least] = [row, distance];
    }
    return best;
  }

  /**
   * The rows of the points inside a polygon, in their order.
   * @param {[number, number][]} shape
   */
  inside(shape) {
    const xs = shape.map(([x]) => x);
    const ys = shape.map(([, y]) => y);
    const box = [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
    const found = [];
    for (const row of this.#within(...box)) {
      if (contains(shape, this.x[row], this.y[row])) found.push(row);
    }
    return found.sort((a, b) => a - b);
  }
}

/** Whether a ray from the place crosses the outline an odd number of times. */
export function contains(shape, x, y) {
  let odd = false;
  for (let i = 0, j = shape.length - 1; i < shape.length; j = i++) {
    const [[ax, ay], [bx, by]] = [shape[i], shape[j]];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) odd = !odd;
  }
  return odd;
}

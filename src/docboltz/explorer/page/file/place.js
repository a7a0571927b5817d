// Where a new text lies on the map, among its nearest neighbours: docboltz/layout/coordinates.py.

const STEPS = 20;

/**
 * The point whose weighted distances to the neighbours' places sum to the least, by Weiszfeld's
 * steps; neighbours are {x, y, distance}, and weights the inverse squares of these.
 */
export function placeAmong(neighbours) {
  const weights = neighbours.map(({ distance }) => 1 / Math.max(distance ** 2, 1e-9));
  let pull = weights;
  let point = { x: null, y: null };
  for (let step = 0; step < STEPS && neighbours.length; step++) {
    let [x, y, total] = [0, 0, 0];
    neighbours.forEach((each, i) => {
      x += pull[i] * each.x;
      y += pull[i] * each.y;
      total += pull[i];
    });
    point = { x: x / total, y: y / total };
    pull = neighbours.map((each, i) => {
      return weights[i] / Math.max(Math.hypot(each.x - point.x, each.y - point.y), 1e-6);
    });
  }
  return point;
}

/** By differences: a cosine near 1 cannot tell the same document from one like it. */
export function distance(one, other) {
  let squares = 0;
  for (let j = 0; j < one.length; j++) squares += (one[j] - other[j]) ** 2;
  return Math.sqrt(squares);
}

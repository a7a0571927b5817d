// Non-negative least squares, by Lawson and Hanson (1974), as SciPy's nnls.

const TOLERANCE = 1e-10;

/** The x ≥ 0 with the least |Σ_t x_t rows_t − target|; rows are vectors, T of them. */
export function nonNegative(rows, target) {
  const T = rows.length;
  const gram = rows.map((one) => rows.map((other) => dot(one, other)));
  const goal = rows.map((row) => dot(row, target));
  let x = new Float64Array(T);
  const free = new Set();
  for (let round = 0; round < 3 * T; round++) {
    let [steepest, most] = [-1, TOLERANCE];
    for (let t = 0; t < T; t++) {
      const slope = goal[t] - dot(gram[t], x);
      if (!free.has(t) && slope > most) [steepest, most] = [t, slope];
    }
    if (steepest < 0) break;
    free.add(steepest);
    for (;;) {
      const chosen = [...free];
      const trial = solve(
        chosen.map((t) => chosen.map((u) => gram[t][u])),
        chosen.map((t) => goal[t]),
      );
      const negative = chosen.filter((_, i) => trial[i] <= TOLERANCE);
      if (!negative.length) {
        x = new Float64Array(T);
        chosen.forEach((t, i) => (x[t] = trial[i]));
        break;
      }
      // As far towards the trial as all stay non-negative; whoever reaches 0 stays there.
      let step = 1;
      chosen.forEach((t, i) => {
        if (trial[i] <= TOLERANCE) step = Math.min(step, x[t] / (x[t] - trial[i] || 1));
      });
      chosen.forEach((t, i) => {
        x[t] += step * (trial[i] - x[t]);
        if (x[t] <= TOLERANCE) {
          x[t] = 0;
          free.delete(t);
        }
      });
      if (!free.size) break;
    }
  }
  return x;
}

/** The solution of a small symmetric system, by elimination with pivots. */
function solve(matrix, right) {
  const rows = matrix.map((row, i) => [...row, right[i]]);
  const n = rows.length;
  for (let i = 0; i < n; i++) {
    let pivot = i;
    for (let j = i + 1; j < n; j++) {
      if (Math.abs(rows[j][i]) > Math.abs(rows[pivot][i])) pivot = j;
    }
    [rows[i], rows[pivot]] = [rows[pivot], rows[i]];
    for (let j = i + 1; j < n; j++) {
      const factor = rows[i][i] ? rows[j][i] / rows[i][i] : 0;
      for (let k = i; k <= n; k++) rows[j][k] -= factor * rows[i][k];
    }
  }
  const x = new Float64Array(n);
  for (let i = n - 1; i >= 0; i--) {
    let rest = rows[i][n];
    for (let k = i + 1; k < n; k++) rest -= rows[i][k] * x[k];
    x[i] = rows[i][i] ? rest / rows[i][i] : 0;
  }
  return x;
}

export function dot(one, other) {
  let sum = 0;
  for (let i = 0; i < one.length; i++) sum += one[i] * other[i];
  return sum;
}

// The documents of the file as vectors, and the best of them for a query: docboltz/search/.
// n documents, F features, K words. Features are computed here, from the counts and the weights in
// the file: stored ones would take as many bytes as the weights again.

const SMALLEST = 2 ** -126; // of float32: features of a document that has words are not all 0

const AT_ONCE = 250; // documents, between which the page may do other things

/** Counts of all documents, and after `infer` their tf-idf weights and unit vectors. */
export class Collection {
  /**
   * starts: n + 1; gaps: of each document its first column, then how much further each next one
   * is; counts: beside them; inference: the model; mean: F, what is subtracted from features.
   */
  constructor({ starts, gaps, counts, inference, mean }) {
    const n = starts.length - 1;
    Object.assign(this, { starts, counts, inference, mean, n });
    this.columns = new Uint32Array(gaps.length);
    const df = new Float64Array(inference.K);
    for (let i = 0; i < n; i++) {
      for (let e = starts[i], column = 0; e < starts[i + 1]; e++) {
        column += gaps[e];
        this.columns[e] = column;
        df[column] += 1;
      }
    }
    this.df = df;
    this.idf = df.map((documents) => 1 + Math.log((1 + n) / (1 + documents)));
    this.weights = new Float32Array(gaps.length);
    this.vectors = new Float32Array(n * inference.F);
  }

  /** Weigh words and infer features: a second for ten thousand documents, and the page still moves. */
  async infer() {
    for (let row = 0; row < this.n; row++) {
      const { columns, counts } = this.document(row);
      this.weights.set(this.tfidf(columns, counts), this.starts[row]);
      this.vectors.set(this.vector(columns, counts), row * this.inference.F);
      if (row % AT_ONCE === AT_ONCE - 1) await pause();
    }
    return this;
  }

  /** {columns, counts} of a document. */
  document(row) {
    const [begin, end] = [this.starts[row], this.starts[row + 1]];
    return { columns: this.columns.subarray(begin, end), counts: this.counts.subarray(begin, end) };
  }

  /** (1 + log count) · idf, normalised. */
  tfidf(columns, counts) {
    const values = Float64Array.from(columns, (k, i) => (1 + Math.log(counts[i])) * this.idf[k]);
    return normalised(values);
  }

  /** Centred features, normalised; zeros without a word. */
  vector(columns, counts) {
    if (!columns.length) return new Float64Array(this.mean.length);
    const features = this.inference.features(columns, counts);
    return normalised(features.map((p, j) => Math.max(p, SMALLEST) - this.mean[j]));
  }

  /** A text's counts as what to search with. */
  query({ columns, counts }) {
    return { columns, words: this.tfidf(columns, counts), vector: this.vector(columns, counts) };
  }

  /** A document of the collection as what to search with. */
  like(row) {
    const { F } = this.inference;
    return {
      columns: this.document(row).columns,
      words: this.weights.subarray(this.starts[row], this.starts[row + 1]),
      vector: this.vectors.subarray(row * F, (row + 1) * F),
    };
  }

  /** The k best rows, best first: {row, features, words}, the two parts of each score. */
  nearest({ columns, words, vector }, k, share, without = -1) {
    const { F } = this.inference;
    const { starts, weights, vectors } = this;
    const asked = new Float64Array(this.inference.K);
    columns.forEach((column, i) => (asked[column] = words[i]));
    const [byFeatures, byWords] = [new Float64Array(this.n), new Float64Array(this.n)];
    const scores = new Float64Array(this.n);
    for (let row = 0; row < this.n; row++) {
      let [dot, common] = [0, 0];
      for (let j = 0, at = row * F; j < F; j++) dot += vectors[at + j] * vector[j];
      for (let e = starts[row]; e < starts[row + 1]; e++) common += weights[e] * asked[this.columns[e]];
      byFeatures[row] = share * Math.min(dot, 1);
      byWords[row] = (1 - share) * Math.min(common, 1);
      const out = starts[row] === starts[row + 1] || row === without;
      scores[row] = out ? -Infinity : byFeatures[row] + byWords[row];
    }
    return best(scores, k).map((row) => ({ row, features: byFeatures[row], words: byWords[row] }));
  }
}

/** Let the page do what waits; setTimeout would wait 4 ms, and a second in a tab nobody sees. */
function pause() {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.onmessage = () => resolve(port1.close());
    port2.postMessage(null);
  });
}

/** Rows of the k highest scores; of equal ones the first rows. */
export function best(scores, k) {
  const found = []; // sorted, best first
  for (let row = 0; row < scores.length; row++) {
    if (scores[row] === -Infinity) continue;
    if (found.length === k && !(scores[row] > scores[found[k - 1]])) continue;
    let at = found.length;
    while (at > 0 && scores[found[at - 1]] < scores[row]) at--;
    found.splice(at, 0, row);
    if (found.length > k) found.pop();
  }
  return found;
}

function normalised(values) {
  let squares = 0;
  for (const value of values) squares += value * value;
  return squares > 0 ? values.map((value) => value / Math.sqrt(squares)) : values;
}

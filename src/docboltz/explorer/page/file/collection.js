// The documents of the file as postings and vectors, and the best of them for a question:
// docboltz/search/. n documents, F features, K words of the model, T terms. Features are computed
// here, from counts and the weights in the file: stored ones would take as many bytes again.

const SMALLEST = 2 ** -126; // of float32: features of a document that has words are not all 0

const AT_ONCE = 250; // documents, between which the page may do other things

/** What documents have which words, and after `infer` their unit vectors. */
export class Collection {
  /**
   * n; df: how many documents each term has; gaps, counts: of each term, one after the other, the
   * first document and how much further each next one is, and how often they have it; lists: of
   * each column the number of its postings, among those of terms or behind them; terms: T;
   * inference: the model; mean: F, what is subtracted from features; score: constants of the score.
   */
  constructor({ n, df: lengths, gaps, counts, lists, terms, inference, mean, score }) {
    Object.assign(this, { n, counts, lists, inference, mean, score });
    this.begins = new Uint32Array(lengths.length + 1);
    this.rows = new Uint32Array(gaps.length);
    this.lengths = new Float64Array(n); // words of each document
    lengths.forEach((length, t) => {
      const end = (this.begins[t + 1] = this.begins[t] + length);
      for (let e = this.begins[t], row = 0; e < end; e++) {
        row += gaps[e];
        this.rows[e] = row;
        if (t < terms) this.lengths[row] += counts[e];
      }
    });
    const words = this.lengths.reduce((sum, length) => sum + length, 0);
    this.meanLength = Math.max(words / n, 1);
    this.#countsOfModel();
    this.vectors = new Float32Array(n * inference.F);
  }

  /** The model's words of every document, in the order of the columns. */
  #countsOfModel() {
    const { n, lists, begins, rows, counts } = this;
    this.df = Float64Array.from(lists, (t) => begins[t + 1] - begins[t]);
    this.starts = new Uint32Array(n + 1);
    for (const t of lists) for (let e = begins[t]; e < begins[t + 1]; e++) this.starts[rows[e] + 1]++;
    for (let row = 0; row < n; row++) this.starts[row + 1] += this.starts[row];
    const next = this.starts.slice(0, n);
    this.columns = new Uint32Array(this.starts[n]);
    this.often = new Uint32Array(this.starts[n]);
    lists.forEach((t, column) => {
      for (let e = begins[t]; e < begins[t + 1]; e++) {
        const at = next[rows[e]]++;
        this.columns[at] = column;
        this.often[at] = counts[e];
      }
    });
  }

  /** Infer features: a second for ten thousand documents, and the page still moves. */
  async infer() {
    for (let row = 0; row < this.n; row++) {
      const { columns, counts } = this.document(row);
      this.vectors.set(this.vector(columns, counts), row * this.inference.F);
      if (row % AT_ONCE === AT_ONCE - 1) await pause();
    }
    return this;
  }

  /** {columns, counts} of a document. */
  document(row) {
    const [begin, end] = [this.starts[row], this.starts[row + 1]];
    return { columns: this.columns.subarray(begin, end), counts: this.often.subarray(begin, end) };
  }

  /** Term ↦ how often a document has it. */
  terms(row, T) {
    const found = new Map();
    for (let t = 0; t < T; t++) {
      for (let e = this.begins[t]; e < this.begins[t + 1]; e++) {
        if (this.rows[e] === row) found.set(t, this.counts[e]);
      }
    }
    return found;
  }

  /** Rows of the documents that have a term, in order. */
  rowsOf(term) {
    return this.rows.subarray(this.begins[term], this.begins[term + 1]);
  }

  /** Centred features, normalised; zeros without a word. */
  vector(columns, counts) {
    if (!columns.length) return new Float64Array(this.mean.length);
    const features = this.inference.features(columns, counts);
    return normalised(features.map((p, j) => Math.max(p, SMALLEST) - this.mean[j]));
  }

  vectorOf(row) {
    const { F } = this.inference;
    return this.vectors.subarray(row * F, (row + 1) * F);
  }

  /** Cosines of a unit vector with those of all documents. */
  cosines(vector) {
    const { F } = this.inference;
    return Float64Array.from({ length: this.n }, (_, row) => {
      let dot = 0;
      for (let j = 0, at = row * F; j < F; j++) dot += this.vectors[at + j] * vector[j];
      return Math.max(-1, Math.min(dot, 1));
    });
  }

  /** Rows of the k documents whose features are the nearest to a vector. */
  near(vector, k) {
    const scores = this.cosines(vector);
    for (let row = 0; row < this.n; row++) if (this.starts[row] === this.starts[row + 1]) scores[row] = -Infinity;
    return best(scores, k);
  }

  /** A word of a question: the documents that have it, what it weighs, and what they score by BM25. */
  asked(form, rows, counts, times = 1) {
    const { n, lengths, meanLength, score: { k1, b } } = this;
    const idf = Math.log1p((n - rows.length + 0.5) / (rows.length + 0.5));
    const bm25 = Float64Array.from(rows, (row, i) => {
      const norm = k1 * (1 - b + (b * lengths[row]) / meanLength);
      return (times * idf * (k1 + 1) * counts[i]) / (counts[i] + norm);
    });
    return { form, rows, idf, bm25 };
  }

  /** The same of a term. */
  askedTerm(term, form, times) {
    const counts = this.counts.subarray(this.begins[term], this.begins[term + 1]);
    return this.asked(form, this.rowsOf(term), counts, times);
  }

  /** What the parts of a score count: docboltz/search/score.py. */
  weights({ vector, unknown }) {
    const { bm25, share } = this.score;
    const known = vector.some((value) => value !== 0) ? 1 : 0;
    const whole = known + bm25 + unknown + share;
    return { features: known / whole, bm25: (bm25 + unknown) / whole, share: share / whole };
  }

  /** BM25 of each document, and what that counts there. */
  sums({ words, ...question }) {
    const [bm25, share] = [new Float64Array(this.n), new Float64Array(this.n)];
    const whole = words.reduce((sum, { idf }) => sum + idf, 0);
    for (const { rows, idf, bm25: own } of words) {
      rows.forEach((row, i) => {
        bm25[row] += own[i];
        share[row] += idf / whole;
      });
    }
    const most = bm25.reduce((most, value) => Math.max(most, value), 0) || 1;
    const weights = this.weights(question);
    return { bm25, factor: share.map((c) => (weights.bm25 + weights.share * c ** this.score.power) / most) };
  }

  /** The k best rows, best first: {row, features, words}, the two parts of each score; only those above 0 or with a word. */
  nearest(question, k) {
    const { bm25, factor } = this.sums(question);
    const byWords = bm25.map((value, row) => factor[row] * value);
    const weight = this.weights(question).features;
    const byFeatures = weight ? this.cosines(question.vector).map((value) => weight * value) : new Float64Array(this.n);
    const scores = byWords.map((value, row) => {
      const sum = value + byFeatures[row];
      return (sum > 0 || value > 0) && question.allowed(row) ? sum : -Infinity;
    });
    return best(scores, k).map((row) => ({ row, features: byFeatures[row], words: byWords[row] }));
  }

  /** row ↦ what each word of a question adds to its score: {word, score}. */
  wordParts(question) {
    const { factor } = this.sums(question);
    return (row) => question.words.flatMap(({ form, rows, bm25 }) => {
      const at = rows.indexOf(row);
      return at < 0 ? [] : [{ word: form, score: factor[row] * bm25[at] }];
    });
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

// Which topics a document has, and how sure that is: docboltz/topics/mixture.py.
// T topics of the mixture; several may have one number, and are one topic then.

import { softmax } from "./inference.js";

export class Mixture {
  /** directions: T × F; words: K × T; prior: T; numbers: T; temperature and growth of the scores;
      limits: how well so many words, lengths, must fit a topic. */
  constructor({ directions, words, prior, numbers, temperature, growth, lengths, limits }) {
    Object.assign(this, { directions, words, prior, numbers, temperature, growth, lengths, limits });
  }

  /** Number of a topic ↦ its probability, −1 for none; of a document without a known word {−1: 1}. */
  probabilities(columns, vector) {
    if (!columns.length) return new Map([[-1, 1]]);
    const T = this.prior.length;
    const F = vector.length;
    const scores = new Float64Array(T + 1);
    let fit = -Infinity;
    for (let t = 0; t < T; t++) {
      let score = 0;
      for (const column of columns) score += this.words[column * T + t];
      fit = Math.max(fit, score);
      score += this.prior[t];
      for (let j = 0; j < F; j++) score += this.directions[t * F + j] * vector[j];
      scores[t] = score;
    }
    // Nowhere is as probable as the best topic where words fit just as well as they must.
    const wanting = this.lengths.length ? this.limit(columns.length) - fit : -Infinity;
    scores[T] = Math.max(...scores.subarray(0, T)) + wanting;
    const heat = this.temperature * columns.length ** this.growth;
    const shares = softmax(scores.map((score) => score / heat));
    const found = new Map([[-1, shares[T]]]);
    for (let t = 0; t < T; t++) {
      const number = this.numbers[t];
      found.set(number, (found.get(number) ?? 0) + shares[t]);
    }
    return found;
  }
  /** How well n words must fit, on straight lines between the lengths that are known. */
  limit(n) {
    const { lengths, limits } = this;
    const above = lengths.findIndex((length) => length >= n);
    if (above === 0) return limits[0];
    if (above < 0) return limits[limits.length - 1];
    const part = (n - lengths[above - 1]) / (lengths[above] - lengths[above - 1]);
    return limits[above - 1] + part * (limits[above] - limits[above - 1]);
  }
}

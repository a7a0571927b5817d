// Why a document is a hit, in parts of its score: docboltz/explaining.py.

import { dot, nonNegative } from "./least_squares.js";

const HELD = 0.1; // as in explaining.py: topics that cancel each other must not grow

/** The directions of topics, by which a question is divided. */
export class Reasons {
  /** mixture: the topics; names: of topics; collection: whose documents are hits. */
  constructor(mixture, names, collection) {
    Object.assign(this, { mixture, names, collection });
    const T = mixture.prior.length;
    const F = mixture.directions.length / T;
    this.directions = Array.from({ length: T }, (_, t) => {
      const direction = Float64Array.from(mixture.directions.subarray(t * F, (t + 1) * F));
      const length = Math.max(Math.sqrt(dot(direction, direction)), 1e-30);
      return direction.map((value) => value / length);
    });
    this.held = this.directions.map((direction, t) => {
      const longer = new Float64Array(F + T);
      longer.set(direction);
      longer[F + t] = HELD;
      return longer;
    });
  }

  /** A question ↦ a function of rows that gives {words, topics, other}. */
  of(question) {
    const { vector } = question;
    const weight = this.collection.weights(question).features;
    const longer = new Float64Array(vector.length + this.held.length);
    longer.set(vector);
    const shares = nonNegative(this.held, longer);
    const rest = Float64Array.from(vector);
    this.directions.forEach((direction, t) => {
      for (let j = 0; j < rest.length; j++) rest[j] -= shares[t] * direction[j];
    });
    const words = this.collection.wordParts(question);
    return (row) => {
      const own = this.collection.vectorOf(row);
      const topics = new Map();
      this.directions.forEach((direction, t) => {
        const score = weight * shares[t] * dot(direction, own);
        const number = this.mixture.numbers[t];
        if (score !== 0) topics.set(number, (topics.get(number) ?? 0) + score);
      });
      return {
        words: words(row).sort((one, other) => other.score - one.score),
        topics: [...topics]
          .sort((one, other) => other[1] - one[1])
          .map(([topic, score]) => ({ topic, name: this.names.get(topic), score })),
        other: weight * dot(rest, own),
      };
    };
  }
}

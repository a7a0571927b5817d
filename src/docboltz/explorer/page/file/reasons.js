// Why a document is a hit, in parts of its score: docboltz/explaining.py.

import { dot, nonNegative } from "./least_squares.js";

const HELD = 0.1; // as in explaining.py: topics that cancel each other must not grow

/** The directions of topics, by which a question is divided. */
export class Reasons {
  /** mixture: the topics; share: of features in a score; forms, names: of words and topics. */
  constructor(mixture, share, forms, names) {
    Object.assign(this, { mixture, share, forms, names });
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

  /** A question {columns, words, vector} ↦ a function of hits that gives {words, topics, other}. */
  of({ columns, words, vector }) {
    const longer = new Float64Array(vector.length + this.held.length);
    longer.set(vector);
    const shares = nonNegative(this.held, longer);
    const rest = Float64Array.from(vector);
    this.directions.forEach((direction, t) => {
      for (let j = 0; j < rest.length; j++) rest[j] -= shares[t] * direction[j];
    });
    const asked = new Map([...columns].map((column, i) => [column, words[i]]));
    return (hit) => {
      const shared = [...hit.columns]
        .map((column, i) => ({ column, score: (1 - this.share) * (asked.get(column) ?? 0) * hit.words[i] }))
        .filter(({ score }) => score !== 0);
      const topics = new Map();
      this.directions.forEach((direction, t) => {
        const score = this.share * shares[t] * dot(direction, hit.vector);
        const number = this.mixture.numbers[t];
        if (score !== 0) topics.set(number, (topics.get(number) ?? 0) + score);
      });
      return {
        words: shared
          .sort((one, other) => other.score - one.score)
          .map(({ column, score }) => ({ word: this.forms[column], score })),
        topics: [...topics]
          .sort((one, other) => other[1] - one[1])
          .map(([topic, score]) => ({ topic, name: this.names.get(topic), score })),
        other: this.share * dot(rest, hit.vector),
      };
    };
  }
}

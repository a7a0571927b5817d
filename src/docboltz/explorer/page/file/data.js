// Everything in the file, ready to be asked: answers in the words and shapes of docboltz/explaining.py.

import { Collection } from "./collection.js";
import { Inference, sigmoid } from "./inference.js";
import { Mixture } from "./mixture.js";
import { distance, placeAmong } from "./place.js";
import { Reasons } from "./reasons.js";
import { chooseWords, commonest } from "./region.js";
import { Words } from "./words.js";

const LEAST_PROBABILITY = 0.01;
const [SHOWN_TOPICS, SHOWN_UNITS, SHOWN_WORDS, SHOWN_SHARES] = [5, 8, 15, 10];
const PLACED_BY = 10; // neighbours that say where a new text lies
const SMALLEST = 2 ** -126;
const NONE = 65535;

/** What the page tells as an answer, not as a fault of its own. */
export function refused(message) {
  return Object.assign(new Error(message), { kind: "refused" });
}

export class Data {
  constructor({ content, arrays }) {
    Object.assign(this, { content, arrays });
    const { forms, latent_words: latentWords, mixture } = content;
    this.forms = forms;
    this.names = new Map(content.topics.map(({ topic, name }) => [topic, name]));
    this.rows = new Map(content.documents.id.map((id, row) => [id, row]));
    this.words = new Words(content.cutting, content.words, arrays.terms, arrays.pairs, forms.length);
    this.inference = new Inference({ ...arrays, latentWords });
    this.mixture = new Mixture({
      ...mixture,
      directions: arrays.topic_directions,
      words: arrays.topic_words,
      prior: arrays.topic_prior,
    });
    this.collection = new Collection({ ...arrays, inference: this.inference });
    const { x, y, topic, label, day } = arrays;
    this.points = { x, y, topic, label, day };
  }

  get reasons() {
    this.why ??= new Reasons(this.mixture, this.content.features_share, this.forms, this.names);
    return this.why;
  }

  row(id) {
    const row = this.rows.get(String(id));
    if (row === undefined) throw refused("There is no document of this id.");
    return row;
  }

  document(row) {
    const { id, text, labels, date } = this.content.documents;
    if (id[row] === undefined) throw refused(`There is no document in row ${row}.`);
    const topic = this.topic(row);
    return { row, id: id[row], text: text[row], labels: labels[row], date: date[row], topic };
  }

  topic(row) {
    const code = this.points.topic[row];
    return code === NONE ? null : this.content.map.topics[code];
  }

  hits(question, limit, reasons, without) {
    const share = this.content.features_share;
    const why = reasons ? this.reasons.of(question) : null;
    return this.collection.nearest(question, limit, share, without).map(({ row, features, words }) => {
      const document = this.document(row);
      const matches = this.words.matches(document.text, question.columns);
      const hit = { ...document, score: features + words, features, words, matches };
      return why ? { ...hit, reasons: why(this.collection.like(row)) } : hit;
    });
  }

  /** The words of a text that the model knows, and where they stand. */
  wordMatches(text, columns) {
    const places = this.words.places(text, columns);
    return columns.map((k) => ({ word: this.forms[k], matches: places.get(k) }));
  }

  /** Where a text of that vector lies on the map. */
  place(vector) {
    const { x, y } = this.points;
    const nearest = this.collection.nearest({ columns: [], words: [], vector }, PLACED_BY, 1);
    return placeAmong(nearest.map(({ row }) => {
      return { x: x[row], y: y[row], distance: distance(this.collection.like(row).vector, vector) };
    }));
  }

  expected(columns, counts, n) {
    return this.inference
      .expectedWords(columns, counts, n)
      .map(({ column, ...figures }) => ({ word: this.forms[column], ...figures }));
  }

  /** The topic that a text belongs to, or null for none. */
  topicOf(columns, vector) {
    const found = [...this.mixture.probabilities(columns, vector)];
    const [topic] = found.reduce((best, each) => (each[1] > best[1] ? each : best));
    return topic < 0 ? null : topic;
  }

  /** The most probable topics of a document. */
  topicsOf(columns, vector) {
    return [...this.mixture.probabilities(columns, vector)]
      .filter(([topic, probability]) => topic >= 0 && probability >= LEAST_PROBABILITY)
      .sort((one, other) => other[1] - one[1] || one[0] - other[0])
      .slice(0, SHOWN_TOPICS)
      .map(([topic, probability]) => ({ topic, name: this.names.get(topic), probability }));
  }

  /** The units that a text says most about, and what its words do there: input is their sum. */
  units(columns, counts) {
    if (!columns.length) return [];
    const { F, W, a } = this.inference;
    const { sums, n, replication } = this.inference.inputs(columns, counts);
    const found = [...sums.keys()].map((j) => {
      const probability = sigmoid(sums[j] * replication);
      const usual = Math.max(this.arrays.mean[j], SMALLEST);
      return { j, probability, news: probability * Math.log(Math.max(probability, SMALLEST) / usual) };
    });
    found.sort((one, other) => other.news - one.news || one.j - other.j);
    return found.slice(0, SHOWN_UNITS).map(({ j, probability }) => ({
      ...this.content.units[j],
      probability,
      input: sums[j] * replication,
      bias: replication * n * a[j],
      contributions: columns
        .map((k, i) => ({ word: this.forms[k], value: replication * counts[i] * W[k * F + j] }))
        .sort((one, other) => Math.abs(other.value) - Math.abs(one.value)),
    }));
  }

  region(rows) {
    const { collection, forms, content } = this;
    const inside = new Float64Array(forms.length);
    for (const row of rows) for (const k of collection.document(row).columns) inside[k] += 1;
    const { stems, hidden } = content;
    const [size, n, total, k] = [rows.length, collection.n, collection.df, SHOWN_WORDS];
    const chosen = chooseWords({ inside, total, size, n, forms, stems, hidden, k });
    const of = Math.max(size, 1);
    const labels = rows.flatMap((row) => [...new Set(content.documents.labels[row])]);
    const topics = rows.map((row) => this.topic(row)).filter((topic) => topic !== null);
    return {
      documents: size,
      words: chosen.map((column) => {
        const share = inside[column] / of;
        return { word: forms[column], share, lift: (share * n) / total[column] };
      }),
      labels: commonest(labels, SHOWN_SHARES).map(([label, m]) => ({ label, share: m / of })),
      topics: commonest(topics, SHOWN_SHARES).map(([topic, m]) => {
        return { topic, name: this.names.get(topic), share: m / of };
      }),
    };
  }
}

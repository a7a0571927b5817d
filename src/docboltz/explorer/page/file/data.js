// Everything in the file, ready to be asked: answers in the words and shapes of docboltz/explaining.py.

import { Collection } from "./collection.js";
import { Inference, sigmoid } from "./inference.js";
import { Mixture } from "./mixture.js";
import { distance, placeAmong } from "./place.js";
import { inWords, parse, passing, phraseTest, remarks, suggest } from "./query.js";
import { Reasons } from "./reasons.js";
import { chooseWords, commonest } from "./region.js";
import { Words } from "./words.js";

const LEAST_PROBABILITY = 0.01;
const [SHOWN_TOPICS, SHOWN_UNITS, SHOWN_WORDS, SHOWN_SHARES] = [5, 8, 15, 10];
const PLACED_BY = 10; // neighbours that say where a new text lies
const SMALLEST = 2 ** -126;
const NONE = 65535;
const UNKNOWN = -1; // term of a word that no text has

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
    this.words = new Words(content.cutting, content.words.split(" "), arrays.spelt, arrays.columns, arrays.pairs);
    this.termOf = new Int32Array(forms.length).fill(UNKNOWN);
    arrays.columns.forEach((column, term) => column >= 0 && (this.termOf[column] = term));
    this.inference = new Inference({ ...arrays, latentWords });
    this.mixture = new Mixture({
      ...mixture,
      directions: arrays.topic_directions,
      words: arrays.topic_words,
      prior: arrays.topic_prior,
    });
    const [n, terms] = [content.documents.id.length, this.words.forms.length];
    this.collection = new Collection({ ...arrays, n, terms, inference: this.inference, score: content.score });
    const { x, y, topic, label, day } = arrays;
    this.points = { x, y, topic, label, day };
  }

  get reasons() {
    this.why ??= new Reasons(this.mixture, this.names, this.collection);
    return this.why;
  }

  row(id) {
    const row = this.rows.get(String(id));
    if (row === undefined) throw refused("There is no document of this id.");
    return row;
  }

  document(row) {
    const { id, text, labels, date, columns } = this.content.documents;
    if (id[row] === undefined) throw refused(`There is no document in row ${row}.`);
    const [title, topic] = [this.title(row), this.topic(row)];
    return { row, id: id[row], title, text: text[row], labels: labels[row], date: date[row], columns: columns[row], topic };
  }

  /** A document's title, or the first line of its text. */
  title(row) {
    const { title, text } = this.content.documents;
    if (title[row]) return title[row];
    const line = text[row].trim().split("\n", 1)[0].trim();
    const letters = [...line.slice(0, 3 * this.content.limits.title)];
    const most = this.content.limits.title;
    return letters.length <= most ? line : `${letters.slice(0, most - 1).join("").trimEnd()}…`;
  }

  topic(row) {
    const code = this.points.topic[row];
    return code === NONE ? null : this.content.map.topics[code];
  }

  /** The answer to a query. */
  search(q, limit, reasons) {
    const query = parse(q, this.content.columns, this.content.limits.query);
    let hits = this.hits(this.question(query), limit, reasons);
    const phrases = hits.length ? [] : query.phrases.filter((phrase) => !this.rowsWith(phrase).length);
    if (phrases.length) {
      const others = query.phrases.filter((phrase) => !phrases.includes(phrase));
      hits = this.hits(this.question({ ...query, phrases: others }), limit, reasons);
    }
    const found = { hits, phrases, ...this.unknown(query.text) };
    if (hits.length) return found;
    const why = q.trim() ? "No document answers this." : "There is no word to search for.";
    return { ...found, message: remarks(found) || why };
  }

  /** The documents most like one of the collection. */
  similar(row, limit, reasons) {
    const terms = this.collection.terms(row, this.words.forms.length);
    const question = {
      vector: this.collection.vectorOf(row),
      unknown: this.unknownShare(this.collection.document(row), terms),
      terms: [...terms.keys()],
      words: [...terms].map(([term, times]) => this.collection.askedTerm(term, this.words.forms[term], times)),
      allowed: (other) => other !== row,
    };
    const hits = this.hits(question, limit, reasons);
    const found = { hits, unknown: [], suggestions: {}, phrases: [] };
    return hits.length ? found : { ...found, message: "No document is like it." };
  }

  /** A query as what to search with: {vector, unknown, terms, words, allowed}. */
  question(query) {
    const { columns, counts } = this.words.count(query.text);
    const times = new Map();
    for (const term of this.termsOf(query.text)) times.set(term, (times.get(term) ?? 0) + 1);
    const words = [...times]
      .filter(([term]) => this.has(term))
      .map(([term, often]) => this.collection.askedTerm(term, this.words.forms[term], often));
    const asked = { ...query };
    if (!times.size && !query.phrases.length && query.text.trim()) asked.phrases = [query.text]; // of stop words
    for (const phrase of asked.phrases.filter((each) => !this.termsOf(each).length)) {
      const rows = this.rowsWith(phrase);
      words.push(this.collection.asked(phrase, rows, new Uint8Array(rows.length).fill(1)));
    }
    const vector = this.collection.vector(columns, counts);
    const unknown = this.unknownShare({ columns, counts }, times);
    return { vector, unknown, terms: [...times.keys()], words, allowed: this.allowed(asked) };
  }

  /** Which rows a query's phrases, excluded words and filter let through. */
  allowed({ phrases, without, wanted }) {
    const { documents, map } = this.content;
    const mask = new Uint8Array(this.collection.n).fill(1);
    const passes = passing(wanted);
    if (passes) {
      const { labels, date, columns } = documents;
      mask.forEach((_, row) => (mask[row] = passes({ labels: labels[row], date: date[row], columns: columns[row] })));
      if (!mask.includes(1)) {
        const some = map.labels.slice(0, 5).map((label) => `'${label}'`).join(", ");
        throw refused(`No document has ${inWords(wanted)}.${wanted.labels.length && some ? ` Labels are ${some}, …` : ""}`);
      }
    }
    for (const phrase of phrases) {
      const own = new Set(this.rowsWith(phrase));
      mask.forEach((_, row) => own.has(row) || (mask[row] = 0));
    }
    for (const phrase of without) for (const row of this.rowsWith(phrase, this.termsOf(phrase).length !== 1)) mask[row] = 0;
    return (row) => mask[row] === 1;
  }

  /** Rows of the documents that have a phrase; if it is not literal, all of its words. */
  rowsWith(phrase, literal = true) {
    const { title, text } = this.content.documents;
    const has = phraseTest(phrase, (letter) => this.words.spaceless.test(letter));
    const isIn = (row) => has(`${title[row]}\n${text[row]}`);
    const terms = this.termsOf(phrase);
    if (!terms.every((term) => this.has(term))) return [];
    if (!terms.length) return [...text.keys()].filter(isIn);
    const [first, ...others] = terms.map((term) => this.collection.rowsOf(term));
    const more = others.map((rows) => new Set(rows));
    const rows = [...first].filter((row) => more.every((own) => own.has(row)));
    return literal ? rows.filter(isIn) : rows;
  }

  /** Share of the words of a text that the model does not know; some of its columns are pairs of words. */
  unknownShare({ columns, counts }, terms) {
    const known = counts.reduce((sum, n, i) => sum + (this.content.forms[columns[i]].includes(" ") ? 0 : n), 0);
    const all = [...terms.values()].reduce((sum, n) => sum + n, 0);
    return 1 - Math.min(known / Math.max(all, 1), 1);
  }

  /** Terms of a phrase; scripts without spaces are searched by pairs of characters. */
  termsOf(phrase) {
    return this.searched(phrase).map(([, term]) => term);
  }

  /** Words of a query and their terms. */
  searched(text) {
    const whole = ([word]) => [...word].length > 1 || !this.words.spaceless.test(word);
    return this.words.searched(text).filter(whole);
  }

  /** Whether some document has a term. */
  has(term) {
    return this.arrays.df[term] > 0;
  }

  /** Words of a query that no document has, and words that are spelt like them. */
  unknown(text) {
    const unknown = [...new Set(this.searched(text).filter(([, term]) => !this.has(term)).map(([word]) => word))];
    const few = unknown.length <= this.content.limits.spelt;
    const others = (word) => (few && /^\p{L}+$/u.test(word) ? suggest(word, this.words.forms, this.arrays.df) : []);
    return { unknown, suggestions: Object.fromEntries(unknown.map((word) => [word, others(word)])) };
  }

  hits(question, limit, reasons) {
    const found = this.collection.nearest(question, limit);
    const why = reasons && found.length ? this.reasons.of(question) : null;
    return found.map(({ row, features, words }) => {
      const document = this.document(row);
      const matches = this.words.matches(document.text, question.terms);
      const hit = { ...document, score: features + words, features, words, ...piece(document.text, matches, this.content.limits.piece) };
      return why ? { ...hit, reasons: why(row) } : hit;
    });
  }

  /** The words of a text that the model knows, and where they stand. */
  wordMatches(text, columns) {
    const places = this.words.places(text, [...columns].map((k) => this.termOf[k]));
    return columns.map((k) => ({ word: this.forms[k], matches: this.termOf[k] < 0 ? [] : places.get(this.termOf[k]) }));
  }

  /** Where a text of that vector lies on the map. */
  place(vector) {
    const { x, y } = this.points;
    return placeAmong(this.collection.near(vector, PLACED_BY).map((row) => {
      return { x: x[row], y: y[row], distance: distance(this.collection.vectorOf(row), vector) };
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

/** So many characters of a text that have most matches, and where these stand: `snapshot.py` does the same. */
function piece(text, matches, most) {
  const letters = text.length > most ? [...text] : null;
  if (!letters || letters.length <= most) return { text, matches, begin: 0, whole: true };
  let [first, best, end] = [0, 0, 0];
  matches.forEach(([at], i) => {
    while (end < matches.length && matches[end][1] <= at + most) end++;
    if (end - i > best) [first, best] = [at, end - i];
  });
  const early = first + Math.floor(most / 2) > most ? Math.max(0, first - Math.floor(most / 4)) : 0;
  const begin = Math.min(early, letters.length - most);
  const inside = matches.filter(([b, e]) => b >= begin && e <= begin + most);
  return {
    text: letters.slice(begin, begin + most).join(""),
    matches: inside.map(([b, e]) => [b - begin, e - begin]),
    begin,
    whole: false,
  };
}

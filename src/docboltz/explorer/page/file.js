// The second source of answers: a single file that holds the collection, and no server. The same
// methods and answers as server.js; docboltz/explorer/file_data.py says what the file holds.

import { unpack } from "./file/archive.js";
import { Data, refused } from "./file/data.js";

export const DATA = "docboltz-data"; // id of the element that holds the data
const SHOWN_WORDS = 15; // that the model expects beside a text

export class FileSource {
  /** packed: the text of the data's element. */
  constructor(packed) {
    this.packed = packed;
  }

  /** What was unpacked, once. */
  get data() {
    this.unpacked ??= unpack(this.packed).then((found) => {
      this.packed = null; // some ten megabytes
      return new Data(found);
    });
    return this.unpacked;
  }

  /** The same with the vectors of all documents, which take a moment longer. */
  get searchable() {
    this.inferred ??= this.data.then(async (data) => {
      await data.collection.infer();
      return data;
    });
    return this.inferred;
  }

  async collection() {
    return (await this.data).content.collection;
  }

  async state({ points = true } = {}) {
    const { content, points: columns } = await this.data;
    if (points) setTimeout(() => this.searchable); // there is a map to look at meanwhile
    const { collection, topics, map } = content;
    return { collection, topics, map, columns: points ? columns : null };
  }

  async topicsBy(by, period) {
    const { shares } = (await this.data).content;
    const found = { label: shares.label, date: period ? undefined : shares.date }[by];
    if (!found) throw refused(`The documents of this file have no ${by}.`);
    return found;
  }

  async search(q, { limit = 10, reasons = false } = {}) {
    return (await this.searchable).search(q, limit, reasons);
  }

  async similar(id, { limit = 10, reasons = false } = {}) {
    const data = await this.searchable;
    return data.similar(data.row(id), limit, reasons);
  }

  async words(q, limit = 15) {
    const data = await this.data;
    const { columns, counts } = data.words.count(q);
    return columns.length ? data.expected(columns, counts, limit) : [];
  }

  async explain(text, { limit = 10 } = {}) {
    const data = await this.searchable;
    const { columns, counts, unknown } = data.words.count(text);
    const matches = data.wordMatches(text, columns);
    const about = { known: matches.map(({ word }) => word), matches, unknown };
    const hits = text.trim() ? data.search(text, limit, false).hits : [];
    if (!columns.length) {
      return { ...about, topic: null, topics: [], units: [], expected: [], x: null, y: null, hits };
    }
    const vector = data.collection.vector(columns, counts);
    return {
      ...about,
      topic: data.topicOf(columns, vector),
      topics: data.topicsOf(columns, vector),
      units: data.units(columns, counts),
      expected: data.expected(columns, counts, SHOWN_WORDS),
      ...data.place(vector),
      hits,
    };
  }

  async document(id) {
    const data = await this.data;
    const row = data.row(id);
    const found = data.document(row);
    const { columns, counts } = data.collection.document(row);
    const counted = data.words.count(found.text);
    const { x, y } = data.points;
    const placed = Number.isFinite(x[row]);
    return {
      ...found,
      matches: data.wordMatches(found.text, counted.columns),
      topics: data.topicsOf(columns, data.collection.vector(columns, counts)),
      units: data.units(counted.columns, counted.counts),
      x: placed ? x[row] : null,
      y: placed ? y[row] : null,
    };
  }

  async documents({ rows, ids }) {
    const data = await this.data;
    return (rows ?? ids.map((id) => data.row(id))).map((row) => data.document(row));
  }

  async region(rows) {
    return (await this.data).region([...new Set(rows)].sort((one, other) => one - other));
  }

  async renameTopic() {
    throw refused("Topics of a single file cannot be renamed: start docboltz explore instead.");
  }

  async mergeTopics() {
    throw refused("Topics of a single file cannot be merged: start docboltz explore instead.");
  }
}

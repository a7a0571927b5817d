// The source of answers when a server gave the page. file.js has the same methods.

const PATIENCE = 60_000; // milliseconds that an answer may take
const MOST_DOCUMENTS = 10_000; // of one request

export class ServerSource {
  #build = "";

  async collection() {
    return this.#get("api/collection");
  }

  async map() {
    const found = await this.#get("api/map");
    this.#build = found.build;
    return found;
  }

  /** Columns of the map, after `map()`: see its description in /docs. */
  async points() {
    const response = await this.#ask(`api/map/points?${new URLSearchParams({ build: this.#build })}`);
    const bytes = await response.arrayBuffer();
    const n = bytes.byteLength / 16;
    return {
      x: new Float32Array(bytes, 0, n),
      y: new Float32Array(bytes, 4 * n, n),
      topic: new Uint16Array(bytes, 8 * n, n),
      label: new Uint16Array(bytes, 10 * n, n),
      day: new Float32Array(bytes, 12 * n, n),
    };
  }

  async topics() {
    return this.#get("api/topics");
  }

  async topicsBy(by, period) {
    return this.#get("api/topics/by", period ? { by, period } : { by });
  }

  async search(q, { limit = 10, reasons = false } = {}) {
    return this.#get("api/search", { q, limit, reasons });
  }

  async similar(id, { limit = 10, reasons = false } = {}) {
    return this.#get("api/similar", { id, limit, reasons });
  }

  async explain(text) {
    return this.#post("api/explain", { text });
  }

  async document(id) {
    return this.#get(`api/documents/${encodeURIComponent(id)}`);
  }

  async documents(which) {
    const rows = which.rows;
    if (!rows || rows.length <= MOST_DOCUMENTS) return this.#post("api/documents", which);
    const found = [];
    for (let at = 0; at < rows.length; at += MOST_DOCUMENTS) {
      found.push(await this.#post("api/documents", { rows: rows.slice(at, at + MOST_DOCUMENTS) }));
    }
    return found.flat();
  }

  async region(rows) {
    return this.#post("api/region", { rows });
  }

  async renameTopic(number, name) {
    return this.#post(`api/topics/${number}/name`, { name });
  }

  async mergeTopics(topics) {
    return this.#post("api/topics/merge", { topics });
  }

  async words(q) {
    return this.#get("api/words", { q });
  }

  async #get(path, query = {}) {
    const asked = Object.keys(query).length ? `${path}?${new URLSearchParams(query)}` : path;
    return (await this.#ask(asked)).json();
  }

  async #post(path, body) {
    const headers = { "Content-Type": "application/json" };
    return (await this.#ask(path, { method: "POST", headers, body: JSON.stringify(body) })).json();
  }

  async #ask(path, options = {}) {
    let response;
    try {
      response = await fetch(path, { ...options, signal: AbortSignal.timeout(PATIENCE) });
    } catch (cause) {
      throw unanswered(cause);
    }
    if (response.ok) return response;
    const told = await response.json().catch(() => ({}));
    const reason = typeof told.detail === "string" ? told.detail : `The server answered ${response.status}.`;
    throw Object.assign(new Error(reason), { kind: "refused", status: response.status });
  }
}

function unanswered(cause) {
  const late = cause.name === "TimeoutError";
  const message = late
    ? `The server did not answer within ${PATIENCE / 1000} seconds.`
    : "The server does not answer. If it was stopped, start it again and then retry.";
  return Object.assign(new Error(message, { cause }), { kind: late ? "late" : "offline" });
}

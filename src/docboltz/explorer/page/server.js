// The source of answers when a server gave the page. file.js has the same methods.

const PATIENCE = 60_000; // milliseconds that an answer may take
const MOST_DOCUMENTS = 10_000; // of one request
const TRIES = 3; // to read a state before it changes again

/**
 * Rows and numbers of topics mean something in one state of the collection only: `build` names the
 * state that the page shows, is sent with them, and an answer from another state is an error of the
 * kind "changed".
 */
export class ServerSource {
  build = "";

  async collection() {
    return this.#get("api/collection");
  }

  /** Collection, topics, what the map's columns mean, and these: null while there is no map, or unless asked for. */
  async state({ points = true } = {}) {
    for (let left = TRIES - 1; ; left--) {
      try {
        const collection = await this.collection();
        const topics = await this.#get("api/topics");
        const map = await this.#get("api/map"); // the last to be asked: topics lie between two equal builds
        if (map.build !== collection.build) throw changed();
        const columns = points && collection.has_map ? await this.#points(map.build) : null;
        return { collection, topics, map, columns };
      } catch (error) {
        if (error.kind !== "changed" || !left) throw error;
      }
    }
  }

  async #points(build) {
    const response = await this.#ask(`api/map/points?${new URLSearchParams({ build })}`);
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

  async topicsBy(by, period) {
    return this.#ofState(this.#get("api/topics/by", period ? { by, period } : { by }));
  }

  async search(q, { limit = 10, reasons = false } = {}) {
    return this.#ofState(this.#get("api/search", { q, limit, reasons }));
  }

  async similar(id, { limit = 10, reasons = false } = {}) {
    return this.#ofState(this.#get("api/similar", { id, limit, reasons }));
  }

  async explain(text) {
    return this.#ofState(this.#post("api/explain", { text }));
  }

  async document(id) {
    return this.#ofState(this.#get(`api/documents/${encodeURIComponent(id)}`));
  }

  async documents(which) {
    const [rows, build, found] = [which.rows, this.build, []];
    if (!rows) return this.#post("api/documents", which);
    for (let at = 0; at < rows.length; at += MOST_DOCUMENTS) {
      found.push(await this.#post("api/documents", { rows: rows.slice(at, at + MOST_DOCUMENTS), build }));
    }
    if (build !== this.build) throw changed(); // the page has moved on while the answer came
    return found.flat();
  }

  async region(rows) {
    return this.#post("api/region", { rows, build: this.build });
  }

  async renameTopic(number, name) {
    return this.#post(`api/topics/${number}/name`, { name, build: this.build });
  }

  async mergeTopics(topics) {
    return this.#post("api/topics/merge", { topics, build: this.build });
  }

  async words(q) {
    return this.#get("api/words", { q });
  }

  /** An answer from the state that is shown. One that does not name its state is followed by asking for that. */
  async #ofState(asked) {
    let [found, failed] = [null, null];
    try {
      found = await asked;
    } catch (error) {
      if (error.status !== 404) throw error;
      failed = error; // there may be no such document because there are others now
    }
    const build = found?.build ?? (await this.collection()).build;
    if (build !== this.build) throw changed();
    if (failed) throw failed;
    return found;
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
    const kind = response.status === 409 ? "changed" : "refused";
    throw Object.assign(new Error(reason), { kind, status: response.status });
  }
}

const changed = () =>
  Object.assign(new Error("The collection keeps changing: wait until it is ready, then retry."), { kind: "changed" });

function unanswered(cause) {
  const late = cause.name === "TimeoutError";
  const message = late
    ? `The server did not answer within ${PATIENCE / 1000} seconds.`
    : "The server does not answer. If it was stopped, start it again and then retry.";
  return Object.assign(new Error(message, { cause }), { kind: late ? "late" : "offline" });
}

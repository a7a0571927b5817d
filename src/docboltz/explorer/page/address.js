// Every state has an address, in the part of it behind "#": it can be shared, and back and forward
// work, from a server and from a file alike. `#/document/ID?color=label&x=0.1&y=0.2&zoom=3`

/** @typedef {{view: string, id: string|null, query: Record<string, string>}} Address */

const MAP = ["color", "x", "y", "zoom"]; // of the map, whatever the panel shows

/** @returns {Address} */
export function parse(hash) {
  const [path, query = ""] = split(hash.replace(/^#\/?/, ""), "?");
  const [view, id = null] = split(path, "/");
  return { view: view || "topics", id: id === null ? null : decoded(id), query: values(query) };
}

/** @returns {string} the part of a URL from "#" on. */
export function format(view, id = null, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined);
  const path = id === null ? view : `${view}/${encodeURIComponent(id)}`;
  return `#/${path}${given.length ? `?${new URLSearchParams(given)}` : ""}`;
}

/** The address shown now. */
export const here = () => parse(location.hash);

/** Go to another state; back returns to this one. The map stays as it is unless told. */
export function go(view, id = null, query = {}) {
  location.hash = format(view, id, { ...mapOnly(here().query), ...query });
}

/** Change this state's address without a step in the history; nobody is told. */
export function amend(query, { view, id } = {}) {
  const now = here();
  const merged = { ...now.query, ...query };
  const next = format(view ?? now.view, view === undefined ? now.id : (id ?? null), merged);
  if (next !== location.hash) history.replaceState(null, "", next);
}

export const mapOnly = (query) =>
  Object.fromEntries(Object.entries(query).filter(([key]) => MAP.includes(key)));

function split(text, by) {
  const at = text.indexOf(by);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // an address typed by hand
  }
}

const values = (query) => Object.fromEntries(new URLSearchParams(query));

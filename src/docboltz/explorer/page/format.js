// Numbers, dates and pieces of text as a person reads them.

const whole = new Intl.NumberFormat("en");

export const count = (n) => whole.format(n);

/** "1 document", "2,000 documents". */
export const counted = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;

/** A share: 12 %, 1.2 %, < 0.1 %. */
export function percent(share) {
  const hundred = 100 * share;
  if (hundred > 0 && hundred < 0.1) return "< 0.1 %";
  return `${hundred < 9.95 && hundred > 0 ? hundred.toFixed(1) : hundred.toFixed(0)} %`;
}

/** A score or a part of it, always with its sign when it takes away. */
export const score = (value) => value.toFixed(3).replace("-", "−");

export const signed = (value) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(2);

/** Days since 1970 as an ISO date. */
export const isoDay = (day) => new Date(day * 86_400_000).toISOString().slice(0, 10);

/** What a document is shown by where there is no room: its beginning, in one line. */
export function beginning(text, length = 160) {
  const line = text.slice(0, 4 * length).replace(/\s+/g, " ").trim();
  return line.length > length ? `${line.slice(0, length).trimEnd()}…` : line;
}

/** The first line of a text: its title where it has no other. */
export const firstLine = (text) => text.trim().split("\n", 1)[0].trim();

/** A text without its title, if it begins with that and goes on behind it. */
export function afterTitle({ title, text }) {
  const begin = text.trimStart();
  const rest = begin.startsWith(title) ? begin.slice(title.length).trimStart() : "";
  return rest || text;
}

/**
 * Pieces of a text, in code points as the server counts: [piece, key], key null between matches.
 * @param {string} text
 * @param {[number, number, any][]} spans begin, end, key; overlapping ones after the first dropped
 * @param {number} [from]
 * @param {number} [to]
 */
export function pieces(text, spans, from = 0, to = Infinity) {
  const points = Array.from(text);
  const end = Math.min(to, points.length);
  const found = [];
  let at = from;
  for (const [begin, last, key] of spans.toSorted((a, b) => a[0] - b[0])) {
    if (begin < at || last > end) continue;
    if (begin > at) found.push([points.slice(at, begin).join(""), null]);
    found.push([points.slice(begin, last).join(""), key]);
    at = last;
  }
  if (at < end) found.push([points.slice(at, end).join(""), null]);
  return found;
}

/** Where to begin a piece of so many code points so that it shows as many matches as can be. */
export function bestWindow(spans, width, text) {
  let best = [0, 0];
  for (const [begin] of spans) {
    const inside = spans.filter(([b, e]) => b >= begin && e <= begin + width).length;
    if (inside > best[1]) best = [begin, inside];
  }
  if (best[0] <= width / 2) return 0;
  const early = best[0] - Math.floor(width / 4);
  const space = Array.from(text).findIndex((letter, i) => i >= early && /\s/.test(letter));
  return space >= 0 && space < best[0] ? space + 1 : early; // at the beginning of a word
}

// What a search asks for, taken apart: docboltz/search/query.py, whose table says what may stand there.

const SPACE = "\\t-\\r\\x1c- \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"; // as in Python
const WORD = "[\\p{L}\\p{N}_]";
const PART = new RegExp(
  `(?<![^${SPACE}])(-?)(?:([^${SPACE}":-][^${SPACE}":]*):)?(?:"([^"]+)"(?!${WORD})|([^${SPACE}]+))`, "gu");
const SPACES = new RegExp(`[${SPACE}]+`, "u");
const DATE = /^\d{4}(-\d\d(-\d\d(T\d\d:\d\d(:\d\d)?)?)?)?$/;
const UNIT = { 4: "FullYear", 7: "Month", 10: "Date", 16: "Seconds", 19: "Seconds" }; // by the length of a date

/** {text, phrases, without, wanted}; columns: names of those that were kept; longest: of a query with operators. */
export function parse(text, columns, longest) {
  const wanted = { labels: [], since: "", until: "", columns: [] };
  const found = { text, phrases: [], without: [], wanted };
  if ([...text].length > longest || text.trim().includes("\n")) return found;
  const words = [];
  for (const [whole, minus, name, phrase, word] of text.replace(/[“”„]/g, '"').matchAll(PART)) {
    const value = phrase ?? word;
    const field = name?.toLowerCase();
    if (minus && (["label", "since", "until"].includes(field) || columns.includes(name))) {
      throw Object.assign(new Error(`Filters cannot be excluded: ${whole}.`), { kind: "refused" });
    }
    if (minus && (phrase === undefined ? /[\p{L}\p{N}]/u.test(value) : phrase.trim())) found.without.push(name ? `${name}:${value}` : value);
    else if (field === "label") wanted.labels.push(value);
    else if (field === "since" || field === "until") wanted[field] = value;
    else if (columns.includes(name)) wanted.columns.push([name, value]);
    else if (phrase && !name) {
      if (phrase.trim()) found.phrases.push(phrase.trim());
      words.push(phrase);
    } else words.push(whole);
  }
  return { ...found, text: words.join(" ") };
}

/** A filter as a function of a document {labels, date, columns}; null if it lets all through. */
export function passing({ labels, since, until, columns }) {
  if (!labels.length && !since && !until && !columns.length) return null;
  const [begin, end] = [since ? moment("since", since) : -Infinity, until ? after(until) : Infinity];
  return (document) => {
    const at = document.date ? Date.parse(utc(document.date)) : NaN;
    return (!labels.length || labels.some((label) => document.labels.includes(label)))
      && ((!since && !until) || (at >= begin && at < end))
      && columns.every(([name, value]) => document.columns[name] === value);
  };
}

/** What a filter asks for, in words. */
export function inWords({ labels, since, until, columns }) {
  const quoted = (value) => `'${value}'`;
  const dates = [since && `from ${since}`, until && `to ${until}`].filter(Boolean);
  return [
    labels.length && `the label ${labels.map(quoted).join(" or ")}`,
    dates.length && `a date ${dates.join(" ")}`,
    ...columns.map(([name, value]) => `${name} ${quoted(value)}`),
  ].filter(Boolean).join(" and ");
}

const utc = (date) => (date.includes("T") ? `${date}Z` : date);

function moment(name, date) {
  const found = DATE.test(date) ? Date.parse(utc(date)) : NaN;
  if (!Number.isNaN(found)) return found;
  const message = `${name}: must be a date such as 2013, 2013-08 or 2013-08-11, not “${date}”.`;
  throw Object.assign(new Error(message), { kind: "refused" });
}

/** When the year, month, day or second is over. */
function after(date) {
  const end = new Date(moment("until", date));
  const unit = UNIT[date.length];
  end[`setUTC${unit}`](end[`getUTC${unit}`]() + (date.length === 16 ? 60 : 1));
  return end.getTime();
}

/** A phrase as a test of texts: whole words, any case, any white space between them. */
export function phraseTest(text, isSpaceless) {
  const words = plain(text).split(SPACES).filter(Boolean);
  const [begin, end] = [[...words[0]][0], [...words.at(-1)].at(-1)];
  const apart = (letter) => /[\p{L}\p{N}]/u.test(letter) && !isSpaceless(letter);
  const inner = words.map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")).join(`[${SPACE}]+`);
  const pattern = `${apart(begin) ? `(?<!${WORD})` : ""}${inner}${apart(end) ? `(?!${WORD})` : ""}`;
  const compiled = new RegExp(pattern, "u");
  return (other) => compiled.test(plain(other));
}

const plain = (text) =>
  text.normalize("NFKC").toLowerCase().replaceAll("ß", "ss").replaceAll("ς", "σ");

/** What to know of a query beside its hits: `Hits.remarks` in docboltz/answers.py. */
export function remarks({ unknown, suggestions, phrases, hits }) {
  const more = hits.length ? " These are about its words." : "";
  const found = phrases.map((phrase) => `No document has the phrase "${phrase}".${more}`);
  if (unknown.length) found.push(`No document has: ${unknown.join(", ")}.`);
  const others = [...new Set(Object.values(suggestions).flat())];
  if (others.length) found.push(`Did you mean: ${others.join(", ")}?`);
  return found.join(" ");
}

/** Words spelt nearly like one that no document has, likeliest first: `Terms.suggest` in docboltz/search/words.py. */
export function suggest(word, forms, df, n = 3) {
  const letters = [...word];
  const most = letters.length < 5 ? 1 : 2;
  const found = [];
  forms.forEach((form, term) => {
    if (!df[term] || Math.abs(form.length - letters.length) > 2 * most) return;
    const other = [...form];
    if (Math.abs(other.length - letters.length) > most) return;
    const edits = distance(letters, other);
    // An edit is worth as much as a hundredfold frequency.
    if (edits <= most) found.push({ form, term, score: Math.log(df[term]) - Math.log(100) * edits });
  });
  return found.sort((one, other) => other.score - one.score).slice(0, n).map(({ form }) => form);
}

/** Insertions, deletions, replacements and swaps of neighbours. */
function distance(one, other) {
  let [beforeLast, last] = [[], other.map((_, j) => j)];
  last.push(other.length);
  for (let i = 0; i < one.length; i++) {
    const row = [i + 1];
    for (let j = 0; j < other.length; j++) {
      const same = one[i] === other[j];
      row.push(Math.min(row[j] + 1, last[j + 1] + 1, last[j] + (same ? 0 : 1)));
      const swapped = i && j && one[i] === other[j - 1] && one[i - 1] === other[j];
      if (swapped) row[j + 1] = Math.min(row[j + 1], beforeLast[j - 1] + (same ? 0 : 1));
    }
    [beforeLast, last] = [last, row];
  }
  return last[other.length];
}

// The words that set some documents apart: docboltz/topics/naming.py, for one group of documents.

/**
 * Columns of at most k words, best first. inside, total: documents with each word, of the `size`
 * ones and of all n; forms: words as people write them; stems: what forms of a word have in common.
 */
export function chooseWords({ inside, total, size, n, forms, stems, hidden, k }) {
  const scores = total.map((all, column) => {
    const average = all / Math.max(n, 1);
    const p = (inside[column] + average) / (size + 1);
    const q = (all - inside[column] + average) / (n - size + 1);
    const score = p * Math.log(p / q);
    return Number.isFinite(score) ? score : 0;
  });
  const never = new Set(hidden);
  const order = [...scores.keys()]
    .filter((column) => scores[column] > 0 && inside[column] > 0)
    .sort((one, other) => scores[other] - scores[one] || one - other);
  const chosen = [];
  const taken = new Set();
  for (const column of order) {
    if (chosen.length === k) break;
    const words = forms[column].split(" ");
    if (never.has(forms[column]) || words.some((word) => never.has(word))) continue;
    const own = stems[column].split(" ");
    if (own.some((stem) => taken.has(stem))) continue;
    const listed = chosen.flatMap((other) => forms[other].split(" "));
    if (words.some((word) => listed.some((other) => sameStem(word, other)))) continue;
    chosen.push(column);
    own.forEach((stem) => taken.add(stem));
  }
  return chosen;
}

/** Whether two words look like forms of one: they begin alike, and little else follows. */
export function sameStem(one, other) {
  const [shorter, longer] = [[...one], [...other]].sort((a, b) => a.length - b.length);
  let alike = 0;
  while (alike < shorter.length && shorter[alike] === longer[alike]) alike++;
  const rest = longer.length - alike;
  return (alike >= 4 && rest <= 3) || (alike === 3 && shorter.length === 3 && rest <= 1);
}

/** What comes how often, most often first, of equal ones the first met; at most `most`. */
export function commonest(values, most) {
  const counted = new Map();
  for (const value of values) counted.set(value, (counted.get(value) ?? 0) + 1);
  return [...counted].sort((one, other) => other[1] - one[1]).slice(0, most);
}

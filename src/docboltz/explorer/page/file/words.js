// Text → words → columns, as docboltz/corpus/text.py does it: see there for the why.
// Stems need no stemmer here: a table has the term of every word of the collection's texts.

// White space as Python splits at it: without U+FEFF, with four separators and U+0085.
const SPACE = /[^\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/gu;
// Runs of letters, digits and marks. Marks beyond the basic plane separate, as they do in Python.
const WORD =
  "[\\p{L}\\p{N}]+(?:(?:(?![\\u{10000}-\\u{10ffff}])\\p{M}|[\\u200c\\u200d])+[\\p{L}\\p{N}]*)*";
const ASCII_WORD = /[A-Za-z0-9]+/gu;
const LETTER = /\p{L}/u;
const ASCII = /^[\0-\x7f]*$/u;
const UNKNOWN = -1;

/** How a collection's texts are cut and counted. Of T terms each has a number, of K a column too. */
export class Words {
  /**
   * settings: those of TextAnalysis, with the patterns of emoji and of scripts without spaces;
   * words: every word that counts, term by term; spelt: how many each term has; columns: of each
   * term in the vocabulary, or -1; pairs: first and second term and column of each pair, one after
   * the other.
   */
  constructor(settings, words, spelt, columns, pairs) {
    this.settings = settings;
    this.columns = columns;
    this.terms = new Map();
    this.forms = []; // of each term the word to show
    for (let term = 0, at = 0; term < spelt.length; term++) {
      this.forms.push(words[at]);
      for (const end = at + spelt[term]; at < end; at++) this.terms.set(words[at], term);
    }
    this.dropped = new Set(settings.dropped);
    this.pairs = new Map();
    for (let i = 0; i < pairs.length; i += 3) {
      this.pairs.set(`${pairs[i]} ${pairs[i + 1]}`, pairs[i + 2]);
    }
    const { emoji, emoji_signs: signs, spaceless } = settings;
    this.word = new RegExp(WORD, "gu");
    this.wordOrEmoji = new RegExp(`${emoji}|${WORD}`, "gu");
    this.emoji = new RegExp(`^(?:${emoji})$`, "u");
    this.sign = new RegExp(`[${signs}]`, "u");
    this.rare = new RegExp(`[${spaceless}${signs}]`, "u");
    this.spaceless = new RegExp(`^[${spaceless}]`, "u");
    this.runs = new RegExp(`([${spaceless}]+)|[^${spaceless}]+`, "gu");
  }

  /** The words of a text, in order. */
  cut(text) {
    const { pretokenised, lowercase, turkish } = this.settings;
    if (pretokenised) return text.match(SPACE) ?? [];
    if (ASCII.test(text)) return (lowercase ? text.toLowerCase() : text).match(ASCII_WORD) ?? [];
    text = text.normalize("NFKC");
    if (lowercase) {
      if (turkish) text = text.replaceAll("İ", "i").replaceAll("I", "ı");
      text = text.toLowerCase();
    }
    if (!this.rare.test(text)) return text.match(this.word) ?? [];
    const words = text.match(this.sign.test(text) ? this.wordOrEmoji : this.word) ?? [];
    return words.flatMap((word) => this.pieces(word));
  }

  /** Spaced words, and pairs of characters of scripts without spaces. */
  pieces(word) {
    const found = [];
    for (const [run, spaceless] of word.matchAll(this.runs)) {
      const characters = [...run];
      if (spaceless === undefined || characters.length < 3) found.push(run);
      else for (let i = 0; i < characters.length - 1; i++) found.push(characters[i] + characters[i + 1]);
    }
    return found;
  }

  /** What a word of a text counts as: a number, UNKNOWN, or null for one that does not count. */
  term(word) {
    if (this.settings.pretokenised) return this.terms.get(word) ?? UNKNOWN;
    if (this.dropped.has(word)) return null;
    return this.terms.get(this.isEmoji(word) ? word.replaceAll("\ufe0f", "") : word) ?? UNKNOWN;
  }

  isEmoji(word) {
    return !ASCII.test(word) && this.emoji.test(word);
  }

  /** Whether the model leaves out a word that is searched: a number, or one that is too short. */
  isLeftOut(word) {
    const { min_letters: least, numbers, pretokenised } = this.settings;
    if (pretokenised || this.isEmoji(word)) return false;
    if ([...word].length < least && !this.spaceless.test(word)) return true;
    return !numbers && !LETTER.test(word);
  }

  /** {columns, counts, unknown}: what the model knows of a text, in the order of the columns. */
  count(text) {
    const found = new Map();
    const add = (column) => found.set(column, (found.get(column) ?? 0) + 1);
    const unknown = new Set();
    let before = UNKNOWN;
    for (const word of this.cut(text)) {
      const term = this.term(word);
      if (term === null || this.isLeftOut(word)) continue;
      const column = this.columns[term] ?? UNKNOWN;
      if (column !== UNKNOWN) add(column);
      else unknown.add(word);
      const pair = this.pairs.get(`${before} ${term}`);
      if (pair !== undefined) add(pair);
      before = term;
    }
    const columns = [...found.keys()].sort((one, other) => one - other);
    return { columns, counts: columns.map((k) => found.get(k)), unknown: [...unknown] };
  }

  /** What is searched for of a text: [word, term] of every word that counts, in order. */
  searched(text) {
    const found = this.cut(text).map((word) => [word, this.term(word)]);
    return found.filter(([, term]) => term !== null);
  }

  /** Where words that count as one of the terms stand: [begin, end] in characters, in order. */
  matches(text, terms) {
    const spans = [...this.places(text, terms).values()].flat();
    return spans.sort((one, other) => one[0] - other[0] || one[1] - other[1]);
  }

  /** The same by term. */
  places(text, terms) {
    const found = new Map([...terms].map((term) => [term, []]));
    const { pretokenised } = this.settings;
    const pattern = pretokenised ? SPACE : ASCII.test(text) ? ASCII_WORD : this.wordOrEmoji;
    const at = characterCounter(text);
    for (const { 0: match, index } of text.matchAll(pattern)) {
      const words = this.cut(match).filter((word) => this.term(word) !== null);
      for (const word of words) {
        // Of several, pairs of characters say, each has its place in the match.
        const begin = words.length === 1 ? 0 : match.indexOf(word);
        const length = words.length === 1 ? match.length : word.length;
        const spans = begin >= 0 ? found.get(this.term(word)) : undefined;
        spans?.push([at(index + begin), at(index + begin + length)]);
      }
    }
    return found;
  }
}

/** Index in UTF-16, JavaScript's, ↦ index in characters, as Python and HTTP count. */
function characterCounter(text) {
  if (!/[\ud800-\udbff]/.test(text)) return (index) => index;
  const before = new Uint32Array(text.length + 1);
  for (let index = 0, characters = 0; index < text.length; index++) {
    before[index] = characters;
    characters += text.codePointAt(index - 1) > 0xffff ? 0 : 1; // no second half of one begins here
    before[index + 1] = characters;
  }
  return (index) => before[index];
}

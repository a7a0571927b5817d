// Fast inference, as docboltz/light.py does it. F units, K words.

/** The model, as far as questions need it. */
export class Inference {
  /** W: word by word, K × F; a: F; b, usual: K; latentWords: the policy and its number. */
  constructor({ W, a, b, usual, latentWords }) {
    Object.assign(this, { W, a, b, usual, latentWords, F: a.length, K: b.length });
  }

  /** Σ_k W_jk c_k + N a_j, and what it is multiplied by, 1 + M/N. */
  inputs(columns, counts, extra = 0) {
    const { F, W, a } = this;
    const sums = new Float64Array(F);
    let n = 0;
    for (let i = 0; i < columns.length; i++) {
      const begin = columns[i] * F;
      const count = counts[i];
      n += count;
      for (let j = 0; j < F; j++) sums[j] += count * W[begin + j];
    }
    for (let j = 0; j < F; j++) sums[j] += n * a[j];
    const m = latent(this.latentWords, n + extra) + extra;
    return { sums, n, replication: n > 0 ? (n + m) / n : 0 };
  }

  /** P(h_j = 1 | v) ≈ σ((1 + M/N)(Σ_k W_jk v̂_k + N a_j)).  Eq. (11). */
  features(columns, counts, extra = 0) {
    const { sums, replication } = this.inputs(columns, counts, extra);
    return sums.map((sum) => sigmoid(sum * replication));
  }

  /** softmax(b + Wᵀ μ1), μ1 with one latent word more: a further word of the document. */
  nextWords(columns, counts) {
    const { F, K, W, b } = this;
    const mu = this.features(columns, counts, 1);
    const words = new Float64Array(K);
    for (let k = 0; k < K; k++) {
      let logit = b[k];
      for (let j = 0, begin = k * F; j < F; j++) logit += W[begin + j] * mu[j];
      words[k] = logit;
    }
    return softmax(words);
  }

  /** The n words a document says most about: {column, probability, lift}. */
  expectedWords(columns, counts, n) {
    const given = this.nextWords(columns, counts);
    const own = new Set(columns);
    return [...given.keys()]
      .filter((k) => !own.has(k))
      .map((k) => ({ column: k, probability: given[k], lift: given[k] / this.usual[k] }))
      .map((each) => ({ ...each, news: each.probability * Math.log(each.lift) }))
      .sort((one, other) => other.news - one.news || one.column - other.column)
      .slice(0, n)
      .map(({ column, probability, lift }) => ({ column, probability, lift }));
  }
}

/** M, the latent words of a document of n words: docboltz/model/latent_words.py. */
export function latent({ policy, ...settings }, n) {
  const whole = (m) => Math.max(0, Math.floor(m + 0.5 + 1e-9));
  if (policy === "FixedLatentWords") return settings.m;
  if (policy === "ProportionalLatentWords") return whole(settings.c * n);
  if (policy === "LatentWordsUpTo") return whole(settings.n_max - n);
  throw new Error(`This file has a rule for latent words that its page does not know: ${policy}.`);
}

export function sigmoid(x) {
  const small = Math.exp(-Math.abs(x)); // cannot overflow, and keeps tiny σ to the last digit
  return (x < 0 ? small : 1) / (1 + small);
}

export function softmax(logits) {
  let most = -Infinity;
  for (const logit of logits) most = Math.max(most, logit);
  const shares = logits.map((logit) => Math.exp(logit - most));
  let total = 0;
  for (const share of shares) total += share;
  return shares.map((share) => share / total);
}

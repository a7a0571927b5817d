"""The kernels themselves, in Triton's language; `kernels` says what each is for.

B rows, K words, F topic units: a program of its own for each row, block of words or block of W.
"""

import triton
import triton.language as tl


@triton.jit
def pick_shares(starts, words, counts, n, d, index, out, out_n, out_d, K, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    document = tl.load(index + row)
    begin, end = tl.load(starts + document), tl.load(starts + document + 1)
    length = tl.load(n + document)
    tl.store(out_n + row, length)
    tl.store(out_d + row, tl.load(d + document))
    out += row * K
    lane = tl.arange(0, BLOCK)
    for k in range(0, K, BLOCK):
        zero = tl.zeros((BLOCK,), out.dtype.element_ty)
        tl.store(out + k + lane, zero, mask=k + lane < K)
    tl.debug_barrier()  # zeros of all threads before counts of any
    for entry in range(begin, end, BLOCK):
        inside = entry + lane < end
        word = tl.load(words + entry + lane, mask=inside, other=0)
        count = tl.load(counts + entry + lane, mask=inside, other=0)
        tl.atomic_add(out + word, count / length, mask=inside, sem="relaxed")


@triton.jit
def softmax(logits, out, K, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    logits += row * K
    out += row * K
    lane = tl.arange(0, BLOCK)
    best = tl.full((BLOCK,), float("-inf"), logits.dtype.element_ty)
    for k in range(0, K, BLOCK):
        inside = k + lane < K
        best = tl.maximum(best, tl.load(logits + k + lane, mask=inside, other=float("-inf")))
    top = tl.max(best, 0)
    sums = tl.zeros((BLOCK,), logits.dtype.element_ty)
    for k in range(0, K, BLOCK):
        inside = k + lane < K
        sums += tl.exp(tl.load(logits + k + lane, mask=inside, other=float("-inf")) - top)
    total = tl.sum(sums, 0)
    for k in range(0, K, BLOCK):
        inside = k + lane < K
        weight = tl.exp(tl.load(logits + k + lane, mask=inside, other=float("-inf")) - top)
        tl.store(out + k + lane, weight / total, mask=inside)


@triton.jit
def draw_word_shares(
    logits,
    n,
    seed,
    call,
    cumulative,
    out,
    K,
    STEPS: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    logits += row * K
    cumulative += row * K
    out += row * K
    lane = tl.arange(0, BLOCK_K)
    best = tl.full((BLOCK_K,), float("-inf"), logits.dtype.element_ty)
    for k in range(0, K, BLOCK_K):
        inside = k + lane < K
        best = tl.maximum(best, tl.load(logits + k + lane, mask=inside, other=float("-inf")))
    top = tl.max(best, 0)
    total = tl.zeros((), tl.float64)
    for k in range(0, K, BLOCK_K):
        inside = k + lane < K
        x = tl.load(logits + k + lane, mask=inside, other=float("-inf"))
        sums = tl.cumsum(tl.exp(x - top).to(tl.float64), 0) + total
        tl.store(cumulative + k + lane, sums, mask=inside)
        tl.store(out + k + lane, tl.zeros((BLOCK_K,), out.dtype.element_ty), mask=inside)
        total = tl.max(sums, 0)
    tl.debug_barrier()  # sums and zeros of all threads before draws of any
    length = tl.maximum(tl.load(n + row) + 0.5, 1.0).to(tl.int32)  # whole words, at least 1
    share = tl.full((BLOCK_N,), 1.0, out.dtype.element_ty) / length
    key = tl.load(seed)
    number = tl.arange(0, BLOCK_N)
    nothing = tl.zeros((BLOCK_N,), tl.uint32)
    this_row, this_call = nothing + tl.program_id(0).to(tl.uint32), nothing + call
    for first in range(0, length, BLOCK_N):
        draw = first + number
        high, low, _, _ = tl.philox(key, draw.to(tl.uint32), this_row, this_call, nothing)
        bits = ((high.to(tl.uint64) << 32) | low.to(tl.uint64)) >> 11
        # 53 bits; scaled a hair below 1 so that rounding never reaches the total.
        target = bits.to(tl.float64) * (1.1102230246251565e-16 * (1 - 2.3e-16)) * total
        lowest, highest = tl.zeros((BLOCK_N,), tl.int32), tl.zeros((BLOCK_N,), tl.int32) + K - 1
        for _ in range(STEPS):  # the first word whose cumulative weight exceeds the target
            middle = (lowest + highest) // 2
            beyond = tl.load(cumulative + middle, mask=draw < length, other=0) <= target
            lowest = tl.where(beyond, tl.minimum(middle + 1, highest), lowest)
            highest = tl.where(beyond, highest, middle)
        tl.atomic_add(out + lowest, share, mask=draw < length, sem="relaxed")


@triton.jit
def draw_topics(words_input, a, d, seed, call, mean, topics, F, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    inside = lane < F
    x = tl.load(words_input + row * F + lane, mask=inside, other=0)
    x = (x + tl.load(a + lane, mask=inside, other=0)) * tl.load(d + row)
    p = 1 / (1 + tl.exp(-x))
    nothing = tl.zeros((BLOCK,), tl.uint32)
    bits, _, _, _ = tl.philox(
        tl.load(seed), lane.to(tl.uint32), nothing + row.to(tl.uint32), nothing + call, nothing
    )
    drawn = tl.uint_to_uniform_float(bits) < p
    tl.store(mean + row * F + lane, p, mask=inside)
    tl.store(topics + row * F + lane, drawn.to(topics.dtype.element_ty), mask=inside)


@triton.jit
def topic_mean(words_input, a, d, mean, F, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    inside = lane < F
    x = tl.load(words_input + row * F + lane, mask=inside, other=0)
    x = (x + tl.load(a + lane, mask=inside, other=0)) * tl.load(d + row)
    tl.store(mean + row * F + lane, 1 / (1 + tl.exp(-x)), mask=inside)


@triton.jit
def weighted_topics(
    topics, out, B, F, sparsity, target, BLOCK_B: tl.constexpr, BLOCK_F: tl.constexpr
):
    j = tl.program_id(0) * BLOCK_F + tl.arange(0, BLOCK_F)
    sums = tl.zeros((BLOCK_B, BLOCK_F), topics.dtype.element_ty)
    for first in range(0, B, BLOCK_B):
        row = first + tl.arange(0, BLOCK_B)
        inside = (row[:, None] < B) & (j[None, :] < F)
        sums += tl.load(topics + row[:, None] * F + j[None, :], mask=inside, other=0)
    q = tl.minimum(tl.maximum(tl.sum(sums, 0) / B, 1e-6), 1 - 1e-6)
    slope = -sparsity * (q - target) / (q * (1 - q))
    for first in range(0, B, BLOCK_B):
        row = first + tl.arange(0, BLOCK_B)
        inside = (row[:, None] < B) & (j[None, :] < F)
        h = tl.load(topics + row[:, None] * F + j[None, :], mask=inside, other=0)
        weighted = h * (1 + slope[None, :] * (1 - h)) / B
        tl.store(out + row[:, None] * F + j[None, :], weighted, mask=inside)


@triton.jit
def mean_difference(x, y, out, B, K, BLOCK_B: tl.constexpr, BLOCK_K: tl.constexpr):
    k = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
    sums = tl.zeros((BLOCK_B, BLOCK_K), x.dtype.element_ty)
    for first in range(0, B, BLOCK_B):
        row = first + tl.arange(0, BLOCK_B)
        at = row[:, None].to(tl.int64) * K + k[None, :]
        inside = (row[:, None] < B) & (k[None, :] < K)
        sums += tl.load(x + at, mask=inside, other=0) - tl.load(y + at, mask=inside, other=0)
    tl.store(out + k, tl.sum(sums, 0) / B, mask=k < K)


@triton.jit
def climb(leaf, velocity, gradient, rate, momentum, decay, size, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    old = tl.load(leaf + at, mask=inside)
    climbed = tl.load(gradient + at, mask=inside) - decay * old
    v = tl.load(velocity + at, mask=inside) * momentum + tl.load(rate) * climbed
    tl.store(velocity + at, v, mask=inside)
    tl.store(leaf + at, old + v, mask=inside)

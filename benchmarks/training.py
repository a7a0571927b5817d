"""How fast is training, beside what the machine could do at best?

python benchmarks/training.py                      # CD-1 on this machine's CPU, and its memory
python benchmarks/training.py --device cuda        # every step on a GPU
python benchmarks/training.py --device cuda --schedule   # and the paper's 200,000 updates
python benchmarks/training.py --device cuda --streamed   # counts on the host beside on the GPU

Documents are synthetic, drawn from a model: lengths as in 20 Newsgroups (log-normal, mean 92).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from docboltz.model.conditionals import word_mean
from docboltz.model.counts import SparseCounts
from docboltz.model.latent_words import FixedLatentWords
from docboltz.model.parameters import Parameters
from docboltz.sampling.words import sample_words
from docboltz.training.documents import Documents, size_in_memory
from docboltz.training.finetune import Finetuning, MaximumLikelihood
from docboltz.training.plans import CHUNK
from docboltz.training.pretrain import ContrastiveDivergence, Pretraining
from docboltz.training.recipes import RECIPES
from docboltz.training.run import fast_products
from docboltz.training.trainer import Phase, Trainer

BATCH = 128
LATENT_WORDS = FixedLatentWords(100)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--schedule", action="store_true", help="run the paper's whole schedule")
    parser.add_argument("--streamed", action="store_true", help="counts on the host, only")
    arguments = parser.parse_args()
    device = torch.device(arguments.device)
    with fast_products(device):
        if arguments.streamed:
            streamed(device)
        elif device.type == "cpu":
            cpu()
        else:
            gpu(device, schedule=arguments.schedule)


# ---- documents ----


def draw_documents(
    n_documents: int, K: int, device: torch.device, *, block: int = 4096
) -> SparseCounts:
    """Documents from a model of 64 units with Zipf-like words."""
    g = torch.Generator(device).manual_seed(0)
    rank = torch.arange(1, K + 1, device=device).float()
    b = -torch.log(rank + 10)
    W = 0.8 * torch.randn(64, K, generator=g, device=device)
    p = Parameters(W, torch.zeros(64, device=device), b)
    n = torch.empty(n_documents, device=device).log_normal_(4.0, 1.0, generator=g)
    n = n.clamp(1, 2000).round()
    parts = []
    for begin in range(0, n_documents, block):
        length = n[begin : begin + block]
        topics = (torch.rand(len(length), 64, generator=g, device=device) < 0.05).float()
        parts.append(merged(sample_words(word_mean(p, topics), length, generator=g)))
    starts = [torch.zeros(1, dtype=torch.long, device=device)]
    for part in parts:
        starts.append(part.starts[1:] + starts[-1][-1])
    words = torch.cat([part.words for part in parts])
    counts = torch.cat([part.counts for part in parts])
    return SparseCounts(torch.cat(starts), words, counts, K)


def merged(drawn: SparseCounts) -> SparseCounts:
    """Draws of one word each as counts."""
    rows = torch.arange(len(drawn), device=drawn.words.device)
    key = torch.repeat_interleave(rows, drawn.starts.diff()) * drawn.n_words + drawn.words
    unique, count = torch.unique(key, return_counts=True)
    size = torch.bincount(unique // drawn.n_words, minlength=len(drawn))
    starts = torch.cat([size.new_zeros(1), size.cumsum(0)])
    return SparseCounts(starts, unique % drawn.n_words, count.float(), drawn.n_words)


def fresh(documents: Documents, F: int) -> Parameters:
    """An untrained model."""
    frequency = (documents.facts.frequency + 1e-7).float()
    g = torch.Generator(documents.device).manual_seed(0)
    return Parameters.initial(F, frequency, scale=0.01, generator=g)


def steps_of(documents: Documents, F: int, phase: Phase, *, chunks: int = 1) -> Callable[[], None]:
    """A function that makes so many times CHUNK updates."""
    trainer = Trainer(phase, fresh(documents, F), documents, seed=0)
    trainer.advance(CHUNK)
    return partial(advance, trainer, chunks)


def seconds(function: Callable[[], object], times: int, device: torch.device) -> float:
    """Median time of a call."""
    found = []
    for _ in range(times):
        synchronize(device)
        begin = time.perf_counter()
        function()
        synchronize(device)
        found.append(time.perf_counter() - begin)
    return sorted(found)[len(found) // 2]


def synchronize(device: torch.device) -> None:
    """Wait for the device."""
    if device.type == "cuda":
        torch.cuda.synchronize()


def cd(steps: int) -> ContrastiveDivergence:
    """Contrastive divergence of so many steps from the first update on."""
    settings = Pretraining(batch_size=BATCH, max_steps=steps, more_steps_every=1, updates=10**9)
    phase = ContrastiveDivergence(settings)
    phase.variant = lambda update: steps  # type: ignore[method-assign]
    return phase


# ---- CPU ----


def cpu() -> None:
    """CD-1 updates against sgemm, in turns; then memory."""
    device = torch.device("cpu")
    threads = torch.get_num_threads()
    print(f"CPU, {threads} threads, torch {torch.__version__}, batch {BATCH}, K = 2,000, CD-1")
    documents = Documents.of(draw_documents(12_000, 2000, device), LATENT_WORDS, device)
    print(f"{'F':>5} {'ms/update':>10} {'GFLOP/s':>9} {'sgemm':>8} {'ratio':>6}")
    for F in (128, 512):
        update = steps_of(documents, F, cd(1))
        h, W = torch.rand(BATCH, F), torch.rand(F, 2000)
        x = torch.rand(BATCH, 2000)
        of_update, of_products = [], []
        for _ in range(15):  # in turns: the machine is shared
            of_update.append(seconds(update, 1, device) / CHUNK)
            of_products.append(seconds(lambda: h @ W, 20, device))  # noqa: B023
            of_products.append(seconds(lambda: x @ W.T, 20, device))  # noqa: B023
        # What the update's statistics say: x̄Wᵀ, hW, x̂Wᵀ, x̄ᵀh, x̂ᵀh. Those with x̄ are
        # done sparsely.
        flop = 2 * BATCH * F * 2000
        update_s = sorted(of_update)[len(of_update) // 2]
        best = flop / min(of_products) / 1e9
        rate, dense = 5 * flop / update_s / 1e9, 3 * flop / update_s / 1e9
        print(
            f"{F:5} {1e3 * update_s:10.2f} {rate:9.0f} {best:8.0f} {rate / best:6.2f}  "
            f"(only those done densely: {dense / best:.2f})"
        )
    memory()


def memory() -> None:
    """Peak memory of training beside what was promised: six times the parameters and the logits."""
    F, K, device = 512, 20_000, torch.device("cpu")
    documents = Documents.of(draw_documents(2000, K, device, block=64), LATENT_WORDS, device)
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    trainer = Trainer(cd(1), fresh(documents, F), documents, seed=0)
    for _ in range(3):
        trainer.advance(CHUNK)
    used = resident("VmHWM") - before
    parameters, logits = 4 * F * K / 1e6, 4 * BATCH * K / 1e6
    print(
        f"memory, F = {F}, K = {K:,}: {used:.0f} MB beyond the counts, "
        f"{used / (6 * parameters + logits):.2f} of six times the parameters ({parameters:.0f} MB) "
        f"and a minibatch of logits ({logits:.0f} MB)"
    )


def resident(which: str) -> float:
    """Memory of this process in MB, as Linux tells it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1e3 for line in lines if line.startswith(which))


# ---- GPU ----


def gpu(device: torch.device, *, schedule: bool) -> None:
    """Every step, and how far it is from reading what it must and multiplying what it must."""
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, batch {BATCH}")
    a = torch.rand(8192, 8192, device=device)
    flops = 2 * 8192**3 / seconds(lambda: a @ a, 5, device)
    big = torch.rand(2**28, device=device)
    target = torch.empty_like(big)
    bandwidth = 8 * 2**28 / seconds(lambda: target.copy_(big), 10, device)
    tiny = torch.zeros(1, device=device)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(100):
            tiny.add_(1)
    launch = seconds(graph.replay, 10, device) / 100
    print(
        f"ceilings: {flops / 1e12:.0f} TFLOP/s (TF32), {bandwidth / 1e12:.2f} TB/s, "
        f"{1e6 * launch:.2f} µs for the smallest kernel of a graph"
    )
    print(f"{'K':>7} {'F':>5} {'':>12} {'µs':>8} {'arithmetic floor':>17} {'memory floor':>13}")
    for K in (2000, 10_000):
        documents = Documents.of(draw_documents(12_000, K, device), LATENT_WORDS, device)
        for F in (128, 512):
            for steps in (1, 2, 20):
                t = seconds(steps_of(documents, F, cd(steps), chunks=20), 5, device) / 20 / CHUNK
                flop = (3 + 2 * steps) * 2 * BATCH * F * K
                # W and velocity read and written, W read for each product, (B, K) matrices once.
                data = 4 * ((4 + 2 * steps + 1) * F * K + (4 + 3 * steps) * BATCH * K)
                floors = (1e6 * flop / flops, 1e6 * data / bandwidth)
                print(
                    f"{K:7,} {F:5} {f'CD-{steps}':>12} {1e6 * t:8.0f} {floors[0]:17.1f} "
                    f"{floors[1]:13.1f}"
                )
            phase = MaximumLikelihood(Finetuning())
            t = seconds(steps_of(documents, F, phase), 5, device) / CHUNK
            print(f"{K:7,} {F:5} {'fine-tuning':>12} {1e6 * t:8.0f}")
    if schedule:
        paper(device)


def streamed(device: torch.device, n_documents: int = 400_000, chunks: int = 50) -> None:
    """Updates a second with counts on the device, and with counts that are streamed from the host,
    in turns; and whether both end in the same bits."""
    name = torch.cuda.get_device_name() if device.type == "cuda" else "CPU"
    print(f"{name}, torch {torch.__version__}, batch {BATCH}, {n_documents:,} documents, in turns")
    print(
        f"{'K':>7} {'F':>5} {'':>12} {'resident/s':>11} {'streamed/s':>11} {'ratio':>6}  same bits"
    )
    for K in (2000, 10_000):
        resident = Documents.of(draw_documents(n_documents, K, device), LATENT_WORDS, device)
        assert not resident.streamed
        host = resident.counts.to("cpu")
        n, d = resident.n.cpu(), resident.d.cpu()
        on_host = replace(resident, counts=host, n=n, d=d, streamed=True)
        print(f"{K:7,} counts take {size_in_memory(host) / 1e9:.2f} GB")
        for F in (128, 512):
            for title, make, many in (
                ("CD-1", lambda: cd(1), chunks),
                ("CD-3", lambda: cd(3), chunks),
                ("fine-tuning", lambda: MaximumLikelihood(Finetuning()), max(1, chunks // 10)),
            ):
                trainers = [Trainer(make(), fresh(x, F), x, seed=0) for x in (resident, on_host)]
                found: list[list[float]] = [[], []]
                for turn in range(6):  # in the first, graphs are recorded
                    for trainer, times in zip(trainers, found, strict=True):
                        taken = seconds(partial(advance, trainer, many), 1, device)
                        times.extend([taken] if turn else [])
                rates = [many * CHUNK / sorted(times)[len(times) // 2] for times in found]
                same = torch.equal(trainers[0].parameters.W, trainers[1].parameters.W)
                print(
                    f"{K:7,} {F:5} {title:>12} {rates[0]:11,.0f} {rates[1]:11,.0f} "
                    f"{rates[1] / rates[0]:6.2f}  {same}",
                    flush=True,
                )


def advance(trainer: Trainer, chunks: int) -> None:
    """Make so many times CHUNK updates."""
    for _ in range(chunks):
        trainer.advance(CHUNK)


def paper(device: torch.device) -> None:
    """The paper's pretraining on Reuters, on as many synthetic documents."""
    counts = draw_documents(794_414, 10_000, device)
    documents = Documents.of(counts, LATENT_WORDS, device)
    settings = RECIPES["paper"]["pretraining"]
    trainer = Trainer(ContrastiveDivergence(settings), fresh(documents, 128), documents, seed=0)
    synchronize(device)
    begin = time.perf_counter()
    while trainer.update < settings.updates:
        trainer.advance(CHUNK)
    synchronize(device)
    taken = time.perf_counter() - begin
    assert torch.isfinite(trainer.learnt.W).all()
    print(
        f"the paper's schedule: {settings.updates:,} updates, CD-1 to CD-{settings.max_steps}, "
        f"F = 128, K = 10,000, {len(documents):,} documents of {documents.n.mean():.0f} words: "
        f"{taken:.0f} s"
    )


if __name__ == "__main__":
    main()

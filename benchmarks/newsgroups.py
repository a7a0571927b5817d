"""Quality on 20 Newsgroups: retrieval and classification on the test split, several seeds.

python benchmarks/newsgroups.py --seeds 3               # both models, 128 topics, CD alone
python benchmarks/newsgroups.py --topics 512 --words 10000 --device cuda
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from docboltz import OverReplicatedSoftmax, ReplicatedSoftmax
from docboltz.corpus.datasets import load_dataset
from docboltz.evaluation.classification import evaluate_classification
from docboltz.evaluation.retrieval import evaluate_retrieval


def main() -> None:
    """Train, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--path", help="20 Newsgroups on this machine, not to be fetched")
    parser.add_argument("--words", type=int, default=2000)
    parser.add_argument("--topics", type=int, default=128)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args()
    texts = load_dataset("20newsgroups", path=arguments.path, max_words=arguments.words)
    data = texts.counted()
    train, test = data.train.without_empty(), data.test
    labels, test_labels = ([names[0] for names in part.labels] for part in (train, test))
    print(
        f"20 Newsgroups: {len(train):,} training and {len(test):,} test documents, "
        f"{arguments.words:,} words, {arguments.topics} topics"
    )
    print(f"{'':24}{'MAP':>18}{'P@10':>18}{'accuracy':>18}{'fit, s':>10}")
    for model_class in (OverReplicatedSoftmax, ReplicatedSoftmax):
        rows = []
        for seed in range(arguments.seeds):
            model = model_class(arguments.topics, random_state=seed, device=arguments.device)
            begin = time.perf_counter()
            model.fit(train.counts)
            seconds = time.perf_counter() - begin
            features, queries = model.transform(train.counts), model.transform(test.counts)
            found = evaluate_retrieval(features, labels, queries, test_labels)
            accuracy = evaluate_classification(features, labels, queries, test_labels)
            measures = (found.mean_average_precision, found.mean_precision_at_10, accuracy)
            rows.append((*measures, seconds))
        mean = np.mean(rows, 0)
        spread = np.std(rows, 0, ddof=1) if len(rows) > 1 else np.zeros(4)
        cells = [f"{m:.4f} ± {s:.4f}" for m, s in zip(mean[:3], spread[:3], strict=True)]
        print(
            f"{model_class.__name__:24}" + "".join(f"{c:>18}" for c in cells) + f"{mean[3]:10.0f}"
        )


if __name__ == "__main__":
    main()

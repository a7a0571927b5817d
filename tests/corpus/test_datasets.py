import subprocess
import sys
from dataclasses import replace

import pytest

from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.datasets import DATASETS, TextDataset, load_dataset
from docboltz.corpus.document import Document
from docboltz.errors import InvalidParameter


def test_unknown_names_list_the_known_ones():
    with pytest.raises(InvalidParameter, match="20newsgroups, docstrings, rcv1"):
        load_dataset("21newsgroups")


def test_docstrings_take_no_path(tmp_path):
    with pytest.raises(InvalidParameter, match="no path"):
        load_dataset("docstrings", path=tmp_path)


def test_the_vocabulary_comes_from_training_alone():
    train = (Document("1", "sea ship sea"), Document("2", "ship"))
    dataset = TextDataset(
        DATASETS["docstrings"], train, (Document("3", "sea sky"),), TextAnalysis(language=None), 10
    )
    counted = dataset.counted()
    assert counted.train.vocabulary.words == ("sea", "ship")
    assert counted.test.counts.toarray().tolist() == [[1, 0]]
    assert counted.test.n_outside == 1
    shorter = replace(dataset, max_words=1)
    assert shorter.counted().train.vocabulary.words == ("sea",)


def test_listing_datasets_is_light():
    start = (
        "import sys, types; p = types.ModuleType('docboltz'); p.__path__ = [sys.argv[1]]; "
        "sys.modules['docboltz'] = p; import docboltz.corpus.datasets; "
        "print([m for m in ('sklearn', 'pyarrow', 'torch') if m in sys.modules])"
    )
    import docboltz.corpus

    package = docboltz.corpus.__path__[0].removesuffix("corpus")
    out = subprocess.run(
        [sys.executable, "-c", start, package], capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == "[]"

"""The front door: text in; hits, topics, words, features and likelihoods out.

A `TextModel` owns how documents are read, how text becomes words, the vocabulary, the model and the
collection that is searched. Its verbs are the commands of the command line. Searching needs neither
torch nor scikit-learn; the verbs that do import them when they are called.
"""

from __future__ import annotations

import dataclasses
import shutil
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from docboltz.asking import SEARCH, without_unknown
from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.corpus import Corpus, without_empty
from docboltz.errors import InvalidCorpus, InvalidModelFile, InvalidParameter, require
from docboltz.explaining import Explaining
from docboltz.map_verbs import MapVerbs
from docboltz.search.store import STORE
from docboltz.storage import MODEL, Arrays, StrPath, load_model, save_model

if TYPE_CHECKING:
    from docboltz.corpus.reading import Documents
    from docboltz.estimator.base import TopicModel
    from docboltz.estimator.density import Perplexity
    from docboltz.inference import Inference


class TextModel(Explaining, MapVerbs):
    """Topics of a collection of texts, and everything that can be asked of them.

    Made by `TextModel.fit`, read by `docboltz.open`.

    >>> texts = ["Cats chase mice.", "Mice fear cats.", "Stocks fell.", "Stocks and bonds fell."]
    >>> model = TextModel.fit(texts, units=4, updates=100, min_df=1)
    >>> model
    TextModel(4 units, 7 words, 4 documents to search)
    >>> model.search("a cat", 2)
    Hits('a cat': 2)
    >>> model.transform(["a cat and a mouse", "bonds"]).shape
    (2, 4)
    """

    def __init__(
        self,
        arrays: Arrays,
        settings: dict[str, Any],
        *,
        path: StrPath | None = None,
        device: str = "auto",
        estimator: TopicModel | None = None,
        analysis: TextAnalysis | None = None,
    ) -> None:
        """Take what `save` writes apart; `TextModel.fit` and `docboltz.open` call this."""
        super().__init__(arrays, settings, path=path)
        if analysis is not None:  # with a function, of which only the name is saved
            self.analysis = analysis
        self._device, self._estimator = device, estimator

    # ---- made, saved, opened ----

    @classmethod
    def fit(
        cls,
        documents: Any,
        *,
        folder: StrPath | None = None,
        units: int = 128,
        latent_words: Any = "auto",
        recipe: str = "quick",
        updates: int | None = None,
        validation: float = 0.0,
        language: str | None = "english",
        stop_words: bool | str | Iterable[str] = True,
        ngrams: int = 1,
        analysis: TextAnalysis | Callable[[str], Iterable[str]] | None = None,
        max_words: int = 5000,
        min_df: int | float = 2,
        max_df: int | float = 0.5,
        estimator: TopicModel | None = None,
        replace: bool = False,
        restart: bool = False,
        store: str | None = None,
        random_state: int = 0,
        device: str = "auto",
        ray: str | None = None,
        workers: int = 1,
        verbose: bool = False,
    ) -> Self:
        """Learn from documents, make them searchable and find their topics; as `docboltz fit`.

        Parameters
        ----------
        documents : what `docboltz.read` gives, or a list, generator or column of texts, or a data
            frame.
        folder : save the model there as soon as it is trained. The state of training is kept in
            `folder.checkpoint` on the way, and the same call goes on after Ctrl-C or a crash.
        units : number of hidden units, as many as a text has features.
        latent_words : "auto", a number or a policy; see `OverReplicatedSoftmax`.
        recipe : "quick", "full" (better features), "density" (for likelihoods) or "paper".
        updates : minibatches of each phase of training, instead of the recipe's.
        validation : share of documents to hold out, to choose weight decay and lengths of
            fine-tuning and matching by; 0 for the recipe's ("full" holds out a fifth). All are
            learnt from in the end.
        language : whose stop words and stems to use; None for neither.
        stop_words : True for those of the language, False for none, "scikit-learn" or
            "stopwords-iso" for those of a list, or words to drop beside those of the language.
        ngrams : 2 counts pairs of words too, such as "new york".
        analysis : how text becomes words in all detail, instead of the three before; or a function
            of your own, which gives the words of a text. A saved model holds only the function's
            name: pass it to `open` again.
        max_words : most words to keep, the most frequent ones.
        min_df : documents, or a share of them, that a word must be in at least.
        max_df : documents, or a share of them, that a word may be in at most.
        estimator : an `OverReplicatedSoftmax` or `ReplicatedSoftmax` with settings of its own,
            instead of units, latent_words, recipe, updates, validation, random_state and device.
        replace : replace a model in the folder.
        restart : start anew instead of going on after an interrupt.
        store : where documents are kept to be searched; see `index`.
        random_state : the same seed on the same machine gives the same model.
        device : "auto" (CUDA where there is one), "cpu", "cuda".
        ray : do it on a cluster: "local" starts Ray on this machine, "auto" joins the cluster of
            RAY_ADDRESS or of this machine, else the cluster's address. Documents are files, and
            files and folder are on storage that all nodes share. See the guide on clusters.
        workers : processes of the cluster that train together.
        verbose : show progress and say what was read.

        Ctrl-C while training raises `docboltz.fitting.TrainingInterrupted`; with a folder the model
        is there as far as it got.
        """
        from docboltz.fitting import fit, softmax_model

        if ray is None:
            hint: Any = {"hint": "Name the cluster: {ray=local}.", "settings": ("ray=local",)}
            expected = "1 without a cluster"
            require(workers == 1, "TextModel.fit", "workers", expected, workers, **hint)
        if estimator is None:
            estimator = softmax_model(
                units,
                latent_words=latent_words,
                recipe=recipe,
                updates=updates,
                validation=validation,
                device=device,
                random_state=random_state,
            )
        own = type(estimator)(**estimator.get_params(deep=False))  # the caller's stays as it is
        how: dict[str, Any] = {
            "folder": folder,
            "analysis": TextAnalysis.of(
                analysis, language=language, stop_words=stop_words, ngrams=ngrams
            ),
            "max_words": max_words,
            "min_df": min_df,
            "max_df": max_df,
            "replace": replace,
            "restart": restart,
            "store": store,
            "verbose": verbose,
            "ray": ray,
            "workers": workers,
        }
        own.set_params(verbose=verbose)
        return fit(cls, documents, own, **how)

    @classmethod
    def open(
        cls,
        folder: StrPath,
        *,
        device: str = "auto",
        analysis: Callable[[str], Iterable[str]] | None = None,
    ) -> Self:
        """Read a model that `fit` or `save` wrote to a folder; `device` is where it computes.

        `analysis` is the function that finds the words of a text, if the model was made with one.
        A folder holds its name only, and nothing that a folder names is imported.
        """
        arrays, settings = load_model(folder)
        if "text" not in settings:
            raise InvalidModelFile(
                f"The model in {folder} was trained on counts and has no vocabulary, so it cannot "
                "read text.",
                hint="Train one with {TextModel.fit}; docboltz.load reads this one in Python.",
                settings=("TextModel.fit",),
            )
        with MODEL.trusting(folder):
            model = cls(arrays, settings, path=folder, device=device)
        if analysis is not None:
            model.analysis = model.analysis.with_function(analysis)
        return model

    def save(self, folder: StrPath) -> None:
        """Write the model, and the collection it searches, to a folder; replace a model there."""
        MODEL.require_writable(folder)
        target = Path(folder).absolute()
        if self._has_store():
            self.store.copy_to(STORE.inside(target, SEARCH))
        tree, places = self._own_tree(), self.map() if self.has_map else None
        save_model(target, self._arrays, self._settings)
        self.path, self._store, self._temporary = target, None, None
        if tree is not None:
            self._keep(tree)
        if places is not None:
            self._keep_map(dataclasses.replace(places, store=self.store.opened.build))

    @property
    def estimator(self) -> TopicModel:
        """The scikit-learn estimator inside, fitted. To be used, not to be trained any further:
        the collection is searched, and saved, with the model as it was fitted.
        """
        if self._estimator is None:
            from docboltz.device import choose_device
            from docboltz.estimator.models import assemble

            choose_device(self._device, "docboltz.open")
            path = self.path or "memory"
            self._estimator = assemble(self._arrays, self._settings, path=path, device=self._device)
        return self._estimator

    def __repr__(self) -> str:
        try:
            searched = f"{len(self.store):,} documents to search"
        except (InvalidModelFile, InvalidParameter):
            searched = "nothing to search"
        where = f", in {str(self.path)!r}" if self.path is not None else ""
        sizes = f"{self.n_units} units, {len(self.vocabulary):,} words"
        return f"{type(self).__name__}({sizes}, {searched}{where})"

    # ---- used; how it is asked is in `Asking` ----

    def transform(self, texts: Any, inference: Inference | None = None) -> NDArray[np.float32]:
        """Features of texts: (n_texts, F).

        Of a text without a known word nothing is known: by fast inference its features are all 0.5,
        by mean-field inference what the latent words make of themselves.
        """
        counts = self._count(texts, "transform").counts
        features: NDArray[np.float32] = self.estimator.transform(counts, inference)
        return features

    def save_features(
        self,
        documents: Any,
        out: StrPath,
        *,
        wide: bool = False,
        spreadsheet: bool = False,
        replace: bool = False,
        inference: Inference | None = None,
        ray: str | None = None,
        verbose: bool = False,
    ) -> Corpus:
        """Write the features of documents, a row each, in the order they come; give their counts.

        `out` is a .parquet, .csv or .npy file; `wide` gives each feature a column of a Parquet
        file, `spreadsheet` makes a .csv file safe to open in one, and `replace` allows to replace
        a file that is there. See `docboltz.feature_files`.
        On a cluster, `ray` as in `fit`, it is a folder, with a Parquet file for each file of
        documents.
        """
        if ray is not None:
            from docboltz.feature_files import formulas_are_for_csv, save_features_on_cluster

            if spreadsheet:
                raise formulas_are_for_csv(".parquet")
            how: dict[str, Any] = {"device": self._device, "wide": wide, "inference": inference}
            how["replace"] = replace
            return save_features_on_cluster(
                self, documents, Path(out), ray=ray, verbose=verbose, **how
            )
        from docboltz.feature_files import save_features

        return save_features(
            self,
            documents,
            Path(out),
            wide=wide,
            spreadsheet=spreadsheet,
            replace=replace,
            inference=inference,
            verbose=verbose,
        )

    def perplexity(
        self,
        texts: Any,
        *,
        n: int | None = None,
        method: Any = None,
        random_state: int = 0,
        verbose: bool = False,
    ) -> Perplexity:
        """How well the model predicts texts it was not trained on: lower is better.

        `texts` may be counted already. Measured on those that have known words, or on `n` of them
        drawn by `random_state`.
        """
        corpus = texts if isinstance(texts, Corpus) else self._count(texts, "perplexity")
        counts = without_empty(corpus.counts)
        if not counts.shape[0]:
            raise InvalidCorpus(
                "No document has a word of the model's vocabulary: there is nothing to predict.",
                hint="Check that these are texts of the kind it was trained on.",
            )
        if n is not None and counts.shape[0] > n:
            chosen = np.random.RandomState(random_state).permutation(counts.shape[0])[:n]
            counts = counts[np.sort(chosen)]
        estimator = self.estimator.set_params(verbose=verbose)
        found = estimator.perplexity(counts, method=method, random_state=random_state)
        return dataclasses.replace(found, unigram=estimator.unigram_perplexity(counts))

    # ---- documents ----

    def read(self, source: Any, **options: Any) -> Documents:
        """Read documents as those the model was trained on were read; see `docboltz.read`."""
        from docboltz.corpus.reading import read

        return read(source, options=self.reading, **options)

    def index(
        self,
        documents: Any,
        *,
        append: bool = False,
        store: str | None = None,
        verbose: bool = False,
    ) -> Corpus:
        """Make documents the collection that is searched; model and topics stay as they are.

        With `append` they join those that are searched already, and replace those of the same ids.
        Who searches meanwhile finds the collection as it was. `store` is where they are kept:
        "files", in the model's folder, or in Milvus, "milvus+name.db" or "milvus+http://host:19530"
        (and a token in the environment variable MILVUS_TOKEN); the model remembers it. Gives the
        counts of the new ones: `len(…)` documents, `.n_empty` of them without a known word.
        """
        from docboltz.indexing import index_documents, look_for_topics

        self.estimator.set_params(verbose=verbose)  # finds a missing device before the work
        tree, folder = self._own_tree(), self.make_store_folder()
        append = append and self._has_store()
        if append and store is not None:
            raise InvalidParameter(
                "Documents are added where the others are: 'append' and 'store' exclude each other."
            )
        corpus = index_documents(
            self, documents, folder, append=append, store=store, verbose=verbose
        )
        self._store = None
        if tree is None:
            look_for_topics(self, verbose=verbose)
        else:
            self._keep(tree.on(self._collection, keep_words=True))
        return corpus

    def delete(self, ids: Iterable[str]) -> int:
        """Take the documents of these ids out of the collection; give how many there were.

        An id that no document has is an error that names it, and nothing is changed.
        """
        from docboltz.indexing import delete_documents

        tree = self._own_tree()
        n = delete_documents(self, ids, self.store_folder)
        self._store = None
        if tree is not None:
            self._keep(tree.on(self._collection, keep_words=True))
        return n

    def make_store_folder(self) -> Path:
        """Where to write a collection; a temporary folder for a model that is not saved."""
        if self.path is None and self._temporary is None:
            self._temporary = Path(mkdtemp(prefix="docboltz-"))
            weakref.finalize(self, shutil.rmtree, self._temporary, ignore_errors=True)
        return self.store_folder

    def search_features(self, counts: csr_array) -> NDArray[np.float32]:
        """Features of counted documents, as a collection to search keeps them."""
        # By fast inference, whatever the model's own is: queries are inferred so.
        return without_unknown(self.estimator.transform(counts, "fast"), counts)

    def __getstate__(self) -> dict[str, Any]:
        """What a copy or a pickle needs; maps of files and a temporary folder are not copied."""
        tree = None if self.path is not None else self._tree  # that of a folder is read again
        state = {name: value for name, value in vars(self).items() if name != "_finder"}
        return {**state, "_store": None, "_temporary": None, "_tree": tree, "_map": None}


def open(
    folder: StrPath,
    *,
    device: str = "auto",
    analysis: Callable[[str], Iterable[str]] | None = None,
) -> TextModel:
    """Read a model that `TextModel.fit` or `docboltz fit` saved, ready to be asked."""
    return TextModel.open(folder, device=device, analysis=analysis)

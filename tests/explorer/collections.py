"""A collection with everything in it, small enough to be fitted in a moment."""

import numpy as np

from docboltz import OverReplicatedSoftmax, Pretraining
from docboltz.corpus.document import Document
from docboltz.layout.coordinates import principal_components
from docboltz.layout.document_map import DocumentMap, keys_of
from docboltz.text_model import TextModel

SUBJECTS = {
    "hockey": "hockey goal team player skate season league coach ice puck goalie playoff",
    "space": "shuttle orbit launch moon rocket satellite nasa mission planet telescope",
    "food": "bread butter flour oven recipe sugar cook kitchen dough baker cake",
}
HOSTILE = (
    "</script><script>document.title='ran'</script><!-- <img src=x onerror=\"alert(1)\">"
    " 'quoted' \x1b[31mred \u202eright to left & hockey 🏒 naïve 東京都 launches of rockets"
)


def documents(n=90, seed=0):
    """Texts with labels and dates on three subjects, none of them on one alone.

    Behind them two hostile ones, and one without a known word.
    """
    random = np.random.default_rng(seed)
    found = []
    for i in range(n):
        label = list(SUBJECTS)[i % 3]
        words = random.choice(SUBJECTS[label].split(), size=3 + i % 5).tolist()
        words += random.choice(" ".join(SUBJECTS.values()).split(), size=2 + i % 4).tolist()
        date = f"20{10 + i % 7}-{1 + i % 12:02d}-{1 + i % 28:02d}"
        text = " ".join(words).capitalize() + "."
        found.append(Document(f"{label}/{i}", text, (label,) if i % 10 else (), date))
    hostile = "<b>\"' onclick=alert(1)>"
    found.append(Document(hostile, HOSTILE, (hostile,), "2012"))
    found.append(Document("../" + hostile, HOSTILE + " Moon!", ("\u202e" + hostile,), "2013-02"))
    found.append(Document("empty", "xyzzy 12 !", (), ""))
    return found


def fitted(given=None, **options):
    """A model of them, and of them as a collection."""
    model = OverReplicatedSoftmax(
        8, pretraining=Pretraining(updates=200), random_state=0, device="cpu"
    )
    given = documents() if given is None else given
    found = TextModel.fit(given, estimator=model, **{"max_df": 1.0, **options})
    keep_plain_map(found)
    return found


def keep_plain_map(model):
    """Give it a map in a moment; a real one takes seconds however few documents there are."""
    store = model.store
    keys = keys_of(store)
    positions = np.full((len(store), 2), np.nan, np.float32)
    positions[keys != 0] = principal_components(np.asarray(store.features[keys != 0]))
    model._keep_map(DocumentMap(positions, keys, store.opened.build))

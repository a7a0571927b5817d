"""A model of four texts, fitted in a moment."""

from docboltz import OverReplicatedSoftmax, Pretraining
from docboltz.text_model import TextModel

TEXTS = [
    "Hockey players skate fast.",
    "The hockey player scored.",
    "Bread needs flour and butter.",
    "Butter on bread.",
]


def estimator(**options):
    return OverReplicatedSoftmax(
        3, pretraining=Pretraining(updates=30), random_state=0, device="cpu", **options
    )


def fitted(texts=TEXTS, model=None, **options):
    return TextModel.fit(texts, estimator=model or estimator(), min_df=1, max_df=1.0, **options)

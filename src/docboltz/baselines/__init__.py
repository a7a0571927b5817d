"""Other models of documents with the estimators' face, to compare with."""

from docboltz.baselines.docnade import DocNADE
from docboltz.baselines.lda import LatentDirichletAllocation
from docboltz.baselines.plain import LSI, NMF, TfIdf
from docboltz.baselines.unigram import Unigram

__all__ = ["LSI", "NMF", "DocNADE", "LatentDirichletAllocation", "TfIdf", "Unigram"]

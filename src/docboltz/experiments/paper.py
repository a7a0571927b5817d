"""What the paper reports.

Srivastava, Salakhutdinov, Hinton, "Modeling Documents with a Deep Boltzmann Machine", UAI 2013,
https://arxiv.org/abs/1309.6865: Table 1, perplexity with 128 units; Table 2, accuracy on 20
Newsgroups and mean average precision of classification on Reuters, with 128 and 512 units.
"""

SOURCE = "[Srivastava, Salakhutdinov and Hinton, UAI 2013](https://arxiv.org/abs/1309.6865)"

PERPLEXITY = {
    "20news-2000": {"Unigram": 1335, "RS": 965, "ORS-M50": 961, "ORS-M100": 958},
    "rcv1v2-27k": {"Unigram": 2208, "RS": 1081, "ORS-M50": 1076, "ORS-M100": 1060},
}
"""Table 1; with latent words the mean-field bound."""

CLASSIFICATION = {
    "20news-2000": {
        "LDA": {128: 0.657, 512: 0.642},
        "DocNADE": {128: 0.670, 512: 0.684},
        "RS": {128: 0.659, 512: 0.677},
        "ORS": {128: 0.668, 512: 0.691},
    },
    "rcv1v2-27k": {
        "LDA": {128: 0.304, 512: 0.351},
        "DocNADE": {128: 0.388, 512: 0.417},
        "RS": {128: 0.390, 512: 0.421},
        "ORS": {128: 0.401, 512: 0.453},
    },
}
"""Table 2. Ours beside its ORS has M = 100."""

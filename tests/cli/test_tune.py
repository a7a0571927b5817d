"""docboltz tune, as it is typed."""

import shlex

import pytest

QUICK = ("--units", "2,4", "--latent", "0,5", "--updates", 10, "--min-df", 1, "--device", "cpu")


def test_a_table_and_the_command_to_use_it(docboltz, corpus, tmp_path):
    outcome = docboltz("tune", corpus, *QUICK)
    assert outcome.code == 0, outcome.err
    assert "[4/4] ORS, M = 5, 4 units …" in outcome.err
    assert outcome.out.count("best") == 1
    command = shlex.split(outcome.out.splitlines()[-1].removeprefix("Use it: "))
    assert command[:3] == ["docboltz", "fit", str(corpus)]
    out = tmp_path / "model"
    command[command.index("model")] = str(out)
    assert docboltz(*command[1:], "--updates", 5, "-q").code == 0
    assert (out / "model.json").is_file()


def test_json(docboltz, corpus):
    outcome = docboltz("tune", corpus, "--json", "--by", "classification", "--no-stem", *QUICK)
    assert outcome.err == ""
    found = outcome.json
    assert (found["by"], len(found["trials"]), found["recipe"]) == ("classification", 4, "quick")
    best = max(trial["value"] for trial in found["trials"])
    sizes = [(t["units"], t["latent_words"]) for t in found["trials"] if t["value"] == best]
    assert (found["best"]["units"], found["best"]["latent_words"]) in sizes
    assert "--min-df 1 --no-stem" in found["command"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--units", "many"), "--units must be whole numbers of at least 1"),
        (("--units", "0"), "--units must be"),
        (("--latent", ""), "--latent must be"),
        (("--by", "feeling"), "'feeling' is not one of"),
        (("--recipe", "slow"), "'slow' is not one of"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_wrong_usage_is_one_line(docboltz, corpus, options, said):
    assert said in docboltz("tune", corpus, "-q", *options).complaint

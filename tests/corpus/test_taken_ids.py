import pytest
from hypothesis import given
from hypothesis import strategies as st

from docboltz.corpus import taken_ids
from docboltz.corpus.report import ReadReport
from docboltz.corpus.taken_ids import TakenIds


def by_a_dictionary(ids):
    """Ids made to differ by one that knows them all."""
    taken, found = {}, []
    for identity in ids:
        own = identity
        if identity in taken:
            while (own := f"{identity}#{taken[identity]}") in taken:
                taken[identity] += 1
            taken[identity] += 1
        taken[own] = 2
        found.append(own)
    return found


some_ids = st.lists(st.one_of(st.sampled_from(["a", "a#2", "b", "a#2#2", ""]), st.text(max_size=2)))


@given(some_ids)
def test_ids_differ_as_by_a_dictionary(ids):
    taken, report = TakenIds(), ReadReport()
    found = [taken.unique(identity, report) for identity in ids]
    assert found == by_a_dictionary(ids)
    assert len(set(found)) == len(taken) == len(ids)
    assert report.duplicate_ids == sum(map(str.__ne__, found, ids))


@pytest.mark.parametrize("n", [700, 20_000])
def test_the_table_grows_and_forgets_nothing(n):
    ids = [f"doc-{i}" for i in range(n)]
    taken, report = TakenIds(), ReadReport()
    assert [taken.unique(identity, report) for identity in ids] == ids
    assert [taken.unique(identity, report) for identity in ids] == [f"{id}#2" for id in ids]


def test_hashes_that_meet_are_told_apart(monkeypatch):
    """All ids want one of two places, the last ones: the table grows until there is room."""
    monkeypatch.setattr(taken_ids, "hash", lambda text: -1 - (len(text) & 1), raising=False)
    ids = [f"{i}" for i in range(300)]
    taken, report = TakenIds(), ReadReport()
    assert [taken.unique(identity, report) for identity in ids] == ids
    assert taken.unique("7", report) == "7#2"

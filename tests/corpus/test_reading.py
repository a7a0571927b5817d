"""Files that workers read give what they give one by one: documents, counts, reports, errors."""

import json
import os
import subprocess
import sys
import textwrap

import pyarrow as pa
import pytest
from pyarrow import parquet

from docboltz.corpus import counting, reading, workers
from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.counting import count
from docboltz.corpus.parts import Parts
from docboltz.corpus.readers import read
from docboltz.errors import DocboltzError, InvalidCorpus, NoDocuments
from tests.corpus.test_counting import same_bits, sentences


@pytest.fixture(autouse=True)
def begun(monkeypatch):
    """Little text is enough for workers here. Gives what they are asked to read."""
    monkeypatch.setattr(counting, "ALONE_CHARACTERS", 0)
    monkeypatch.setattr(counting, "FEWEST_READERS", 2)
    monkeypatch.setattr(counting, "CHUNK_DOCUMENTS", 40)
    asked = []
    plain = workers.Worker.ask

    def ask(self, request):
        asked.append(request)
        plain(self, request)

    monkeypatch.setattr(workers.Worker, "ask", ask)
    return asked


def records(number, n=150):
    """The documents of a file; some ids are those of other files, or of other lines."""
    for i, text in enumerate(sentences(n, seed=number)):
        identity = f"{number}-{i}" if i % 10 else f"same{i % 30}"
        label = "xyz"[i % 3] if i % 4 else ""
        yield {"id": identity, "text": text if i % 17 else " ", "label": label, "date": f"20{i:02}"}


def write_jsonl(file, rows):
    lines = [json.dumps(row) for row in rows]
    lines[20:20] = ['{"text": "half a \\ud800 character", "id": "é"}', "no JSON"]
    file.with_suffix(".jsonl").write_text("\n".join(lines) + "\n", "utf-8")


def write_parquet(file, rows):
    parquet.write_table(pa.Table.from_pylist(list(rows)), file.with_suffix(".parquet"))


def write_csv(file, rows):
    lines = [";".join(row.values()) for row in rows]
    text = "\n".join(["id;text;label;date", *lines, "1;Größe;x;no day\n"])
    file.with_suffix(".csv").write_bytes(text.encode("latin-1" if "2" in file.name else "utf-8"))


def write_numbered(file, rows):
    """Without ids: numbers after the file's name take their place."""
    write_jsonl(file, [{"text": row["text"], "label": [row["label"], "w"]} for row in rows])


def write_lines(file, rows):
    file.with_suffix(".txt").write_text("\n".join(row["text"] for row in rows))


FORMATS = [write_jsonl, write_parquet, write_csv, write_numbered, write_lines]


@pytest.fixture(params=FORMATS, ids=lambda write: write.__name__.removeprefix("write_"))
def files(request, tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    for number in range(5):
        request.param(folder / f"part-{number}", records(number))
    return str(folder / "*")


def counted(source, n_jobs, **options):
    documents, seen, done = read(source), [], []
    how = {"on_document": seen.append, "progress": done.append, "n_jobs": n_jobs, **options}
    corpus = count(documents, **how)
    assert done == sorted(done)
    assert done[-1] == len(corpus) == len(seen)
    return corpus, seen, documents.report


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_workers_that_read_change_nothing(begun, files, n_jobs):
    options = {"min_df": 2, "max_words": 150}
    alone, seen, report = counted(files, 1, **options)
    assert not begun
    together, seen_then, report_then = counted(files, n_jobs, **options)
    assert len(begun) == 5
    assert same_bits(alone, together)
    assert seen_then == seen
    assert report_then == report
    assert report.summary() == report_then.summary()


def test_titles_and_columns_come_back_from_workers(begun, tmp_path):
    for number in range(3):
        rows = [{**row, "title": f"Title {row['id']}", "n": i} for i, row in enumerate(records(1))]
        write_jsonl(tmp_path / f"{number}", rows)
    documents, seen = read(tmp_path, keep=("n", "label")), []
    count(documents, n_jobs=2, on_document=seen.append)
    assert any(isinstance(request, reading.ReadPart) for request in begun)
    assert seen == list(documents)
    assert (seen[1].title, seen[1].columns) == ("Title 1-1", {"n": "1", "label": "y"})


@pytest.mark.parametrize("files", [write_parquet], indirect=True)
def test_with_a_vocabulary_pairs_and_counts_on_disk(begun, files):
    analysis = TextAnalysis(ngrams=2)
    alone, *_ = counted(files, 1, analysis=analysis)
    disk, *_ = counted(files, 2, analysis=analysis, memory=30_000)
    assert disk.on_disk
    assert same_bits(alone, disk)
    begun.clear()
    fixed, *_ = counted(files, 2, analysis=analysis, vocabulary=alone.vocabulary)
    assert begun
    assert same_bits(alone, fixed)


def failure(source, n_jobs):
    documents, seen = read(source), []
    with pytest.raises(InvalidCorpus) as raised:
        count(documents, n_jobs=n_jobs, on_document=seen.append)
    return raised.value, documents.report, seen


@pytest.mark.parametrize("content", [b"\0\1\2 no table", b'{"name": "ship"}\n', b""])
def test_the_error_is_that_of_the_first_bad_file(begun, tmp_path, content):
    """Those after it, which others read at the same time, may be as bad."""
    for number in range(6):
        write_jsonl(tmp_path / f"{number}", records(number))
    (tmp_path / "2.jsonl").write_bytes(content)
    (tmp_path / "4.jsonl").write_bytes(b'{"other": 1}\n')
    alone, report, seen = failure(tmp_path, 1)
    together, report_then, seen_then = failure(tmp_path, 2)
    assert begun
    assert (type(together), str(together)) == (type(alone), str(alone))
    assert together.settings == alone.settings
    assert report_then == report
    assert seen_then == seen


def test_a_file_that_is_damaged_in_the_middle(tmp_path):
    for number in range(4):
        write_parquet(tmp_path / f"{number}", records(number))
    damaged = tmp_path / "1.parquet"
    damaged.write_bytes(damaged.read_bytes()[:-200])
    alone, together = failure(tmp_path, 1)[0], failure(tmp_path, 2)[0]
    assert str(together) == str(alone)
    assert "1.parquet" in str(alone)


def test_empty_files_are_none_or_all(begun, tmp_path):
    (tmp_path / "a.csv").write_text("text\n")
    (tmp_path / "b.csv").write_text("text\n")
    messages = set()
    for n_jobs in (1, 2):
        with pytest.raises(NoDocuments) as raised:
            count(read(tmp_path), n_jobs=n_jobs)
        messages.add(str(raised.value))
    assert len(begun) == 2
    assert len(messages) == 1
    (tmp_path / "b.csv").write_text("text\nships at sea\n")
    (tmp_path / "c.csv").write_text("text\nship in port\n")
    assert same_bits(count(read(tmp_path), n_jobs=1), count(read(tmp_path), n_jobs=2))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupted_count_goes_on_with_workers(begun, tmp_path, n_jobs):
    for number in range(6):
        write_jsonl(tmp_path / f"{number}", records(number))
    source, folder = str(tmp_path / "*.jsonl"), tmp_path / "counts"
    expected, seen, report = counted(source, 1)
    how = {"folder": folder, "run": "this", "memory": 60_000}

    def stop(document):
        if (folder / "part-000000" / "part.json").exists():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        count(read(source), n_jobs=n_jobs, on_document=stop, **how)
    left = sum(len(part.lengths) for part in Parts(folder, "this"))
    assert 150 < left < 900
    begun.clear()
    found, seen_then, report_then = counted(source, 2, **how)
    assert 0 < len(begun) < 6  # what was counted is read here
    assert same_bits(found, expected)
    assert (seen_then, report_then) == (seen, report)


def test_nothing_is_left_behind(begun, tmp_path, monkeypatch):
    """Neither processes nor temporary files, whatever happens."""
    started = []
    monkeypatch.setattr(workers.Worker, "stop", _remembering(workers.Worker.stop, started))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    for number in range(6):
        write_jsonl(tmp_path / f"{number}", records(number))

    def stop(document):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        count(read(str(tmp_path / "*.jsonl")), n_jobs=2, on_document=stop)
    count(read(str(tmp_path / "*.jsonl")), n_jobs=2)
    assert [worker._process.poll() is not None for worker in started] == [True] * 4
    assert not any((tmp_path / "temporary").iterdir())


def _remembering(plain, found):
    def stop(self):
        found.append(self)
        plain(self)

    return stop


def test_temporary_files_are_beside_the_counts(tmp_path, monkeypatch):
    for number in range(3):
        write_jsonl(tmp_path / f"{number}", records(number))
    places = []
    plain = reading.temporary_folder
    monkeypatch.setattr(
        reading, "temporary_folder", lambda name, place: places.append(place) or plain(name, place)
    )
    for folder in (tmp_path / "new" / "counts", None):
        count(read(str(tmp_path / "*.jsonl")), n_jobs=2, folder=folder)
    assert places == [tmp_path, None]


def test_a_worker_that_dies_is_reported(tmp_path, monkeypatch, capfd):
    for number in range(3):
        write_jsonl(tmp_path / f"{number}", records(number))
    monkeypatch.setattr(workers, "_START", "raise SystemExit(1)")
    with pytest.raises(DocboltzError, match="n_jobs=1"):
        count(read(tmp_path), n_jobs=2)


class TestWhoReads:
    """Workers read several large tables of about one size that any process finds."""

    def test_one_file_is_read_here(self, begun, tmp_path):
        write_jsonl(tmp_path / "a", records(0))
        count(read(tmp_path), n_jobs=2)
        assert not any(isinstance(request, reading.ReadPart) for request in begun)

    def test_texts_of_a_folder_are_read_here(self, begun, tmp_path):
        for number in range(3):
            (tmp_path / f"{number}.md").write_text("ships at sea " * 10)
        count(read(tmp_path), n_jobs=2)
        assert not begun

    def test_small_files_are_read_here(self, begun, tmp_path, monkeypatch):
        monkeypatch.setattr(counting, "ALONE_CHARACTERS", 1 << 20)
        for number in range(3):
            write_jsonl(tmp_path / f"{number}", records(number))
        count(read(tmp_path), n_jobs=2)
        assert not begun

    def test_a_file_that_is_nearly_all_of_it_is_read_here(self, begun, tmp_path):
        write_jsonl(tmp_path / "0", records(0, 600))
        write_jsonl(tmp_path / "1", records(1, 30))
        assert counting._for_workers(read(tmp_path), 4) == []
        write_jsonl(tmp_path / "1", records(1, 600))
        assert len(counting._for_workers(read(tmp_path), 4)) == 2

    def test_what_is_in_this_process_memory_is_read_here(self):
        import fsspec

        system = fsspec.filesystem("memory")
        for name in ("a", "b"):
            system.pipe(f"/reading/{name}.jsonl", b'{"text": "ships"}\n' * 100)
        assert counting._for_workers(read("memory://reading/*.jsonl"), 2) == []


def test_workers_load_what_they_need():
    code = """
    import sys, types
    package = types.ModuleType("docboltz")
    package.__path__ = [sys.argv[1]]
    sys.modules["docboltz"] = package
    import docboltz.corpus.reading
    print({"torch", "sklearn", "pandas", "pyarrow"} & set(sys.modules))
    """
    package = os.path.dirname(os.path.dirname(reading.__file__))
    run = [sys.executable, "-c", textwrap.dedent(code), package]
    assert subprocess.run(run, capture_output=True, text=True).stdout == "set()\n"

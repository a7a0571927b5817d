"""Two nodes that are joined by their address: each with a store, a working folder and a place for
temporary files of its own, and nothing in common but the folder that is named."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyarrow import parquet

import docboltz
from tests.cluster.conftest import write_files

pytestmark = pytest.mark.slow

NODES = """
import sys
from ray.cluster_utils import Cluster
places = sys.argv[1:]
cluster = Cluster()
for place in places:
    cluster.add_node(
        num_cpus=1,
        object_store_memory=100 << 20,
        include_dashboard=False,
        env_vars={"TMPDIR": place},
    )
cluster.wait_for_nodes()
print(cluster.address, flush=True)
sys.stdin.read()
cluster.shutdown()
"""

Run = Callable[..., str]


def environment(**variables: str) -> dict[str, str]:
    """That of a process which finds docboltz, and knows of no other cluster."""
    source = str(Path(docboltz.__file__).parents[1])
    known = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    return {**known, "PYTHONPATH": source, "RAY_USAGE_STATS_ENABLED": "0", **variables}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the head of two nodes is."""
    pytest.importorskip("ray.train.torch", reason="needs docboltz[ray]")
    folder = tmp_path_factory.mktemp("nodes")
    places = [folder / "head", folder / "other"]
    for place in places:
        place.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", NODES, *map(str, places)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env=environment(),  # sockets lie in a temporary folder, and have to have short names
        text=True,
    ) as nodes:
        assert nodes.stdin is not None
        assert nodes.stdout is not None
        found = nodes.stdout.readline().strip()
        if not found:
            pytest.skip("Ray does not start two nodes here")
        yield found
        nodes.stdin.close()
        nodes.wait(timeout=60)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run docboltz in the folder that is shared; what it says."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()

    def run(*words: str, **variables: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", "from docboltz.cli.app import main; main()", *words],
            cwd=tmp_path,
            env=environment(TMPDIR=str(temporary), **variables),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    return run


def test_a_cluster_is_joined_by_its_address(address: str, run: Run, tmp_path: Path) -> None:
    """By relative paths, which nodes that work elsewhere have to find."""
    write_files(tmp_path / "in")
    how = ["in/*.parquet", "--units", "4", "--updates", "60", "--min-df", "1", "--device", "cpu"]
    run("fit", *how, "--out", "alone")
    said = run("fit", *how, "--out", "one", "--ray", address)
    assert "Training on 1 worker." in said
    assert ".cc:" not in said, "Ray writes into what docboltz says"
    assert "INFO" not in said
    # A processor on each node: two workers are on two of them.
    said = run("fit", *how, "--out", "two", "--workers", "2", "--ray", "auto", RAY_ADDRESS=address)
    assert "Training on 2 workers." in said
    alone, one, two = (docboltz.open(tmp_path / name) for name in ("alone", "one", "two"))
    assert alone.fingerprint == one.fingerprint != two.fingerprint
    assert len(two.store) == len(alone.store) == 160

    run("transform", "alone", "in/*.parquet", "--out", "alone.parquet")
    run("transform", "alone", "in/*.parquet", "--out", "by-address", "--ray", address)
    run("transform", "alone", "in/*.parquet", "--out", "auto", "--ray", "auto", RAY_ADDRESS=address)
    expected = parquet.read_table(tmp_path / "alone.parquet")
    assert parquet.read_table(tmp_path / "by-address").equals(expected)
    assert parquet.read_table(tmp_path / "auto").equals(expected)
    assert not list((tmp_path / "temporary").glob("docboltz*")), "nothing is left of the caller's"

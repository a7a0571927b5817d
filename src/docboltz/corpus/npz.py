"""Matrices in .npz files, which anybody may have made."""

from __future__ import annotations

from zipfile import ZipFile

from scipy.sparse import csr_array, load_npz

from docboltz.corpus.checks import check_structure
from docboltz.files import StrPath, open_file

LARGEST = 1 << 34
"""Bytes of a matrix, unpacked: a few of a zip file may say that there are more than any memory."""


def load_matrix(path: StrPath) -> csr_array:
    """The sparse matrix in a file; OSError or ValueError for anything else."""
    with open_file(path) as stream:
        try:
            with ZipFile(stream) as archive:
                size = sum(entry.file_size for entry in archive.infolist())
            if size > LARGEST:
                raise ValueError(f"it would take {size:,} bytes")
            stream.seek(0)
            matrix = load_npz(stream)  # which refuses pickles
            check_structure(matrix, "docboltz")
            return csr_array(matrix)
        except Exception as error:  # zipfile, zlib, NumPy and SciPy have a dozen kinds
            raise ValueError(f"{path} holds no matrix ({error})") from error

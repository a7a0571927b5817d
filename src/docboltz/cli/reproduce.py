"""docboltz reproduce: the paper's tables and figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from docboltz.cli.options import Device, Quiet
from docboltz.cli.output import remark


def reproduce(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for results; may hold some.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="A reduced run, minutes on a CPU, that says so.")
    ] = False,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Times each model is trained: 3, or 1 if quick.")
    ] = None,
    counts: Annotated[
        Path | None, typer.Option(help="Folder with counted documents; no text is needed then.")
    ] = None,
    save_counts: Annotated[
        bool, typer.Option("--save-counts", help="Only count: --out is a folder for --counts.")
    ] = False,
    path: Annotated[
        Path | None, typer.Option(help="20 Newsgroups on this machine, not to be fetched.")
    ] = None,
    rcv1: Annotated[
        Path | None,
        typer.Option(help="Folder with Reuters: counts.npz, topics.npz, topic_names.txt."),
    ] = None,
    part: Annotated[
        str, typer.Option(help="I/N: the I-th of N parts, for several machines.")
    ] = "1/1",
    only: Annotated[str, typer.Option(help="Only trials whose name contains this.")] = "",
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Run nothing, write the report anew.")
    ] = False,
    device: Device = "auto",
    quiet: Quiet = False,
) -> None:
    """Make the paper's Tables 1 and 2 and Figures 4 and 5 anew, beside the paper's own.

    Trials that are done are kept: the same command goes on after Ctrl-C.

    Example:  docboltz reproduce --out results --quick
    """
    from docboltz.experiments.datasets import Sources
    from docboltz.experiments.record import read_records
    from docboltz.experiments.report import write_report
    from docboltz.experiments.reproduction import reproduce as run
    from docboltz.files import require_writable

    def log(message: str) -> None:
        remark(message, quiet=quiet)

    if not report_only:
        require_writable(out)
    if save_counts:
        Sources(counts, path, rcv1).save(out, log)
        return
    if not report_only:
        try:
            run(
                out,
                Sources(counts, path, rcv1),
                plan="quick" if quick else "full",
                n_seeds=seeds,
                only=only,
                part=part,
                device=device,
                log=log,
            )
        except KeyboardInterrupt:
            if not read_records(out):
                raise
            page = write_report(out)
            message = f"what is done is in {page}. The same command goes on."
            raise KeyboardInterrupt(message) from None
    typer.echo(write_report(out))

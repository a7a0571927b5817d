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
    path: Annotated[
        Path | None, typer.Option(help="20 Newsgroups on this machine, not to be fetched.")
    ] = None,
    rcv1: Annotated[
        Path | None, typer.Option(help="Folder with Reuters as counts.npz and topics.npz.")
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
    from docboltz.device import choose_device
    from docboltz.errors import InvalidParameter
    from docboltz.files import require_writable
    from docboltz.reproduce.data import Sources
    from docboltz.reproduce.models import FULL, QUICK
    from docboltz.reproduce.report import write_report
    from docboltz.reproduce.running import read_records, require_effort, run_trials
    from docboltz.reproduce.trials import part_of, select, trials

    def say(message: str) -> None:
        remark(message, quiet=quiet)

    effort = QUICK if quick else FULL
    if report_only:
        if not read_records(out):
            raise InvalidParameter(f"There are no trials in {out} to report on.")
        typer.echo(write_report(out))
        return
    require_writable(out)
    chosen = part_of(select(trials(effort, seeds or effort.n_seeds), only), part)
    sources = Sources(counts, path, rcv1)
    choose_device(device, "docboltz reproduce")
    require_effort(read_records(out), effort, out)
    absent = sorted({t.dataset for t in chosen if not sources.has(t.dataset)})
    for dataset in absent:
        say(f"Left out: {dataset}, of which there are no documents. Try --rcv1 or --counts.")
    possible = [trial for trial in chosen if trial.dataset not in absent]
    try:
        run_trials(
            possible, out, lambda name: sources.load(name, say), effort, device=device, say=say
        )
    except KeyboardInterrupt:
        if read_records(out):
            page = write_report(out)
            said = f"what is done is in {page}. The same command goes on."
            raise KeyboardInterrupt(said) from None
        raise
    typer.echo(write_report(out))

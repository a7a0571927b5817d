"""docboltz reproduce: the paper's tables and figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from docboltz.cli import options
from docboltz.cli.options import flag, option
from docboltz.cli.output import print_text, remark


@click.command()
@option("--out -o", "Folder for results; may hold some.", type=options.PATH, required=True)
@flag("--quick", "A reduced run, minutes on a CPU, that says so.")
@flag("--table-1", "Table 1 alone, reduced, some hours on a CPU.")
@option("--seeds", "Times each model is trained: 3, or 1 if quick.", type=click.IntRange(1, 1000))
@option("--counts", "Folder with counted documents; no text is needed then.", type=options.PATH)
@flag("--save-counts", "Only count: --out is a folder for --counts.")
@option("--path", "20 Newsgroups on this machine, not to be fetched.", type=options.PATH)
@option(
    "--rcv1", "Folder with Reuters: counts.npz, topics.npz, topic_names.txt.", type=options.PATH
)
@option("--part", "I/N: the I-th of N parts, for several machines.", "1/1")
@option("--only", "Only trials whose name contains this.", "")
@option(
    "--shorter",
    "Divide the updates of training the paper's way: by 1, 100 (--quick) or 20 (--table-1).",
    type=options.COUNT,
)
@flag("--report-only", "Run nothing, write the report anew.")
@options.device
@options.quiet
def reproduce(
    out: Path,
    quick: bool,
    table_1: bool,
    seeds: int | None,
    counts: Path | None,
    save_counts: bool,
    path: Path | None,
    rcv1: Path | None,
    report_only: bool,
    quiet: bool,
    **settings: Any,
) -> None:
    """Make the paper's Tables 1 and 2 and Figures 4 and 5 anew, beside the paper's own.

    Trials that are done are kept: the same command goes on after Ctrl-C.

    Example:  docboltz reproduce --out results --quick
    """
    from docboltz.experiments.datasets import Sources
    from docboltz.experiments.record import read_records
    from docboltz.experiments.report import write_report
    from docboltz.experiments.reproduction import reproduce as run
    from docboltz.storage import require_apart, require_writable

    if quick and table_1:
        raise click.UsageError("Choose one of --quick and --table-1.")

    def log(message: str) -> None:
        remark(message, quiet=quiet)

    if not report_only:
        require_writable(out)
    if save_counts:
        require_apart(out, [counts, path, rcv1])
        Sources(counts, path, rcv1).save(out, log)
        return
    if not report_only:
        try:
            run(
                out,
                Sources(counts, path, rcv1),
                plan="quick" if quick else "table 1" if table_1 else "full",
                n_seeds=seeds,
                log=log,
                **settings,
            )
        except KeyboardInterrupt:
            if not read_records(out):
                raise
            page = write_report(out)
            message = f"what is done is in {page}. The same command goes on."
            raise KeyboardInterrupt(message) from None
    print_text(str(write_report(out)))

"""`odrpo reproduce`: the paper's experiments beside its baselines, then tables and figures."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import tyro
from filelock import FileLock, Timeout
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from odrpo.arguments import whole
from odrpo.cli.options import optional
from odrpo.cli.watching import View
from odrpo.experiments.estimate import Pace, done_before, in_words, of_all
from odrpo.experiments.findings import read_findings
from odrpo.experiments.installed import what_is_missing
from odrpo.experiments.plan import published_plan
from odrpo.experiments.pool import Outcome, Pool, cores
from odrpo.experiments.record import Record, read_all
from odrpo.experiments.results import NAMES, Results
from odrpo.experiments.runs import OURS, Run, named_methods, named_tasks, named_variants, plan
from odrpo.experiments.settings import is_outdated
from odrpo.experiments.table import counted
from odrpo.experiments.tables import at_a_glance
from odrpo.files import check_folder
from odrpo.signals import StopRequest

USUAL_TASKS, USUAL_METHODS, USUAL_SEEDS = "tabular,discrete", "all", 5
"""What is run where nothing is chosen."""
GLANCE = ("task", *(NAMES[method] for method in OURS), "best baseline")
"""Columns of the table at a glance."""


def reproduce(
    tasks: Annotated[str | None, optional("NAMES", usual=USUAL_TASKS)] = None,
    methods: Annotated[str | None, optional("NAMES", usual=USUAL_METHODS)] = None,
    variants: Annotated[str | None, optional("NAMES")] = None,
    seeds: Annotated[int | None, optional("INT", usual=USUAL_SEEDS)] = None,
    published: tyro.conf.FlagCreatePairsOff[bool] = False,
    budget: Literal["full", "short"] = "full",
    jobs: int = cores(),
    out: Path = Path("results"),
    page: Annotated[Path | None, optional("FILE")] = None,
    dry_run: bool = False,
) -> None:
    """Run the paper's experiments: what has no record yet, several at once, nothing twice.

    Tables and figures of all records go into OUT. It can be stopped (Ctrl-C) or killed at any
    moment; the same command goes on. TRPO, PPO and A2C need the extra `baselines`.

    Example: odrpo reproduce --tasks taxi,cartpole --methods odrpo-kl,ppo --seeds 5 --out out/paper

    Args:
        tasks: Which, with commas between: taxi, nchain, cliffwalking, cartpole, acrobot,
            lunarlandercontinuous, invertedpendulum, reacher, hopper, walker2d, halfcheetah, ant;
            tabular, discrete, continuous; all of these; elsewhere: tasks beyond the paper.
        methods: odrpo-kl, odrpo-wasserstein, odrpo-sinkhorn, trpo, ppo, a2c; odrpo, baselines; all.
        variants: Also run these ablations of our methods (names in docs/reproduce.md, or all); an
            ablation is skipped on tasks that it does not apply to.
        seeds: Seeds per task and method, counted from the first one that was not used for tuning.
        published: Run exactly what is published; its tasks, methods, ablations and seeds are fixed,
            so the four options above are refused beside it.
        budget: full: the paper's timesteps, fewer on most continuous tasks; short: a tenth of
            that, into OUT/short.
        jobs: How many runs at once, of one thread each.
        out: Where records, tables and figures go.
        page: Where to write the Markdown results (default: OUT/results.md).
        dry_run: Only say what would be run, and how long it would take.
    """
    console = Console()
    chosen = {"tasks": tasks, "methods": methods, "variants": variants, "seeds": seeds}
    given = ", ".join(f"--{name}" for name, value in chosen.items() if value is not None)
    if published and given:
        raise ValueError(f"published: that is a plan of its own; leave out {given}")
    if published:
        every = published_plan(budget == "short")
    else:
        every = plan(
            named_tasks(USUAL_TASKS if tasks is None else tasks),
            named_methods(USUAL_METHODS if methods is None else methods),
            whole("seeds", USUAL_SEEDS if seeds is None else seeds, 1),
            named_variants(variants or ""),
            budget == "short",
        )
    whole("jobs", jobs, 1)
    out = out / "short" if budget == "short" else out
    check_folder("out", out)
    if page is not None:
        check_folder("page", page.parent)
        if page.is_dir():
            raise ValueError(f"page: {page} is a folder")
    read_findings(out)  # what is wrong with them is told before anything runs
    if dry_run:
        missing = _missing(every, out, jobs, console)
        done = f"nothing to do: all runs are recorded in {escape(str(out))}"
        console.print(_listed(missing, read_all(out)) if missing else done)
        if lacking := what_is_missing(missing):
            console.print(f"[yellow]note:[/] {escape(lacking)}", highlight=False)
        return
    stop = StopRequest()
    try:
        (out / "runs").mkdir(parents=True, exist_ok=True)
        with FileLock(out / "runs" / "lock", timeout=0):
            missing = _missing(every, out, jobs, console)
            if lacking := what_is_missing(missing):
                raise ValueError(lacking)
            outcome = _run(Pool(out, missing, jobs), stop, console)
            _publish(out, page, console)
    except Timeout as error:
        raise ValueError(f"out: another process is running experiments in {out}") from error
    if outcome.stopped:
        console.print("stopped; the same command goes on")
        raise SystemExit(stop.exit_code)
    if outcome.failed:
        logs = f"logs are in {escape(str(out / 'runs'))}"
        console.print(f"run the same command again to retry what failed; {logs}")
        raise SystemExit(1)


def _missing(every: Sequence[Run], out: Path, jobs: int, console: Console) -> list[Run]:
    """What has no record; what was recorded in another way is told."""
    records = read_all(out)
    known = {(record.env, record.label, record.seed): record for record in records}
    missing = [run for run in every if (run.env, run.label, run.seed) not in known]
    outdated = [
        run.record_file(out)
        for run in every
        if (record := known.get((run.env, run.label, run.seed))) and is_outdated(record, run)
    ]
    if outdated:
        console.print(
            f"[yellow]note:[/] the records of {counted(len(outdated), 'run')} have other settings "
            "or timesteps than they would have now; remove them to run these again:"
        )
        for path in outdated:
            console.print(str(path), markup=False, highlight=False, soft_wrap=True)
    pace = Pace(records)
    seconds = [pace.seconds(run, done_before(run, out)) for run in missing]
    console.print(
        f"{counted(len(every), 'run')}: {len(every) - len(missing)} recorded, {len(missing)} to do"
        + (f", about {in_words(of_all(seconds, jobs))} with {jobs} at once" if missing else "")
    )
    return missing


def _run(pool: Pool, stop: StopRequest, console: Console) -> Outcome:
    with stop, View(read_all(pool.out), console) as view:
        outcome = pool.work(view.show, stop)
    for run, reason in outcome.failed.items():
        console.print(f"[bold red]failed:[/] {escape(run.name)}: {escape(reason)}", highlight=False)
    return outcome


def _publish(out: Path, page: Path | None, console: Console) -> None:
    from odrpo.experiments.publish import publish  # matplotlib is slow to import

    records = read_all(out)
    glance = _glance(records)
    if glance.row_count:
        console.print(glance)
    for path in publish(records, out, page):
        console.print(f"wrote {escape(str(path))}")
    if records:
        console.print(f"`odrpo report {escape(str(out))}` makes a page of all of it")


def _glance(records: Sequence[Record]) -> Table:
    """What of the table at a glance fits a terminal."""
    full = at_a_glance(Results(records))
    table = Table(box=None, pad_edge=False, title="mean return over the last tenth of training")
    table.add_column("task")
    for column in GLANCE[1:]:
        table.add_column(column.removeprefix("ODRPO-"), justify="right")
    for row in full.rows:
        if not row[0].text:  # the task above, with a larger budget
            continue
        cells = dict(zip(full.header, row, strict=True))
        table.add_row(*(escape(cells[column].text) for column in GLANCE))
    return table


def _listed(runs: Sequence[Run], records: Sequence[Record]) -> Table:
    # Names are to be typed: where there is no room (80 columns are), seeds go into several lines.
    table = Table(box=None, pad_edge=False, collapse_padding=True)
    for column in ("task", "method"):
        table.add_column(column, no_wrap=True)
    table.add_column("seeds", justify="right", overflow="fold")
    for column in ("timesteps", "each"):
        table.add_column(column, justify="right", no_wrap=True)
    pace = Pace(records)
    alike: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        alike.setdefault((run.env, run.label), []).append(run)
    for (env, label), same in alike.items():
        time = in_words(pace.seconds(same[0]))
        seeds = _in_ranges([run.seed for run in same])
        table.add_row(env, label, seeds, f"{same[0].timesteps:,}", time)
    return table


def _in_ranges(seeds: Sequence[int]) -> str:
    """Those that follow each other by the first and the last: 30, 32-34."""
    ranges: list[list[int]] = []
    for seed in sorted(seeds):
        if ranges and seed == ranges[-1][-1] + 1:
            ranges[-1].append(seed)
        else:
            ranges.append([seed])
    return ", ".join(f"{r[0]}-{r[-1]}" if len(r) > 1 else f"{r[0]}" for r in ranges)

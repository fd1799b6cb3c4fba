"""What is shown of runs that are under way."""

import io
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from odrpo.cli.watching import View
from odrpo.experiments.pool import Pool, Worker
from odrpo.experiments.runs import Run
from odrpo.experiments.status import Status
from odrpo.records import Episode

RUN = Run("CartPole-v1", "ppo", 0, 100_000)


def at_work(out: Path, run: Run, done: int, seconds: float, begun: int = 0) -> Worker:
    """A worker that has been at it for so long."""
    status = Status(run.folder(out))
    status.first = begun
    status.tell(done, [Episode(done, 12.5, 10)])
    nothing: Any = None
    return Worker(run, nothing, time.monotonic() - seconds, None)


def shown(pool: Pool, terminal: bool) -> str:
    console = Console(file=io.StringIO(), force_terminal=terminal, width=120)
    view = View([], console)
    with view:
        view.show(pool)
    return console.file.getvalue()


def test_on_a_terminal_it_has_a_line_for_each(tmp_path: Path) -> None:
    pool = Pool(tmp_path, [RUN], jobs=2)
    pool.working = [at_work(tmp_path, RUN, 25_000, 60)]
    text = shown(pool, terminal=True)
    assert "CartPole-v1 ppo seed 0" in text
    assert "25,000" in text
    assert "12.5" in text
    assert "3 min" in text  # three times as much as took a minute
    assert "0 over, 1 under way, 1 waiting" in text


def test_elsewhere_it_tells_what_is_over(tmp_path: Path) -> None:
    pool = Pool(tmp_path, [], jobs=2)
    assert shown(pool, terminal=False) == ""
    pool.outcome.done.append(RUN)
    pool.outcome.failed[Run("Taxi-v4", "ppo", 0, 1)] = "why"
    text = shown(pool, terminal=False)
    assert text.startswith("2 runs over, 1 failed, 0 left")


def test_the_last_run_is_not_shared_out(tmp_path: Path) -> None:
    pool = Pool(tmp_path, [], jobs=8)
    pool.outcome.done.append(RUN)
    pool.working = [at_work(tmp_path, RUN, 50_000, 600)]
    assert "about 10 min left" in shown(pool, terminal=False)


def test_who_goes_on_is_timed_from_where_it_went_on(tmp_path: Path) -> None:
    pool = Pool(tmp_path, [], jobs=1)
    pool.outcome.done.append(RUN)
    pool.working = [at_work(tmp_path, RUN, 60_000, 100, begun=50_000)]
    assert "about 7 min left" in shown(pool, terminal=False)

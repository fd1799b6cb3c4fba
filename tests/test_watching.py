"""What is shown of runs that are under way."""

import io
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from odrpo.cli.watching import View
from odrpo.experiments.pool import Pool, Worker
from odrpo.experiments.record import write
from odrpo.experiments.runs import Run
from odrpo.experiments.status import Status
from odrpo.records import Episode
from tests.experiments.made_up import made_up

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


def test_who_waits_is_timed_by_those_that_are_over(tmp_path: Path) -> None:
    """At 100 timesteps a second; rough rates say 50 s of RUN, and 60 of the other."""
    done = Run("CartPole-v1", "ppo", 1, 100_000)
    other = Run("Taxi-v4", "a2c", 0, 100_000)
    record = made_up(*(done.env, done.method, 1), timesteps=100_000, taken=100_000, seconds=1000.0)
    write(record, done.record_file(tmp_path))
    for run, told in ((RUN, "about 17 min left"), (other, "about 20 min left")):
        pool = Pool(tmp_path, [run], jobs=1)
        pool.outcome.done.append(done)
        assert told in shown(pool, terminal=False)


def test_what_was_done_before_a_stop_is_not_waited_for_again(tmp_path: Path) -> None:
    ours = Run("Ant-v5", "odrpo-kl", 0, 300_000)
    for run, told in ((ours, "about 16 min left"), (RUN, "about 50 s left")):
        worker = at_work(tmp_path, run, run.timesteps // 2, 0)
        pool = Pool(tmp_path, [run], jobs=1)
        pool.outcome.done.append(Run("Taxi-v4", "ppo", 0, 1))
        assert told in shown(pool, terminal=False)
        pool.waiting, pool.working = [], [worker]
        (run.folder(tmp_path) / "status.json").unlink()
        assert told in shown(pool, terminal=False)


def test_on_a_terminal_it_has_a_line_for_each(tmp_path: Path) -> None:
    pool = Pool(tmp_path, [RUN], jobs=2)
    pool.working = [at_work(tmp_path, RUN, 25_000, 60)]
    text = shown(pool, terminal=True)
    assert "CartPole-v1 ppo seed 0" in text
    assert "25,000" in text
    assert "12.5" in text
    assert "3 min" in text  # three times as much as took a minute
    assert "0 finished, 1 running, 1 waiting" in text


def test_a_stop_is_seen_while_runs_save_themselves(tmp_path: Path) -> None:
    pool = Pool(tmp_path, [RUN], jobs=2)
    pool.working = [at_work(tmp_path, RUN, 25_000, 60)]
    pool.outcome.stopped = True
    assert "stopping after the present updates" in shown(pool, terminal=True)


def test_elsewhere_it_tells_what_is_over(tmp_path: Path) -> None:
    pool = Pool(tmp_path, [], jobs=2)
    assert shown(pool, terminal=False) == ""
    pool.outcome.done.append(RUN)
    pool.outcome.failed[Run("Taxi-v4", "ppo", 0, 1)] = "why"
    text = shown(pool, terminal=False)
    assert text.startswith("1 run finished, 1 failed, 0 left")


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

"""A live view of runs: a table on a terminal, elsewhere a line for each that is over."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from odrpo.experiments.estimate import Pace, in_words, of_all
from odrpo.experiments.pool import Pool, Worker
from odrpo.experiments.record import Record, read
from odrpo.experiments.status import read_status
from odrpo.experiments.table import counted

STOPPING = "[bold]stopping after the present updates ...[/] (Ctrl-C again: at once)"


class View:
    """Shows what a pool does."""

    def __init__(self, records: Sequence[Record], console: Console) -> None:
        """Records of the same help to tell how long is left."""
        self.records, self.console = list(records), console
        self.pace, self.recorded = Pace(records), 0
        self.live = Live(console=console, refresh_per_second=4) if console.is_terminal else None
        self.said = 0

    def __enter__(self) -> "View":
        """Begin."""
        if self.live is not None:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave it at where things stand."""
        if self.live is not None:
            self.live.stop()

    def show(self, pool: Pool) -> None:
        """Bring it up to date; runs that are over tell how long the others will take."""
        for run in pool.outcome.done[self.recorded :]:
            with suppress(ValueError):  # somebody may have taken its record away
                self.records.append(read(run.record_file(pool.out)))
                self.pace = Pace(self.records)
        self.recorded = len(pool.outcome.done)
        over = [*pool.outcome.done, *pool.outcome.failed]
        if self.live is not None:
            self.live.update(self._table(pool))
        elif len(over) > self.said:
            self.said = len(over)
            failed = f", {len(pool.outcome.failed)} failed" if pool.outcome.failed else ""
            left = f"{len(pool.waiting) + len(pool.working)} left"
            self.console.print(
                f"{counted(len(pool.outcome.done), 'run')} finished{failed}, {left}, "
                f"{self._time_left(pool)}"
            )

    def _table(self, pool: Pool) -> Group:
        table = Table(box=None, pad_edge=False, show_header=bool(pool.working))
        for column in ("run", "", "timesteps", "return", "left"):
            table.add_column(column, justify="right" if column not in ("run", "") else "left")
        for worker in pool.working:
            status = read_status(worker.run.folder(pool.out))
            done, reward = status.get("done", 0), status.get("return")
            left = self._left(pool, worker, status)
            table.add_row(
                escape(worker.run.name),
                ProgressBar(worker.run.timesteps, min(done, worker.run.timesteps), width=16),
                f"{done:,}",
                "-" if reward is None else f"{reward:.1f}",
                in_words(left) if done else "starting",
            )
        failed = f", [red]{len(pool.outcome.failed)} failed[/]" if pool.outcome.failed else ""
        then = STOPPING if pool.outcome.stopped else self._time_left(pool)
        line = Text.from_markup(
            f"{len(pool.outcome.done)} finished{failed}, {len(pool.working)} running, "
            f"{len(pool.waiting)} waiting; {then}"
        )
        return Group(table, line)

    def _left(self, pool: Pool, worker: Worker, status: dict[str, Any]) -> float:
        """By its own pace since it began, or went on."""
        done = status.get("done", pool.before.get(worker.run, 0))
        pace = (done - status.get("from", done)) / max(worker.seconds, 1e-9)
        left = max(0, worker.run.timesteps - done)
        return left / pace if pace > 0 else self.pace.seconds(worker.run, done)

    def _time_left(self, pool: Pool) -> str:
        left = [self.pace.seconds(run, pool.before.get(run, 0)) for run in pool.waiting]
        left += [self._left(pool, w, read_status(w.run.folder(pool.out))) for w in pool.working]
        return f"about {in_words(of_all(left, pool.jobs))} left"

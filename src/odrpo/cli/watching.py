"""A live view of runs: a table on a terminal, elsewhere a line for each that is over."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from odrpo.experiments.estimate import in_words, seconds_of
from odrpo.experiments.pool import Pool, Worker
from odrpo.experiments.record import Record
from odrpo.experiments.status import read_status
from odrpo.experiments.table import counted


class View:
    """Shows what a pool does."""

    def __init__(self, records: Sequence[Record], console: Console) -> None:
        """Records of the same help to tell how long is left."""
        self.records, self.console = records, console
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
        """Bring it up to date."""
        over = [*pool.outcome.done, *pool.outcome.failed]
        if self.live is not None:
            self.live.update(self._table(pool, len(over)))
        elif len(over) > self.said:
            self.said = len(over)
            failed = f", {len(pool.outcome.failed)} failed" if pool.outcome.failed else ""
            left = f"{len(pool.waiting) + len(pool.working)} left"
            self.console.print(
                f"{counted(len(over), 'run')} over{failed}, {left}, {self._time_left(pool)}"
            )

    def _table(self, pool: Pool, over: int) -> Group:
        table = Table(box=None, pad_edge=False)
        for column in ("run", "", "timesteps", "return", "left"):
            table.add_column(column, justify="right" if column not in ("run", "") else "left")
        for worker in pool.working:
            status = read_status(worker.run.folder(pool.out))
            done, reward = status.get("done", 0), status.get("return")
            left = self._left(worker, status)
            table.add_row(
                escape(worker.run.name),
                ProgressBar(worker.run.timesteps, min(done, worker.run.timesteps), width=24),
                f"{done:,}",
                "-" if reward is None else f"{reward:.1f}",
                in_words(left) if done else "starting",
            )
        failed = f", [red]{len(pool.outcome.failed)} failed[/]" if pool.outcome.failed else ""
        line = Text.from_markup(
            f"{over} over{failed}, {len(pool.working)} under way, {len(pool.waiting)} waiting; "
            f"{self._time_left(pool)}"
        )
        return Group(table, line)

    def _left(self, worker: Worker, status: dict[str, Any]) -> float:
        """By its own pace since it began, or went on."""
        done = status.get("done", 0)
        pace = (done - status.get("from", 0)) / max(worker.seconds, 1e-9)
        left = max(0, worker.run.timesteps - done)
        return left / pace if pace > 0 else seconds_of(worker.run, self.records)

    def _time_left(self, pool: Pool) -> str:
        left = [seconds_of(run, self.records) for run in pool.waiting]
        left += [self._left(w, read_status(w.run.folder(pool.out))) for w in pool.working]
        at_once = max(1, min(pool.jobs, len(left)))
        return f"about {in_words(max([0.0, *left, sum(left) / at_once]))} left"

"""A bar on the terminal while training: return, steps a second, time left."""

import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich import progress
from rich.console import Console


class Progress:
    """Shows how far the models are; without a terminal nothing, unless asked for."""

    def __init__(self, models: Sequence[Any], wanted: bool | None) -> None:
        """`wanted` None: where standard error is a terminal."""
        self.models = models
        self.wanted = sys.stderr.isatty() if wanted is None else wanted
        self.shown = 0.0

    def __enter__(self) -> "Progress":
        """Put the bar on the terminal."""
        if self.wanted:
            self.start = self._done()
            self.began = time.perf_counter()
            self.bar = progress.Progress(
                progress.TextColumn("{task.description}"),
                progress.BarColumn(),
                progress.MofNCompleteColumn(),
                progress.TextColumn("steps"),
                progress.TextColumn("[cyan]return {task.fields[reward]}"),
                progress.TextColumn("{task.fields[rate]} steps/s"),
                progress.TimeRemainingColumn(),
                console=Console(stderr=True),
            )
            total = sum(model.target for model in self.models)
            name = self.models[0].env_id or "training"
            self.task = self.bar.add_task(
                name, total=total, completed=self.start, reward="-", rate="-"
            )
            self.bar.start()
        return self

    def show(self) -> None:
        """Bring it up to date, at most ten times a second."""
        now = time.perf_counter()
        if self.wanted and now - self.shown > 0.1:
            self.shown = now
            self._refresh()

    def __exit__(self, *_: object) -> None:
        """Leave it at where things stand."""
        if self.wanted:
            self._refresh()
            self.bar.stop()

    def _done(self) -> int:
        return sum(model.num_timesteps for model in self.models)

    def _refresh(self) -> None:
        rows = [model.records.updates[-1] for model in self.models if model.records.updates]
        returns = [row["return"] for row in rows if np.isfinite(row["return"])]
        reward = f"{np.mean(returns):.1f}" if returns else "-"
        seconds = time.perf_counter() - self.began
        rate = f"{(self._done() - self.start) / max(seconds, 1e-9):,.0f}"
        self.bar.update(self.task, completed=self._done(), reward=reward, rate=rate)

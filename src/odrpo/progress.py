"""How far training is: a bar on a terminal, elsewhere a line now and then."""

import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich import progress
from rich.console import Console

LINE_SECONDS = 30.0


class Progress:
    """Shows how far the models are; without a terminal nothing, unless asked for."""

    def __init__(self, models: Sequence[Any], wanted: bool | None) -> None:
        """`wanted` None: where standard error is a terminal."""
        self.models = models
        self.terminal = sys.stderr is not None and sys.stderr.isatty()
        self.wanted = self.terminal if wanted is None else wanted
        self.interval = 0.1 if self.terminal else LINE_SECONDS

    def __enter__(self) -> "Progress":
        """Put the bar on the terminal."""
        self.start = self._done()
        self.name = self.models[0].env_id or "training"
        self.total = sum(model.target for model in self.models)
        self.began = self.shown = time.perf_counter()
        if self.wanted and self.terminal:
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
            self.task = self.bar.add_task(
                self.name, total=self.total, completed=self.start, reward="-", rate="-"
            )
            self.bar.start()
        return self

    def show(self) -> None:
        """Bring it up to date, but not at every update."""
        now = time.perf_counter()
        if self.wanted and now - self.shown > self.interval:
            self.shown = now
            self._refresh()

    def __exit__(self, *_: object) -> None:
        """Leave it at where things stand."""
        if self.wanted:
            self._refresh()
            if self.terminal:
                self.bar.stop()

    def _done(self) -> int:
        return sum(model.num_timesteps for model in self.models)

    def _refresh(self) -> None:
        rows = [model.records.updates[-1] for model in self.models if model.records.updates]
        returns = [row["return"] for row in rows if np.isfinite(row["return"])]
        reward = f"{np.mean(returns):.1f}" if returns else "-"
        seconds = time.perf_counter() - self.began
        rate = f"{(self._done() - self.start) / max(seconds, 1e-9):,.0f}"
        if self.terminal:
            self.bar.update(self.task, completed=self._done(), reward=reward, rate=rate)
        else:
            said = f"{self._done():,} of {self.total:,} steps, return {reward}, {rate} steps/s"
            print(f"{self.name}: {said}", file=sys.stderr, flush=True)

"""Hooks into training: watch it, stop it, keep the best."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from odrpo.arguments import finite, seed_of, whole
from odrpo.evaluation import evaluate

if TYPE_CHECKING:
    from odrpo.model import ODRPO

Row = dict[str, float]


class Callback:
    """Override the hooks that you need; `self.model` is the model in training."""

    model: "ODRPO"

    def before_training(self) -> None:
        """Called for every model before any of several begins."""

    def on_training_start(self) -> None:
        """Called when the training of this model begins."""

    def on_update(self, row: Row) -> bool | None:
        """Called after every update with what it reports; return False to stop."""
        return None

    def on_training_end(self) -> None:
        """Called when `learn` ends, also when it was stopped."""

    def after_training(self) -> None:
        """Called for every model when the training of all of them is over."""

    def to_json(self) -> Any:
        """What a checkpoint is to remember of this callback, in numbers, texts, lists and dicts."""
        return None

    def from_json(self, values: Any) -> None:
        """Take over what `to_json` gave, in a run that goes on from a checkpoint."""


class FunctionCallback(Callback):
    """A function of the model and the row of an update; where it returns False training stops."""

    def __init__(self, function: Callable[["ODRPO", Row], bool | None]) -> None:
        """Wrap the function."""
        self.function = function

    def on_update(self, row: Row) -> bool | None:
        """Call it."""
        return self.function(self.model, row)


class StopOnReward(Callback):
    """Stop once the mean return of the last episodes (20) reaches a threshold."""

    def __init__(self, threshold: float) -> None:
        """Set the threshold."""
        self.threshold = finite("threshold", threshold)

    def on_update(self, row: Row) -> bool | None:
        """Compare."""
        return not row["return"] >= self.threshold or row["episodes"] < 20


class EvaluateEvery(Callback):
    """Evaluate the policy every so many timesteps, and keep the best model.

    Attributes:
        results: (timesteps, mean return) of every evaluation.
        best: The highest mean return so far.
    """

    def __init__(
        self,
        env: Any,
        timesteps: int,
        episodes: int = 20,
        best_model: str | Path | None = None,
        stop_at: float | None = None,
        seed: int = 0,
        deterministic: bool = True,
    ) -> None:
        """Say where and how often; `stop_at` ends the training at that mean return.

        With several seeds put `{seed}` into the path of the best model.
        """
        self.env, self.every = env, whole("timesteps", timesteps, 1)
        self.episodes, self.best_model = whole("episodes", episodes, 1), best_model
        self.stop_at = None if stop_at is None else finite("stop_at", stop_at)
        self.seed, self.deterministic = seed_of(seed), deterministic
        self.results: list[tuple[int, float]] = []
        self.best = -np.inf
        self.next = 0

    def to_json(self) -> Any:
        """What was found so far."""
        return {"results": self.results, "best": max(self.best, -1e300), "next": self.next}

    def from_json(self, values: Any) -> None:
        """The same."""
        self.results = [(int(at), float(mean)) for at, mean in values["results"]]
        self.best, self.next = float(values["best"]), int(values["next"])

    def on_training_start(self) -> None:
        """The first evaluation comes after so many timesteps from here."""
        self.next = self.next or self.model.num_timesteps + self.every

    def on_update(self, row: Row) -> bool | None:
        """Evaluate where it is time to."""
        if self.model.num_timesteps < self.next:
            return None
        self.next = _next(self.next, self.every, self.model)
        returns = evaluate(self.model, self.env, self.episodes, self.seed, self.deterministic)
        mean = float(returns.mean())
        self.results.append((self.model.num_timesteps, mean))
        if mean > self.best:
            self.best = mean
            if self.best_model is not None:
                self.model.save(_filled(self.best_model, self.model))
        return None if self.stop_at is None else mean < self.stop_at


class CheckpointEvery(Callback):
    """Save the model every so many timesteps; a file is replaced in one go, never half written."""

    def __init__(self, path: str | Path, timesteps: int) -> None:
        """Say where; `{timesteps}` and `{seed}` in the path keep one file for each."""
        self.path, self.every = str(path), whole("timesteps", timesteps, 1)
        self.next = 0

    def to_json(self) -> Any:
        """When the next one is due."""
        return {"next": self.next}

    def from_json(self, values: Any) -> None:
        """The same."""
        self.next = int(values["next"])

    def on_training_start(self) -> None:
        """The first comes after so many timesteps from here."""
        self.next = self.next or self.model.num_timesteps + self.every

    def on_update(self, row: Row) -> bool | None:
        """Save where it is time to."""
        if self.model.num_timesteps >= self.next:
            self.next = _next(self.next, self.every, self.model)
            self.model.save(_filled(self.path, self.model))
        return None


Callbacks = Callback | Callable[["ODRPO", Row], bool | None] | Sequence["Callbacks"] | None


def as_list(callback: Callbacks) -> list[Callback]:
    """One callback, a function, several of them, or none."""
    if callback is None:
        return []
    if isinstance(callback, Callback):
        return [callback]
    if isinstance(callback, type):
        name = callback.__name__
        raise ValueError(f"callback: {name} is a class; make an object of it, {name}(...)")
    if isinstance(callback, Sequence) and not isinstance(callback, str | bytes):
        return [one for part in callback for one in as_list(part)]
    if callable(callback):
        return [FunctionCallback(callback)]
    raise ValueError(
        f"callback: {callback!r}; use a function of (model, row), an odrpo.callbacks.Callback, "
        "or a list of these"
    )


def _next(now: int, every: int, model: "ODRPO") -> int:
    """When it is time again: an update may go far, as over a warm-up."""
    return now + every * ((model.num_timesteps - now) // every + 1)


def _filled(path: str | Path, model: "ODRPO") -> Path:
    text = str(path).replace("{timesteps}", str(model.num_timesteps))
    return Path(text.replace("{seed}", str(model.seed)))

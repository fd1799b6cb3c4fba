"""What environments say of a step, looked at before anybody counts on it."""

from typing import Any

import numpy as np

LARGEST = float(np.finfo(np.float32).max)
"""Of rewards: they are kept in float32."""
ONE = np.ones(1, bool)
FLAGS = (bool, np.bool_)
REMEDY = "mend it, or put it right with a wrapper"


class EnvError(ValueError):
    """An environment that misbehaves; the message names it, the step and the value."""


class StepError(ValueError):
    """What an environment did wrong, as in "paid a reward of nan", and which of several it was."""

    def __init__(self, what: str, which: int | None = None) -> None:
        """`which` is None where nobody knows."""
        super().__init__(what)
        self.which = which


def told(what: str, name: str, where: str, error: Exception) -> EnvError:
    """An exception in the `what` of an environment, with the name of it and when that was."""
    if isinstance(error, StepError):
        return EnvError(f"env: {name} {error}{where}; {REMEDY}")
    reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return EnvError(f"env: the {what} of {name} failed{where} ({reason})")


def check_step(
    valid: np.ndarray, reward: Any, terminated: Any, truncated: Any, infos: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rewards, ends and cuts of B environments, (B,) each; what is not `valid` counts for nothing.

    Of a single one they may be plain numbers.
    """
    check_infos(infos)
    paid = _row("a reward", reward, len(valid)).astype(np.float64)
    _refuse("paid a reward of", paid, valid & ~(np.abs(paid) <= LARGEST))
    ended, cut = (
        _flags(name, given, valid)
        for name, given in (("terminated", terminated), ("truncated", truncated))
    )
    return np.where(valid, paid, 0).astype(np.float32), ended, cut


def check_one(reward: Any, terminated: Any, truncated: Any, info: Any) -> tuple[float, bool, bool]:
    """The same for a single environment; what is as usual takes no time."""
    usual = isinstance(terminated, FLAGS) and isinstance(truncated, FLAGS)
    if not (usual and isinstance(reward, float) and abs(reward) <= LARGEST):
        row = check_step(ONE, reward, terminated, truncated, info)
        reward, terminated, truncated = (column[0] for column in row)
    check_infos(info)
    return float(reward), bool(terminated), bool(truncated)


def check_infos(infos: Any) -> None:
    """They are a dict, for one environment and for many."""
    if not isinstance(infos, dict):
        raise StepError(f"gave {shown(infos)} for an info, which is no dict")


def shown(value: Any) -> str:
    """A value as an error tells it, long ones in part."""
    if isinstance(value, np.ndarray | np.generic):
        return np.array2string(np.asarray(value), threshold=20)
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."


def _flags(name: str, given: Any, valid: np.ndarray) -> np.ndarray:
    row = _row(f"a {name}", given, len(valid))
    if row.dtype.kind != "b":
        _refuse(f"gave a {name} of", row, valid & (row != 0) & (row != 1))
    return (row == 1) & valid


def _row(name: str, given: Any, count: int) -> np.ndarray:
    row = np.asarray(given)
    if row.dtype.kind not in "biuf":
        raise StepError(f"gave {name} of {shown(given)}, which is no number")
    if row.size == count == 1:
        return row.reshape(1)
    if row.shape != (count,):
        expected = "one number" if count == 1 else f"{(count,)}, one for each environment"
        raise StepError(f"gave {name} of shape {row.shape}, expected {expected}")
    return row


def _refuse(what: str, row: np.ndarray, bad: np.ndarray) -> None:
    if bad.any():
        which = int(np.argmax(bad))
        raise StepError(f"{what} {row[which]}", which)

"""What training remembers: a row for each of the last updates, and the last episodes."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from odrpo.arguments import finite, whole
from odrpo.exact_step import Info
from odrpo.rollout import Batch

MOST_UPDATES = 3_000
MOST_EPISODES = 30_000
"""So many, and up to a tenth more, are kept in memory, and all episodes of the last update; the
files of a run hold more."""

MOST_COUNTED = 2**53
"""No counter gets so far; beyond it floats no longer tell one from the next."""

WINDOW = 20
"""The returns that are reported are means over so many episodes, as in the paper."""


class Episode(NamedTuple):
    """One that is over."""

    timesteps: int
    """Taken by the whole run until then."""
    episode_return: float
    length: int


class Played(NamedTuple):
    """What the records need of a batch, (T, B) each: the rest stays on the device."""

    valid: np.ndarray
    done: np.ndarray
    episode_return: np.ndarray
    time: np.ndarray

    @classmethod
    def of(cls, batch: Batch) -> "Played":
        """On arrays or tracers."""
        return cls(batch.valid, batch.done, batch.episode_return, batch.time)


@dataclass
class Records:
    """All of one run."""

    timesteps: int = 0
    updates: list[dict[str, float]] = field(default_factory=list)
    episodes: list[Episode] = field(default_factory=list)
    earlier_episodes: int = 0
    """How many more there were that are no longer kept."""
    update_count: int = 0
    """All updates since the beginning."""
    seconds: float = 0.0
    """Spent in training since the beginning."""
    largest_gap: float = 0.0
    """Of the certificates of all updates, relative to 1 + the gain."""
    largest_use: float = 0.0
    """Of the radius by the exact steps of all updates: distance / radius."""
    refused: int = 0
    """Updates that were not taken."""
    refused_in_a_row: int = 0
    """Of the last ones."""
    env_restarts: int = 0
    """How often environments that had failed were made anew."""

    @property
    def episode_count(self) -> int:
        """All episodes since the beginning."""
        return self.earlier_episodes + len(self.episodes)

    @property
    def recent(self) -> list[Episode]:
        """The last ones, over which returns are averaged."""
        return self.episodes[-WINDOW:]

    def add(self, played: Played, info: Info, seconds: float) -> dict[str, float]:
        """Take in an update, `seconds` after the beginning; returns its row."""
        reached = self.timesteps + np.cumsum(played.valid.sum(axis=1))
        ended = [
            Episode(
                int(reached[step]),
                float(played.episode_return[step, env]),
                int(played.time[step, env]) + 1,
            )
            for step, env in np.argwhere(played.done)
        ]
        recent = [*self.recent, *ended][-WINDOW:]
        row = {
            "timesteps": int(reached[-1]),
            "episodes": self.episode_count + len(ended),
            "return": float(np.mean([e.episode_return for e in recent])) if recent else np.nan,
            "length": float(np.mean([e.length for e in recent])) if recent else np.nan,
            **{name: float(value) for name, value in info._asdict().items()},
            "env_restarts": self.env_restarts,
            "seconds": seconds,
        }
        # All at once: who interrupts finds an update taken in, or not.
        self.episodes += ended
        self.updates.append(row)
        self.timesteps, self.seconds = int(reached[-1]), seconds
        self.update_count += 1
        self.refused += row["refused"] > 0
        self.refused_in_a_row = self.refused_in_a_row + 1 if row["refused"] else 0
        if not row["refused"]:
            self.largest_gap = max(self.largest_gap, abs(row["gap"]) / (1 + abs(row["gain"])))
            if row["radius"] > 0:
                self.largest_use = max(self.largest_use, row["distance"] / row["radius"])
        if len(self.updates) >= 1.1 * MOST_UPDATES:
            del self.updates[:-MOST_UPDATES]
        if len(self.episodes) >= 1.1 * MOST_EPISODES:
            # Those of this update are still to be logged.
            kept = max(MOST_EPISODES, len(ended))
            self.earlier_episodes += len(self.episodes) - kept
            del self.episodes[:-kept]
        return row

    def final_return(self, episodes: int | None = None, timesteps: int | None = None) -> float:
        """The mean over the last tenth of the episodes within a budget, as the paper reports it.

        Of a model that was loaded, of the episodes since then.
        """
        kept = self.episodes[:episodes]
        if timesteps is not None:
            kept = [episode for episode in kept if episode.timesteps <= timesteps]
        if not kept:
            return np.nan
        return float(np.mean([e.episode_return for e in kept[-max(1, len(kept) // 10) :]]))

    def to_json(self) -> dict[str, Any]:
        """What a file keeps of it: counts, the last episodes and the worst certificates."""
        return {
            "timesteps": self.timesteps,
            "updates": self.update_count,
            "seconds": self.seconds,
            "episodes": self.episode_count,
            "recent_episodes": self.recent,
            "largest_gap": self.largest_gap,
            "largest_use": self.largest_use,
            "refused": self.refused,
            "refused_in_a_row": self.refused_in_a_row,
            "env_restarts": self.env_restarts,
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Records":
        """Those of a run that goes on from what `to_json` kept."""
        recent = [_episode(*episode) for episode in values["recent_episodes"]]
        records = cls(
            timesteps=counted("timesteps", values["timesteps"]),
            episodes=recent,
            earlier_episodes=counted("episodes", values["episodes"]) - len(recent),
            update_count=counted("updates", values["updates"]),
            seconds=_at_least_zero("seconds", values["seconds"]),
            largest_gap=_at_least_zero("largest_gap", values["largest_gap"]),
            largest_use=_at_least_zero("largest_use", values["largest_use"]),
            refused=counted("refused", values.get("refused", 0)),
            refused_in_a_row=counted("refused_in_a_row", values.get("refused_in_a_row", 0)),
            env_restarts=counted("env_restarts", values.get("env_restarts", 0)),
        )
        records.check()
        return records

    def check(self) -> None:
        """Refuse counters that contradict each other."""
        if self.earlier_episodes < 0:
            raise ValueError(
                f"episodes: {self.episode_count}, fewer than the last {len(self.episodes)}"
            )
        latest = max((episode.timesteps for episode in self.episodes), default=0)
        if latest > self.timesteps:
            raise ValueError(f"recent_episodes: one ends at {latest}, after all {self.timesteps}")
        if not self.refused_in_a_row <= self.refused <= self.update_count:
            raise ValueError(
                f"refused: {self.refused} of {self.update_count} updates, "
                f"{self.refused_in_a_row} of them in a row"
            )


def counted(name: str, value: Any) -> int:
    """A counter as a file has it."""
    number = whole(name, value)
    if number >= MOST_COUNTED:
        raise ValueError(f"{name}: {number}; use a whole number below 2**53")
    return number


def _at_least_zero(name: str, value: Any) -> float:
    number = finite(name, value)
    if number < 0:
        raise ValueError(f"{name}: {number}; use a number >= 0")
    return number


def _episode(timesteps: Any, episode_return: Any, length: Any) -> Episode:
    """One as a file has it; rewards may add up beyond all floats."""
    if isinstance(episode_return, bool) or not isinstance(episode_return, int | float):
        raise ValueError(f"recent_episodes: {episode_return!r}; use a number")
    timesteps, length = counted("recent_episodes", timesteps), counted("recent_episodes", length)
    return Episode(timesteps, float(episode_return), length)

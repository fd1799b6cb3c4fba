"""How far a run is, in a little file, for those who watch it from another process."""

import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from odrpo.files import fresh
from odrpo.records import WINDOW, Episode

SECONDS = 1.0


class Status:
    """Writes it, at most once a second."""

    def __init__(self, folder: Path) -> None:
        """Nothing is known yet."""
        self.file, self.told = folder / "status.json", 0.0
        self.first: int | None = None
        folder.mkdir(parents=True, exist_ok=True)

    def tell(self, timesteps: int, episodes: Sequence[Episode]) -> None:
        """So many timesteps are behind, with these episodes."""
        self.first = timesteps if self.first is None else self.first
        now = time.monotonic()
        if now - self.told < SECONDS:
            return
        self.told = now
        recent = [episode.episode_return for episode in episodes[-WINDOW:]]
        mean_return = sum(recent) / len(recent) if recent else math.nan
        shown = mean_return if math.isfinite(mean_return) else None
        text = json.dumps({"done": timesteps, "from": self.first, "return": shown})
        partial = fresh(self.file.with_suffix(".partial"))
        partial.write_text(text)
        partial.replace(self.file)


def read_status(folder: Path) -> dict[str, Any]:
    """What was told last; empty: nothing."""
    try:
        return json.loads((folder / "status.json").read_text())
    except (OSError, ValueError):
        return {}

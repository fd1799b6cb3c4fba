"""Records that no run has made."""

from typing import Any

import numpy as np

from odrpo.experiments.record import CERTIFICATE, Record


def made_up(env: str, method: str, seed: int = 0, level: float = 0.0, **changes: Any) -> Record:
    """A hundred episodes of ten steps that rise to `level` from ten below it."""
    steps = 10.0 * np.arange(1, 101)
    returns = level - 10 + np.minimum(np.arange(100) / 50, 1) * 10
    updates: dict[str, list[float | None]] = {}
    if method.startswith("odrpo"):
        updates = {name: (0.123456 + np.arange(200)).tolist() for name in CERTIFICATE}
    evaluation = {"returns": [level] * 4, "lengths": [10.0] * 4}
    if env == "Taxi-v4":
        evaluation |= {"dropoffs": [1.0] * 4, "illegal": [0.0] * 4}
    values: dict[str, Any] = {
        "env": env,
        "method": method,
        "variant": "",
        "seed": seed,
        "timesteps": 1000,
        "taken": 1000,
        "config": {"radius": 0.1},
        "versions": {"odrpo": "0"},
        "commit": "none",
        "machine": {"cpu": "none"},
        "seconds": 2.0,
        "played": np.stack([steps, returns, np.full(100, 10.0)], axis=1),
        "updates": updates,
        "largest_gap": 1e-7 if updates else None,
        "largest_use": 1.0 if updates else None,
        "evaluation": evaluation,
    }
    return Record(**values | changes)

"""Records made up for reports, and a text that would like to be a script."""

import numpy as np

from tests.experiments.made_up import made_up

HOSTILE = "</script><script>window.hurt=1</script><img src=x onerror='window.hurt=1'>"


def some_records() -> list:
    methods = ("odrpo-kl", "odrpo-wasserstein", "ppo")
    records = [
        made_up(env, method, seed, level=float(10 * k + seed))
        for env in ("Taxi-v4", "CartPole-v1")
        for k, method in enumerate(methods)
        for seed in range(3)
    ]
    records.append(made_up("CartPole-v1", "odrpo-kl", variant="held-beta"))
    return records


def with_a_long_variant() -> list:
    """A method, and a variant with a hundred times as many episodes in as many more seconds."""
    many = np.stack([np.arange(1.0, 10_001), np.full(10_000, 5.0), np.ones(10_000)], axis=1)
    long = {"variant": "paper", "played": many, "taken": 10_000, "seconds": 200.0}
    records = [made_up("CartPole-v1", "odrpo-kl", seed, level=9.0) for seed in range(3)]
    return records + [made_up("CartPole-v1", "odrpo-kl", seed, **long) for seed in range(3)]

"""odrpo beside the libraries of the field, in one run: speed, start-up, memory, time to solved.

CartPole for the on-policy ones, ours with its preset, those of Stable-Baselines3 and its kin with
what RL Baselines3 Zoo has published; HalfCheetah, an update a timestep, for SAC. A measurement is a
process of its own, one at a time, in turn, round after round; medians are reported. Run it on a
machine that does nothing else. Peers have environments of their own, which `make peers` sets up.
"""

import math
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import tyro
from rich.console import Console

from continuous import OFF_POLICY, SAC, WARM_UP
from odrpo.experiments.baselines import ZOO
from processes import Result, Results, keep, ours, run
from report import heading, middle, missing_peers, publish, setting, table, versions

CARTPOLE, CHEETAH = "CartPole-v1", "HalfCheetah-v5"
SOLVED, MOST_TIMESTEPS, ENVS = 475, 100_000, 8
OURS_DEVICE, OURS_HOST, OURS_REPLAY = "odrpo", "odrpo, Gymnasium's environments", "odrpo, replay"
SB3 = {
    "Stable-Baselines3 PPO": ("stable_baselines3.PPO", "ppo"),
    "Stable-Baselines3 A2C": ("stable_baselines3.A2C", "a2c"),
    "sb3-contrib TRPO": ("sb3_contrib.TRPO", "trpo"),
}
SBX_PPO = "SBX PPO"
REJAX: dict[str, dict[str, Any]] = {
    "rejax PPO": {
        "num_envs": 5,
        "num_steps": 100,
        "num_epochs": 5,
        "num_minibatches": 5,
        "learning_rate": 7.5e-4,
        "max_grad_norm": 0.5,
        "gamma": 0.99,
        "gae_lambda": 0.95,
        "clip_eps": 0.2,
        "ent_coef": 0.01,
        "vf_coef": 0.5,
        "agent_kwargs": {"activation": "tanh"},
    },
    "rejax PPO, 64 environments": {"num_envs": 64},
}
"""What it has published for CartPole, and its defaults on more environments, which are faster."""
SAC_OF = {
    "SBX SAC": ("sbx", 1),
    "Stable-Baselines3 SAC": ("stable_baselines3", 1),
    "Stable-Baselines3 SAC, all threads": ("stable_baselines3", None),
}
PACKAGES = ("odrpo", "jax", "optax", "gymnasium", "mujoco", "numpy")
HEADER = ["library", "timesteps/s", "ours is", "first update after", "solved after", "peak memory"]
COLOUR, OWN_COLOUR = "#8d99ae", "#00798c"


@dataclass(frozen=True)
class Options:
    """What to run, with what, and where to."""

    peers: Path = Path(".peers")
    """The folder of the environments that have the peers."""
    rounds: int = 3
    """How often each measurement is repeated; a round has a seed of its own."""
    quick: bool = False
    """One round with small budgets, to see that everything runs: its numbers mean nothing."""
    out: Path = Path("results/benchmarks")
    """Where field.json, field.md and field.png go (field_quick.json and the like)."""

    def python(self, name: str) -> Path:
        """The interpreter of an environment."""
        return self.peers / name / "bin" / "python"


def cartpole(options: Options, seed: int) -> dict[str, Callable[[], Result]]:
    """On-policy: from a fresh process to a solved task."""
    budget = {"seed": seed, "goal": SOLVED}
    budget |= {"timesteps": 20_000 if options.quick else MOST_TIMESTEPS}
    found: dict[str, Callable[[], Result]] = {}
    for name, host in ((OURS_DEVICE, 0), (OURS_HOST, ENVS)):
        how = budget | {"metric": "kl", "every": 5_000, "host_envs": host}
        found[name] = partial(timed, ours, "solve", **how)
    if options.python("sb3").exists():
        script = partial(run, options.python("sb3"), "sb3.py", "solve")
        for name, (algorithm, method) in SB3.items():
            found[name] = partial(started, script, budget | published(algorithm, method))
    if options.python("sbx").exists():
        script = partial(run, options.python("sbx"), "sb3.py", "solve")
        found[SBX_PPO] = partial(started, script, budget | published("sbx.PPO", "ppo"))
    if options.python("rejax").exists():
        script = partial(run, options.python("rejax"), "rejax_ppo.py", "solve")
        for name, settings in REJAX.items():
            found[name] = partial(started, script, budget | {"settings": settings})
    return found


def published(algorithm: str, method: str) -> dict[str, Any]:
    """RL Zoo's settings for CartPole."""
    settings = ZOO[method][CARTPOLE]
    own = {name: value for name, value in settings.items() if name != "n_envs"}
    if algorithm.startswith("sbx"):  # it takes no schedule for the clipping
        own["clip_range"] = float(own["clip_range"].removeprefix("lin_"))
    return own | {"algorithm": algorithm, "num_envs": settings["n_envs"], "threads": 1}


def cheetah(options: Options) -> dict[str, Callable[[], Result]]:
    """Off-policy: an update a timestep, equal layers and minibatches."""
    timesteps, untimed = (100, 40) if options.quick else (3000, 400)
    budget: dict[str, Any] = {"env": CHEETAH, "timesteps": timesteps, "untimed": WARM_UP + untimed}
    replay = partial(ours, "speed", metric="kl", settings=OFF_POLICY, **budget)
    found: dict[str, Callable[[], Result]] = {OURS_REPLAY: replay}
    for name, (library, threads) in SAC_OF.items():
        python = options.python("sbx" if library == "sbx" else "sb3")
        if python.exists():
            how = budget | {"library": library, "settings": SAC, "threads": threads}
            found[name] = partial(run, python, "sac.py", how)
    return found


def timed(measure: Callable[..., Result], *words: str, **settings: Any) -> Result:
    """With the time at which the process starts."""
    return measure(*words, started=time.time(), **settings)


def started(measure: Callable[..., Result], settings: dict[str, Any]) -> Result:
    """The same for scripts that take one dictionary."""
    return measure(settings | {"started": time.time()})


def measure(options: Options, console: Console) -> Results:
    """All rounds: what each run printed in each."""
    results: Results = {}
    for seed in range(1 if options.quick else options.rounds):
        for name, measured in (cartpole(options, seed) | cheetah(options)).items():
            keep(results, name, measured(), console)
    return results


def lines(results: Results, own: str, names: list[str]) -> list[list[str]]:
    """A table of those that were measured, the fastest of ours the measure."""
    best = middle(results, own, "speed")
    found = []
    for name in names:
        if name not in results:
            continue
        speed = middle(results, name, "speed")
        ratio = "" if name == own else f"{best / speed:.3g} times as fast"
        cells = [name, f"{speed:,.0f}", ratio]
        for key, unit in (("start", "s"), ("seconds", "s"), ("peak_memory", "MB")):
            if any(key not in part for part in results[name]):
                cells.append("")
                continue
            value = middle(results, name, key)
            value = value / 1e6 if key == "peak_memory" else value
            shown = f"{value:,.0f} {unit}" if unit == "MB" else f"{value:.1f} {unit}"
            cells.append(shown if math.isfinite(value) else "never")
        found.append(cells)
    return found


def ratios(results: Results) -> dict[str, float]:
    """How many times as fast as each peer ours is: the on-policy ones, and SAC."""
    measures = {OURS_DEVICE: (OURS_HOST, *SB3, SBX_PPO, *REJAX), OURS_REPLAY: tuple(SAC_OF)}
    return {
        name: round(middle(results, own, "speed") / middle(results, name, "speed"), 3)
        for own, names in measures.items()
        for name in names
        if name in results
    }


def draw(results: Results, path: Path) -> None:
    """Speed, start-up, time to solved and memory as bars, on a logarithmic scale."""
    names = [name for name in results if "seconds" in results[name][0]]
    panels = {
        "speed": "timesteps a second",
        "start": "s to the first update",
        "seconds": "s to a solved task",
        "peak_memory": "MB of memory",
    }
    figure, row = plt.subplots(1, len(panels), figsize=(15, 3.4), layout="constrained", sharey=True)
    for axes, (key, title) in zip(row, panels.items(), strict=True):
        values = [middle(results, name, key) for name in names]
        values = [value / 1e6 if key == "peak_memory" else value for value in values]
        shown = [value if math.isfinite(value) else 0 for value in values]
        colours = [OWN_COLOUR if name.startswith("odrpo") else COLOUR for name in names]
        bars = axes.barh(names, shown, color=colours)
        digits = 0 if key in ("speed", "peak_memory") else 1
        texts = [f"{v:,.{digits}f}" if math.isfinite(v) else "never" for v in values]
        axes.bar_label(bars, texts, padding=3, fontsize=8)
        axes.set_title(title, fontsize=10)
        if key == "speed":
            axes.set_xscale("log")
        axes.margins(x=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    row[0].invert_yaxis()
    figure.suptitle(f"{CARTPOLE}, {os.cpu_count()} cores")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def evaluating(results: Results) -> str:
    """What is left of the time to solved beside the start and the training."""
    left = [
        part["seconds"] - part["start"] - part["timesteps"] / part["speed"]
        for name in (*SB3, SBX_PPO)
        for part in results.get(name, [])
        if part["seconds"] is not None
    ]
    return f"{min(left):.1f} to {max(left):.1f} s" if left else "no time"


def report(facts: dict[str, Any], results: Results, missing: list[str]) -> str:
    """All of it in Markdown."""
    on_policy = [OURS_DEVICE, OURS_HOST, *SB3, SBX_PPO, *REJAX]
    how = (
        f"Median of {facts['rounds']} rounds, a fresh process each, one after the other; torch "
        f"with one thread. {CARTPOLE}: odrpo with KL and its preset, on the device or with {ENVS} "
        "environments of Gymnasium; those of Stable-Baselines3 and SBX with RL Baselines3 Zoo's "
        "settings for the task, 2 to 8 environments; rejax with the settings that it has published "
        "for it, 5 environments, and with its defaults on 64. Solved: the "
        f"greedy policy's mean over 20 episodes is {SOLVED} or more, within {MOST_TIMESTEPS:,} "
        "timesteps; rejax evaluates by itself, with drawn actions, over 128 episodes. The clock "
        "starts before the process does; it counts compilation and the evaluations in between, "
        f"which took those in Python {evaluating(results)}."
    )
    cheetah = (
        f"{CHEETAH}, one environment, an update a timestep, equal layers and minibatches, KL, "
        "after warm-up and compilation."
    )
    parts = ["# odrpo beside the libraries of the field", heading(facts)]
    parts += [*missing, "![The same as bars](field.png)", how]
    parts += [table(HEADER, lines(results, OURS_DEVICE, on_policy)), cheetah]
    replay = [line[:3] for line in lines(results, OURS_REPLAY, [OURS_REPLAY, *SAC_OF])]
    parts += [table(HEADER[:3], replay), "## Versions", versions(facts)]
    return "\n\n".join(parts) + "\n"


def main(options: Options) -> None:
    """Measure, compare, draw, write."""
    console = Console(width=160)
    missing = missing_peers({name: options.python(name) for name in ("sb3", "sbx", "rejax")})
    for sentence in missing:
        console.print(sentence)
    began = time.perf_counter()
    results = measure(options, console)
    facts = setting(results, PACKAGES, (*SB3, SBX_PPO, *REJAX, *SAC_OF)) | {
        "rounds": 1 if options.quick else options.rounds,
        "seconds": time.perf_counter() - began,
    }
    target = options.out / ("field_quick" if options.quick else "field")
    target.parent.mkdir(parents=True, exist_ok=True)
    draw(results, target.with_suffix(".png"))
    data = facts | {
        "ratios": ratios(results),
        "results": results,
        "options": {k: str(v) for k, v in asdict(options).items()},
    }
    publish(report(facts, results, missing), data, target, console)


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))

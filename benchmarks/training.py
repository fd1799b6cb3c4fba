"""How fast odrpo trains beside Stable-Baselines3 and rejax, all on CartPole, in one run.

Every measurement is a process of its own, one at a time, in turn, round after round, and the median
of the rounds is reported. Timesteps a second are those of training as a user calls it, compilation
apart; the time to a solved task begins with the process, imports and compilation included. Run it
on a machine that does nothing else: several threads of torch suffer from company far more than XLA,
which would flatter us; so SB3 trains with one thread, and its speed is the better of one and all.
Peers live in environments of their own, which `make peers` sets up.
"""

import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import tyro
from rich.console import Console

from processes import Result, Results, keep, ours, run
from report import (
    Row,
    compare_speed,
    fastest,
    heading,
    middle,
    missing_peers,
    publish,
    setting,
    speeds,
    table,
    verdicts,
    versions,
)

METRICS = ("kl", "wasserstein")
THROUGHPUT: dict[str, Any] = {
    "num_envs": 64,
    "num_steps": 32,
    "minibatch": 512,
    "policy_epochs": 2,
    "critic_epochs": 2,
    "critic_window": 1,
    "policy_rate": 8e-3,
    "critic_rate": 8e-3,
    "radius": 0.02,
    "final_fraction": 0.1,
    "horizon": 200_000,
    "hidden": (32, 32),
}
THROUGHPUT_METRIC = "kl"
# The same for rejax, whose defaults are 64 steps, 16 minibatches, 8 epochs and layers of 64.
SAME_WORK: dict[str, Any] = {
    "num_steps": THROUGHPUT["num_steps"],
    "num_minibatches": THROUGHPUT["num_envs"] * THROUGHPUT["num_steps"] // THROUGHPUT["minibatch"],
    "num_epochs": THROUGHPUT["policy_epochs"],
    "learning_rate": THROUGHPUT["policy_rate"],
    "agent_kwargs": {"hidden_layer_sizes": THROUGHPUT["hidden"], "activation": "tanh"},
}
SB3_ENVS = 8
SB3_ONE_THREAD = {"num_envs": SB3_ENVS, "threads": 1}
SB3_ALL_THREADS = {"num_envs": SB3_ENVS, "threads": None}
SOLVED, LEARNING_TIMESTEPS, LEARNING_SEEDS = 475, 200_000, 5
CHECK_EVERY, MOST_TIMESTEPS = 5_000, 200_000
MOST_MEMORY = 1e9
DEVICE, THROUGHPUT_NAME, HOST, LEARN = "odrpo, preset", "odrpo, throughput", "odrpo, host", "learn"
SB3, SB3_ALL = "SB3 PPO", "SB3 PPO, all threads"
REJAX, REJAX_SAME = "rejax PPO", "rejax PPO, same work"
COLD, WARM = "odrpo, cold cache", "odrpo, warm cache"
PACKAGES = ("odrpo", "jax", "optax", "gymnasium", "numpy")
SOLVE_HEADER = ["run", "median", "each seed", "timesteps", "100 more episodes"]


@dataclass(frozen=True)
class Options:
    """What to run, with what, and where to."""

    sb3_python: Path = Path(".peers/sb3/bin/python")
    """The interpreter that has Stable-Baselines3."""
    rejax_python: Path = Path(".peers/rejax/bin/python")
    """The interpreter that has rejax."""
    rounds: int = 3
    """How often each measurement is repeated; a round has a seed of its own."""
    quick: bool = False
    """One round with small budgets, to see that everything runs: its numbers mean nothing."""
    out: Path = Path("results/benchmarks")
    """Where training.json and training.md go (training_quick.json and training_quick.md)."""


def speed_runs(options: Options) -> dict[str, Callable[[], Result]]:
    """What is measured in each round for its timesteps a second alone."""
    share = 0.1 if options.quick else 1
    device, host, fast, peer = (int(share * n) for n in (150_000, 30_000, 400_000, 200_000))
    speed = partial(ours, "speed")
    found: dict[str, Callable[[], Result]] = {}
    for metric in METRICS:
        one = partial(speed, metric=metric)
        found[f"{DEVICE}, {metric}"] = partial(one, timesteps=device)
        found[f"{HOST}, {metric}"] = partial(one, timesteps=host, host_envs=SB3_ENVS)
    found[THROUGHPUT_NAME] = partial(
        speed, metric=THROUGHPUT_METRIC, timesteps=fast, settings=THROUGHPUT
    )
    if options.sb3_python.exists():
        found[SB3_ALL] = partial(run, options.sb3_python, "sb3.py", "speed", SB3_ALL_THREADS)
    if options.rejax_python.exists():
        envs = {"num_envs": THROUGHPUT["num_envs"]}
        rejax = partial(run, options.rejax_python, "rejax_ppo.py", "speed")
        found[REJAX] = partial(rejax, {"timesteps": peer, "settings": envs})
        found[REJAX_SAME] = partial(rejax, {"timesteps": peer, "settings": envs | SAME_WORK})
    return found


def solve_cartpole(options: Options, seed: int) -> dict[str, Result]:
    """From a fresh process to a solved task: odrpo with its cache cold, then warm, and SB3."""
    found = {}
    goal = {"goal": SOLVED, "timesteps": 10_000 if options.quick else MOST_TIMESTEPS}
    for metric in METRICS:
        check = {"metric": metric, "every": CHECK_EVERY} | goal
        with tempfile.TemporaryDirectory() as cache:
            for kind in (COLD, WARM):
                started = {"seed": seed, "started": time.time()}
                found[f"{kind}, {metric}"] = ours("solve", cache=cache, **started, **check)
    if options.sb3_python.exists():
        how = SB3_ONE_THREAD | goal | {"seed": seed, "started": time.time()}
        found[SB3] = run(options.sb3_python, "sb3.py", "solve", how)
    return found


def measure(options: Options, console: Console) -> Results:
    """All rounds: what each run printed in each."""
    results: Results = {}
    for seed in range(1 if options.quick else options.rounds):
        for name, measured in speed_runs(options).items():
            keep(results, name, measured(), console)
        for name, result in solve_cartpole(options, seed).items():
            keep(results, name, result, console)
    budget = LEARNING_TIMESTEPS // 10 if options.quick else LEARNING_TIMESTEPS
    learn = partial(ours, "learn", metric=THROUGHPUT_METRIC, settings=THROUGHPUT)
    keep(results, LEARN, learn(timesteps=budget, seeds=LEARNING_SEEDS), console)
    return results


def compare_time(results: Results, what: str, name: str, goal: float) -> Row:
    """Seconds to a solved task beside those of SB3."""
    mine, theirs = middle(results, name, "seconds"), middle(results, SB3, "seconds")
    row = Row(what, seconds(mine), f"{SB3}: {seconds(theirs)}", goal=f">= {goal:g}")
    if math.isfinite(theirs):
        row.ratio = theirs / mine
        row.met = row.ratio >= goal
    return row


def seconds(value: float) -> str:
    """A time in words."""
    return f"{value:.1f} s" if math.isfinite(value) else "not solved"


def compare(results: Results) -> list[Row]:
    """Every goal whose peer was there."""
    rows = []
    if SB3 in results:
        sb3 = fastest(results, SB3, SB3_ALL)
        for metric in METRICS:
            name = f"{DEVICE}, {metric}"
            rows.append(compare_speed(results, f"on the device, preset, {metric}", name, sb3, 40))
        what = f"on the device, throughput setting, {THROUGHPUT['num_envs']} envs"
        rows.append(compare_speed(results, what, THROUGHPUT_NAME, sb3, 100))
    if REJAX in results:
        what = f"throughput setting, {THROUGHPUT['num_envs']} envs each"
        rows.append(compare_speed(results, what, THROUGHPUT_NAME, REJAX, 1.5))
        rows.append(compare_speed(results, what, THROUGHPUT_NAME, REJAX_SAME, None))
    learned = results[LEARN][0]
    listed = " ".join(f"{value:.4g}" for value in learned["returns"])
    what = f"throughput setting, greedy return after {learned['timesteps']:,} timesteps, each seed"
    enough = min(learned["returns"]) >= SOLVED
    rows.append(Row(what, listed, goal=f">= {SOLVED}", met=enough))
    if SB3 in results:
        for metric in METRICS:
            what = f"Gymnasium vector env, {SB3_ENVS} envs, {metric}"
            rows.append(compare_speed(results, what, f"{HOST}, {metric}", sb3, 3))
        for metric in METRICS:
            for kind, goal in ((COLD, 3), (WARM, 10)):
                what = f"fresh process to solved, {kind.split(', ')[1]}, {metric}"
                rows.append(compare_time(results, what, f"{kind}, {metric}", goal))
    peak = max(part.get("peak_memory", 0) for parts in results.values() for part in parts)
    limit = f"< {MOST_MEMORY / 1e9:g} GB"
    what = "peak memory, the largest of our processes"
    rows.append(Row(what, f"{peak / 1e9:.2f} GB", goal=limit, met=peak < MOST_MEMORY))
    return rows


def describe_solve(name: str, parts: list[Result]) -> list[str]:
    """A run in words, as `SOLVE_HEADER` has it."""
    times = [math.inf if part["seconds"] is None else part["seconds"] for part in parts]
    return [
        name,
        seconds(median(times)),
        ", ".join(seconds(value) for value in times),
        " ".join(f"{part['timesteps']:,}" for part in parts),
        " ".join(f"{part['confirmed']:.4g}" for part in parts),
    ]


def report(facts: dict[str, Any], results: Results, rows: list[Row], missing: list[str]) -> str:
    """All of it in Markdown."""
    solves = [describe_solve(k, v) for k, v in results.items() if "seconds" in v[0]]
    settings = ", ".join(f"{name} {value}" for name, value in THROUGHPUT.items())
    how = (
        f"Median of {facts['rounds']} rounds, a fresh process each. SB3 PPO: MlpPolicy, "
        f"{SB3_ENVS} envs, its defaults; one thread of torch, or all where that is faster. "
        f"rejax PPO: {THROUGHPUT['num_envs']} envs, its defaults, no evaluation while timed; same "
        "work: our steps, minibatches, epochs, rate and layers. "
        f"Throughput setting ({THROUGHPUT_METRIC}): {settings}."
    )
    checks = (
        f"Solved: the greedy policy's mean over 20 episodes is {SOLVED} or more. odrpo is checked "
        f"every {CHECK_EVERY:,} timesteps, SB3 after each of its updates (16,384 timesteps), "
        f"{SB3_ENVS} episodes at a time. The clock starts before the process does. Then, off the "
        "clock, 100 more episodes in Gymnasium's own CartPole tell whether it was luck."
    )
    parts = ["# Training speed, CartPole-v1", heading(facts)]
    parts += [*missing, verdicts(rows), how]
    parts += ["## Speed", speeds(results)]
    parts += ["## To a solved task", checks, table(SOLVE_HEADER, solves)]
    parts += ["## Versions", versions(facts)]
    return "\n\n".join(parts) + "\n"


def main(options: Options) -> None:
    """Measure, judge, write."""
    console = Console(width=160)
    missing = missing_peers({SB3: options.sb3_python, REJAX: options.rejax_python})
    for sentence in missing:
        console.print(sentence)
    began = time.perf_counter()
    results = measure(options, console)
    facts = setting(results, PACKAGES, (SB3, REJAX)) | {
        "rounds": 1 if options.quick else options.rounds,
        "throughput": THROUGHPUT,
        "seconds": time.perf_counter() - began,
    }
    rows = compare(results)
    text = report(facts, results, rows, missing)
    target = options.out / ("training_quick" if options.quick else "training")
    data = facts | {"rows": [asdict(row) for row in rows], "results": results}
    publish(text, data, target, console)


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))

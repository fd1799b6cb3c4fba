"""How fast odrpo trains with continuous actions, beside SBX and Stable-Baselines3, in one run.

Every measurement is a process of its own, one at a time, in turn, round after round, and the median
of the rounds is reported. Timesteps a second are those of training on HalfCheetah as a user calls
it, once learning has started and all is compiled. The parts of an update are timed without an
environment, each many times in one compiled program. Run it on a machine that does nothing else:
several threads of torch suffer from company far more than XLA, which would flatter us; the speed of
Stable-Baselines3 is the better of one thread and all. Peers live in environments of their own,
which `make peers` sets up.
"""

import sys
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
    missing_peers,
    publish,
    setting,
    speeds,
    table,
    verdicts,
    versions,
)

ENV = "HalfCheetah-v5"
METRICS = ("kl", "wasserstein")
LAYERS, MINIBATCH = (256, 256), 256
WARM_UP = 500
OFF_POLICY: dict[str, Any] = {
    "hidden": LAYERS,
    "minibatch": MINIBATCH,
    "members": 2,
    "num_envs": 1,
    "num_steps": 8,
    "updates_per_step": 1,
    "candidates": 16,
    "candidate_ascent": 0.0,
    "embedding": 0,
    "next_actions": 1,
    "projection_states": 32,
    "warm_up": WARM_UP,
}
SAC: dict[str, Any] = {
    "policy_kwargs": {"net_arch": LAYERS},
    "batch_size": MINIBATCH,
    "learning_starts": WARM_UP,
    "train_freq": 1,
    "gradient_steps": 1,
}
# As we collect and compute them: several timesteps, then as many updates together.
SAC_TOGETHER = SAC | {
    "train_freq": OFF_POLICY["num_steps"],
    "gradient_steps": OFF_POLICY["num_steps"],
}
ENVS = 8
ON_POLICY: dict[str, Any] = {"critic": "network"}
# The batch, the minibatch and the epochs of PPO's defaults, over all states of a batch.
LIKE_PPO: dict[str, Any] = ON_POLICY | {
    "num_steps": 2048,
    "minibatch": 64,
    "projection_states": None,
    "policy_epochs": 10,
    "critic_epochs": 10,
    "critic_window": 1,
}
LIKE_PPO_METRIC = "kl"
REPLAY, BATCH, BATCH_LIKE_PPO = "odrpo", "odrpo, on-policy", "odrpo, on-policy, PPO's batch"
PARTS = "parts of an update"
SBX, SBX_TOGETHER = "SBX SAC", "SBX SAC, 8 updates a call"
SB3, SB3_ALL = "SB3 SAC", "SB3 SAC, all threads"
PPO, PPO_ALL = "SB3 PPO", "SB3 PPO, all threads"
PACKAGES = ("odrpo", "jax", "optax", "gymnasium", "mujoco", "numpy")
MEANINGS = {
    "update": "the whole update, critic step and actor step side by side",
    "critic": "critic step alone: next actions, targets, gradient",
    "critic_gradient": "of it, without drawing next actions",
    "actor": "actor step alone: the four below",
    "candidates": "drawing candidates",
    "values": "their values",
    "exact_step": "the exact solve",
    "projection": "the projection",
}
PART_HEADER = ["part", "ms", "each round", "% of the update"]


@dataclass(frozen=True)
class Options:
    """What to run, with what, and where to."""

    sb3_python: Path = Path(".peers/sb3/bin/python")
    """The interpreter that has Stable-Baselines3."""
    sbx_python: Path = Path(".peers/sbx/bin/python")
    """The interpreter that has SBX."""
    rounds: int = 3
    """How often each measurement is repeated."""
    quick: bool = False
    """One round with small budgets, to see that everything runs: its numbers mean nothing."""
    out: Path = Path("results/benchmarks")
    """Where continuous.json and continuous.md go (continuous_quick.json and the like)."""


def runs(options: Options) -> dict[str, Callable[[], Result]]:
    """What is measured in each round."""
    return off_policy_runs(options) | part_runs(options) | on_policy_runs(options)


def off_policy_runs(options: Options) -> dict[str, Callable[[], Result]]:
    """One environment, an update a timestep."""
    timesteps, untimed = (100, 40) if options.quick else (3000, 400)
    budget: dict[str, Any] = {"env": ENV, "timesteps": timesteps, "untimed": WARM_UP + untimed}
    found: dict[str, Callable[[], Result]] = {}
    for metric in METRICS:
        found[f"{REPLAY}, {metric}"] = partial(
            ours, "speed", metric=metric, settings=OFF_POLICY, **budget
        )
    if options.sbx_python.exists():
        sbx, how = partial(run, options.sbx_python, "sac.py"), budget | {"library": "sbx"}
        found[SBX] = partial(sbx, how | {"settings": SAC})
        found[SBX_TOGETHER] = partial(sbx, how | {"settings": SAC_TOGETHER})
    if options.sb3_python.exists():
        sb3 = partial(run, options.sb3_python, "sac.py")
        how = budget | {"library": "stable_baselines3", "settings": SAC}
        found[SB3] = partial(sb3, how | {"threads": 1})
        found[SB3_ALL] = partial(sb3, how | {"threads": None})
    return found


def part_runs(options: Options) -> dict[str, Callable[[], Result]]:
    """The update alone, in parts."""
    how = {"settings": OFF_POLICY} | (
        {"iterations": 10, "repeats": 1} if options.quick else {"iterations": 200, "repeats": 7}
    )
    return {
        f"{PARTS}, {metric}": partial(
            run, sys.executable, "our_update.py", how | {"metric": metric}
        )
        for metric in METRICS
    }


def on_policy_runs(options: Options) -> dict[str, Callable[[], Result]]:
    """Several environments, nothing kept from batch to batch but what the critic's window holds."""
    less = {"num_steps": 64} if options.quick else {}
    steps = ENVS * (LIKE_PPO | less)["num_steps"]
    batch = partial(ours, "speed", env=ENV, host_envs=ENVS, timesteps=2 * steps)
    found: dict[str, Callable[[], Result]] = {}
    for metric in METRICS:
        found[f"{BATCH}, {metric}"] = partial(batch, metric=metric, settings=ON_POLICY | less)
    found[BATCH_LIKE_PPO] = partial(batch, metric=LIKE_PPO_METRIC, settings=LIKE_PPO | less)
    if options.sb3_python.exists():
        ppo = {"env": ENV, "num_envs": ENVS}
        if options.quick:
            ppo["n_steps"] = less["num_steps"]
        script = partial(run, options.sb3_python, "sb3.py", "speed")
        found[PPO] = partial(script, ppo | {"threads": 1})
        found[PPO_ALL] = partial(script, ppo | {"threads": None})
    return found


def measure(options: Options, console: Console) -> Results:
    """All rounds: what each run printed in each."""
    results: Results = {}
    for _ in range(1 if options.quick else options.rounds):
        for name, measured in runs(options).items():
            keep(results, name, measured(), console)
    return results


def compare(results: Results) -> list[Row]:
    """Every goal whose peer was there."""
    rows = []
    for metric in METRICS:
        what, name = f"{ENV}, an update a timestep, {metric}", f"{REPLAY}, {metric}"
        if SBX in results:
            rows.append(compare_speed(results, what, name, SBX, 1.3))
            rows.append(compare_speed(results, what, name, SBX_TOGETHER, None))
        if SB3 in results:
            rows.append(compare_speed(results, what, name, fastest(results, SB3, SB3_ALL), 2))
    for metric in METRICS:
        rows += compare_parts(results[f"{PARTS}, {metric}"], metric)
    if PPO in results:
        ppo = fastest(results, PPO, PPO_ALL)
        for metric in METRICS:
            what = f"{ENV}, {ENVS} envs, on-policy, {metric}"
            rows.append(compare_speed(results, what, f"{BATCH}, {metric}", ppo, 2))
        what = f"{ENV}, {ENVS} envs, on-policy, PPO's batch and epochs, {LIKE_PPO_METRIC}"
        rows.append(compare_speed(results, what, BATCH_LIKE_PPO, ppo, None))
    return rows


def compare_parts(rounds: list[Result], metric: str) -> list[Row]:
    """The parts of an update beside each other; the peer of the actor step is the critic step."""

    def ratio(part: str, to: str) -> float:
        return median(one[part] / one[to] for one in rounds)

    cost, strict = ratio("actor", "critic"), ratio("actor", "critic_gradient")
    share = ratio("exact_step", "update")
    step = f"time of the actor step, {metric}"
    return [
        Row(step, f"{cost:.2f} of", "our critic step", 1 / cost, "<= 1 of it", cost <= 1),
        Row(step, f"{strict:.2f} of", "the same without drawing next actions", 1 / strict),
        Row(
            f"the exact solve's share of an update, {metric}",
            f"{100 * share:.2g} %",
            goal="< 3 %",
            met=share < 0.03,
        ),
    ]


def describe_parts(rounds: list[Result]) -> str:
    """The parts of an update, as `PART_HEADER` has it."""
    lines = []
    for part, meaning in MEANINGS.items():
        times = [1000 * one[part] for one in rounds]
        share = median(100 * one[part] / one["update"] for one in rounds)
        each = " ".join(f"{value:.3g}" for value in times)
        lines.append([meaning, f"{median(times):.3g}", each, f"{share:.1f}"])
    return table(PART_HEADER, lines)


def listed(settings: dict[str, Any]) -> str:
    """Settings in words."""
    return ", ".join(f"{name} {value}" for name, value in settings.items())


def report(facts: dict[str, Any], results: Results, rows: list[Row], missing: list[str]) -> str:
    """All of it in Markdown."""
    how = (
        f"Median of {facts['rounds']} rounds, a fresh process each, past the start of learning and "
        f"all compilation. An update a timestep: one environment; odrpo: our preset for {ENV} with "
        f"{listed(OFF_POLICY)}; that is, {OFF_POLICY['num_steps']} timesteps, then as many "
        f"updates. SAC: {listed(SAC)}, else its defaults; 8 updates a call: "
        "train_freq and gradient_steps are 8. SB3: one thread of torch, or all where that is "
        "faster. "
        f"On-policy: {ENVS} envs of Gymnasium, odrpo with {listed(ON_POLICY)} and its defaults "
        "for that, which are 256 timesteps an environment, 5 epochs of the policy over 1024 "
        "states, 3 of the critic over two batches; PPO's batch and epochs: "
        f"{listed(LIKE_PPO)}. PPO: its defaults, which are 2048 timesteps an environment, "
        "minibatches of 64, 10 epochs. All have layers of 64."
    )
    timed = (
        f"{OFF_POLICY['candidates']} candidates at {OFF_POLICY['projection_states']} states, "
        f"{MINIBATCH} transitions for the critic, 17 observations, 6 actions; made-up transitions. "
        "The two steps run at the same time in an update, here each alone; each part of them is "
        "compiled on its own. So they do not add up to the whole."
    )
    parts = [f"# Training speed with continuous actions, {ENV}"]
    parts += [heading(facts), *missing, verdicts(rows), how]
    parts += ["## Speed", speeds(results), "## Parts of an update", timed]
    for metric in METRICS:
        parts += [f"{metric}:", describe_parts(results[f"{PARTS}, {metric}"])]
    parts += ["## Versions", versions(facts)]
    return "\n\n".join(parts) + "\n"


def main(options: Options) -> None:
    """Measure, judge, write."""
    console = Console(width=160)
    missing = missing_peers({SBX: options.sbx_python, SB3: options.sb3_python})
    for sentence in missing:
        console.print(sentence)
    began = time.perf_counter()
    results = measure(options, console)
    facts = setting(results, PACKAGES, (SBX, SB3)) | {
        "rounds": 1 if options.quick else options.rounds,
        "off_policy": OFF_POLICY,
        "sac": SAC,
        "on_policy": ON_POLICY,
        "seconds": time.perf_counter() - began,
    }
    rows = compare(results)
    text = report(facts, results, rows, missing)
    data = facts | {"rows": [asdict(row) for row in rows], "results": results}
    target = options.out / ("continuous_quick" if options.quick else "continuous")
    publish(text, data, target, console)


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))

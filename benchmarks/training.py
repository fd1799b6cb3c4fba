"""How fast odrpo trains beside Stable-Baselines3 and rejax, all on CartPole, in one run.

Every measurement is a process of its own, one at a time, in turn, round after round, and the median
of the rounds is reported. Timesteps a second are those of training as a user calls it, compilation
apart; the time to a solved task begins with the process, imports and compilation included. Run it
on a machine that does nothing else: several threads of torch suffer from company far more than XLA,
which would flatter us; so SB3 trains with one thread, and its speed is the better of one and all.
Peers live in environments of their own, which `make peers` sets up.
"""

import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import date
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import tyro
from rich.console import Console
from rich.markdown import Markdown

# This process stays small: what it has imported would count in the peak memory of its children.
Result = dict[str, Any]
Results = dict[str, list[Result]]
Lines = list[list[str]]

SCRIPTS = Path(__file__).parent / "peers"
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
CACHED = {
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}
DEVICE, THROUGHPUT_NAME, HOST, LEARN = "odrpo, preset", "odrpo, throughput", "odrpo, host", "learn"
SB3, SB3_ALL = "SB3 PPO", "SB3 PPO, all threads"
REJAX, REJAX_SAME = "rejax PPO", "rejax PPO, same work"
COLD, WARM = "odrpo, cold cache", "odrpo, warm cache"
PACKAGES = ("odrpo", "jax", "optax", "gymnasium", "numpy")
HEADER = ["what", "ours", "peer", "times better", "goal", "verdict"]
RUN_HEADER = ["run", "timesteps/s", "each round", "first update, s"]
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


@dataclass
class Row:
    """One comparison: `ratio` is how many times better ours is than the peer's."""

    what: str
    ours: str
    peer: str = ""
    ratio: float | None = None
    goal: str = ""
    met: bool | None = None


def run(python: Path | str, script: str, *arguments: Any, cache: str | None = None) -> Result:
    """What a script prints in a fresh process; JAX has a compilation cache only if one is given."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("JAX_")}
    if cache is not None:
        environment |= CACHED | {"JAX_COMPILATION_CACHE_DIR": cache}
    words = [word if isinstance(word, str) else json.dumps(word) for word in arguments]
    command = [str(python), str(SCRIPTS / script), *words]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def ours(task: str, cache: str | None = None, **settings: Any) -> Result:
    """A measurement of odrpo."""
    return run(sys.executable, "ours.py", task, settings, cache=cache)


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
        found[SB3_ALL] = partial(run, options.sb3_python, "sb3_ppo.py", "speed", SB3_ALL_THREADS)
    if options.rejax_python.exists():
        envs = {"num_envs": THROUGHPUT["num_envs"]}
        rejax = partial(run, options.rejax_python, "rejax_ppo.py")
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
        found[SB3] = run(options.sb3_python, "sb3_ppo.py", "solve", how)
    return found


def measure(options: Options, console: Console) -> Results:
    """All rounds: what each run printed in each."""
    results: Results = {}

    def keep(name: str, result: Result) -> None:
        shown = {k: v for k, v in result.items() if k != "versions"}
        console.print(f"{name}: {shown}", highlight=False)
        results.setdefault(name, []).append(result)

    for seed in range(1 if options.quick else options.rounds):
        for name, measured in speed_runs(options).items():
            keep(name, measured())
        for name, result in solve_cartpole(options, seed).items():
            keep(name, result)
    budget = LEARNING_TIMESTEPS // 10 if options.quick else LEARNING_TIMESTEPS
    learn = partial(ours, "learn", metric=THROUGHPUT_METRIC, settings=THROUGHPUT)
    keep(LEARN, learn(timesteps=budget, seeds=LEARNING_SEEDS))
    return results


def middle(results: Results, name: str, key: str) -> float:
    """The median over the rounds; a task that was not solved took forever."""
    return median(math.inf if part[key] is None else part[key] for part in results[name])


def compare_speed(results: Results, what: str, name: str, peer: str, goal: float | None) -> Row:
    """Timesteps a second beside those of a peer."""
    mine, theirs = middle(results, name, "speed"), middle(results, peer, "speed")
    ratio = mine / theirs
    row = Row(what, f"{mine:,.0f} /s", f"{peer}: {theirs:,.0f} /s", ratio)
    if goal is not None:
        row.goal, row.met = f">= {goal:g}", ratio >= goal
    return row


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
        sb3 = max(SB3, SB3_ALL, key=lambda name: middle(results, name, "speed"))
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


def describe(row: Row) -> list[str]:
    """A row in words, as `HEADER` has it."""
    verdict = {None: "not measured" if row.goal else "no goal", True: "met", False: "NOT MET"}
    ratio = "" if row.ratio is None else f"{row.ratio:.3g}"
    return [row.what, row.ours, row.peer, ratio, row.goal, verdict[row.met]]


def describe_speed(name: str, parts: list[Result]) -> list[str]:
    """A run in words, as `RUN_HEADER` has it."""
    speeds = [part["speed"] for part in parts]
    firsts = [part["first_update"] for part in parts if "first_update" in part]
    first = f"{median(firsts):.2f}" if firsts else ""
    return [name, f"{median(speeds):,.0f}", " ".join(f"{value:,.0f}" for value in speeds), first]


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


def table(header: list[str], lines: Lines) -> str:
    """Lines of words in Markdown."""
    rule = ["---"] * len(header)
    return "\n".join(f"| {' | '.join(line)} |" for line in [header, rule, *lines])


def missing_peers(options: Options) -> list[str]:
    """A sentence for each peer that is not installed."""
    peers = {SB3: options.sb3_python, REJAX: options.rejax_python}
    return [
        f"{name}: no environment at {python}, its rows are left out (`make peers` sets it up)."
        for name, python in peers.items()
        if not python.exists()
    ]


def report(setting: dict[str, Any], results: Results, rows: list[Row], missing: list[str]) -> str:
    """All of it in Markdown."""
    speeds = [describe_speed(k, v) for k, v in results.items() if "speed" in v[0]]
    solves = [describe_solve(k, v) for k, v in results.items() if "seconds" in v[0]]
    versions = "; ".join(
        f"{who}: " + ", ".join(f"{name} {number}" for name, number in what.items())
        for who, what in setting["versions"].items()
    )
    settings = ", ".join(f"{name} {value}" for name, value in THROUGHPUT.items())
    how = (
        f"Median of {setting['rounds']} rounds, a fresh process each. SB3 PPO: MlpPolicy, "
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
    parts = ["# Training speed, CartPole-v1", f"{setting['date']}, {setting['cpus']} CPUs."]
    parts += [*missing, table(HEADER, [describe(row) for row in rows]), how]
    parts += ["## Speed", table(RUN_HEADER, speeds)]
    parts += ["## To a solved task", checks, table(SOLVE_HEADER, solves)]
    parts += ["## Versions", versions + "."]
    return "\n\n".join(parts) + "\n"


def main(options: Options) -> None:
    """Measure, judge, write."""
    console = Console(width=160)
    missing = missing_peers(options)
    for sentence in missing:
        console.print(sentence)
    began = time.perf_counter()
    results = measure(options, console)
    rows = compare(results)
    own = {name: version(name) for name in PACKAGES} | {"python": platform.python_version()}
    peers = {k: parts[0]["versions"] for k, parts in results.items() if "versions" in parts[0]}
    peers = {name: peers[name] for name in (SB3, REJAX) if name in peers}
    setting = {
        "date": date.today().isoformat(),
        "cpus": os.cpu_count(),
        "versions": {"odrpo": own} | peers,
        "rounds": 1 if options.quick else options.rounds,
        "throughput": THROUGHPUT,
        "seconds": time.perf_counter() - began,
    }
    text = report(setting, results, rows, missing)
    console.print(Markdown(text))
    console.print(f"{setting['seconds']:.0f} s in all")

    options.out.mkdir(parents=True, exist_ok=True)
    target = options.out / ("training_quick" if options.quick else "training")
    target.with_suffix(".md").write_text(text)
    data = setting | {"rows": [asdict(row) for row in rows], "results": results}
    target.with_suffix(".json").write_text(json.dumps(data, indent=1) + "\n")


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))

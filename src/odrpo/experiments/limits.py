"""What the records can't say, in Markdown: it comes before what they do."""

import re
from collections.abc import Sequence

from odrpo.experiments import published
from odrpo.experiments.record import Record
from odrpo.experiments.results import LONGER, NAMES, Results, counts_episodes
from odrpo.experiments.runs import BASELINES, GROUPS, METHODS, OURS
from odrpo.experiments.table import counted, number
from odrpo.presets import TASKS

ENVIRONMENTS = (
    "**Environments** are not the paper's: Taxi-v4, CliffWalking-v1, LunarLanderContinuous-v3 and "
    "MuJoCo v5 instead of v3, v0, v2 and v2. MuJoCo v5 has another simulator and other rewards and "
    "bodies in places (both of Walker2d's feet have the same friction, the reward for being "
    "healthy is paid only to the healthy, Ant observes contact forces), so that a number beside "
    "the paper's is not of the same task. CliffWalking has a limit of 200 steps here, since it has "
    "none of its own and the paper names none. NChain-v0, which Gymnasium has dropped, is ours, by "
    "the same rules."
)
EPISODES = (
    " On CartPole and Acrobot the paper counts episodes, which are longer or shorter by what a "
    "method has learned: tables show both counts."
)
SETTINGS = (
    "**Settings**: ours are tuned, on other seeds than are shown; the baselines have what RL "
    "Baselines3 Zoo has published, and their defaults where it has nothing, which tables mark (the "
    "tabular tasks, whose states they see one-hot; Reacher and InvertedPendulum for TRPO and A2C). "
    "Networks are not of one size: theirs 64 x 64 or what the Zoo names, up to 256 x 256; ours "
    "32 x 32 or 64 x 64 with discrete actions, 128 x 128 with continuous ones."
)
NONE_OF_THE_PAPERS = (
    "**Tasks**: none of these is the paper's, so that its numbers are not beside them; ours have "
    "the defaults, which nobody has tuned for a task (but for the noise of MountainCarContinuous)."
)
A_MODEL = (
    "**Tabular tasks**: our presets learn a model of the transitions, which TRPO, PPO and A2C do "
    'not; the rows "without a model" do not either.'
)
REPLAY = (
    "**Continuous actions**: ours learns from replay, as the paper's does, with an update a "
    "timestep; TRPO, PPO and A2C learn from each sample once or a few times. How much of the lead "
    "over them is due to that is not measured here; SAC, TD3 and TQC, which learn from replay too, "
    "are in a table of their own."
)
SHORT = (
    "**Short runs**: these have a tenth of the timesteps or so, to see that everything works. They "
    "are not to be compared with the paper, nor with each other."
)
COMMIT = re.compile(r"[0-9a-f]{7,40}\+?")


def limits(records: Sequence[Record]) -> list[str]:
    """All of them."""
    results = Results(records)
    if not results.envs:
        return [NONE_OF_THE_PAPERS]
    tabular, continuous = (
        any(env in GROUPS[group] for env in results.envs) for group in ("tabular", "continuous")
    )
    short = any(r.timesteps < TASKS[r.env].timesteps for r in records if r.env in TASKS)
    told = [
        SHORT if short else "",
        ENVIRONMENTS,
        _budgets(results),
        SETTINGS,
        A_MODEL if tabular else "",
        REPLAY if continuous else "",
        f"**Seeds** of each method: {_seeds(records)}.",
        _versions(records),
        _not_run(results),
        _below_goals(results),
    ]
    return [text for text in told if text]


def _budgets(results: Results) -> str:
    every = ", ".join(f"{e} {results.steps(e).removesuffix(' steps')}" for e in results.envs)
    told = (
        f"**Budgets**: every method has the same timesteps on a task, {every}. With continuous "
        "actions these are fewer than the paper's where the table says so."
    )
    longer = {env: len(results.of(env, f"odrpo-kl+{LONGER}")) for env in results.envs}
    whole = [f"{env} ({counted(seeds, 'seed')})" for env, seeds in longer.items() if seeds]
    if whole:
        told += f" {NAMES['odrpo-kl']} has all of the paper's on {_of(whole)} too."
    return told + (EPISODES if any(map(counts_episodes, results.envs)) else "")


def _seeds(records: Sequence[Record]) -> str:
    """How many each method has, where that is not the same everywhere."""
    counts: dict[str, list[int]] = {}
    for env in TASKS:
        labels = {r.label for r in records if r.env == env and not r.variant}
        counts[env] = [sum(r.label == k and r.env == env for r in records) for k in labels]
    known = {env: own for env, own in counts.items() if own}
    return ", ".join(
        f"{env} {min(own)}" if min(own) == max(own) else f"{env} {min(own)} to {max(own)}"
        for env, own in known.items()
    )


def _versions(records: Sequence[Record]) -> str:
    commits = sorted({record.commit for record in records if COMMIT.fullmatch(record.commit)})
    if not commits:
        return ""
    return (
        f"**Versions**: these runs are of {counted(len(commits), 'commit')}, {_of(commits)}; "
        "each record says of which. What a later one changes in random numbers, such as how "
        "environments are seeded, makes other episodes of the same seed."
    )


def _not_run(results: Results) -> str:
    """The methods that have no records on tasks that have some."""
    found: dict[tuple[str, ...], list[str]] = {}
    for method in METHODS:
        envs = tuple(env for env in results.envs if not results.of(env, method))
        found.setdefault(envs, []).append(method)
    found.pop((), None)
    if not found:
        return ""
    missing = [f"{_of([NAMES[m] for m in own])} on {_of(envs)}" for envs, own in found.items()]
    theirs = any(method in BASELINES for own in found.values() for method in own)
    source = (
        " What tables have there is the paper's or RL Zoo's, and says so; the Zoo's agents are "
        "trained for longer."
    )
    return f"**Not run here**: {'; '.join(missing)}.{source if theirs else ''}"


def _below_goals(results: Results) -> str:
    found = []
    for env in results.envs:
        labels = [label for m in OURS for label in (m, f"{m}+{LONGER}")]
        every = [results.mean_last_tenth(env, label) for label in labels]
        means = [mean for mean in every if mean is not None]
        if means and max(means) < published.GOALS[env]:
            found.append(f"{env} {number(max(means))} ({number(published.GOALS[env])})")
    if not found:
        return ""
    return f"**Below our goals**, which are for the paper's budgets, in training: {_of(found)}."


def _of(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)

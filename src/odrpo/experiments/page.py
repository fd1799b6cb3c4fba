"""The page of results: what was run, all tables and figures, what agrees with the paper."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from odrpo.experiments import published
from odrpo.experiments.figures import CERTIFICATES, CURVES, drawable
from odrpo.experiments.findings import Findings
from odrpo.experiments.record import UPDATES, Record
from odrpo.experiments.runs import GROUPS, METHODS, OURS
from odrpo.experiments.table import Table, counted, number
from odrpo.experiments.tables import LONGER, NAMES, Results, counts_episodes, steps
from odrpo.presets import TASKS

ENVIRONMENTS = (
    "**Environments** are those of today: Taxi-v4, CliffWalking-v1, LunarLanderContinuous-v3 and "
    "MuJoCo v5 instead of v3, v0, v2 and v2. CliffWalking has a limit of 200 steps here, since it "
    "has none of its own and the paper names none. NChain-v0, which Gymnasium has dropped, is "
    "ours, by the same rules."
)
EPISODES = (
    " On CartPole and Acrobot the paper counts episodes, which are longer or shorter by what a "
    "method has learned: tables show both counts."
)
SETTINGS = (
    "**Settings**: ours are tuned, on other seeds than are shown; the baselines have what RL "
    "Baselines3 Zoo has published, and their defaults where it has nothing (the tabular tasks, "
    "whose states they see one-hot; Reacher and InvertedPendulum for TRPO and A2C). Networks are "
    "not of one size: theirs 64 x 64 or what the Zoo names, up to 256 x 256; ours 32 x 32 or "
    "64 x 64 with discrete actions, 128 x 128 with continuous ones."
)
NONE_OF_THE_PAPERS = (
    "**Tasks**: none of these is the paper's, so that its numbers are not beside them; ours have "
    "the defaults, which nobody has tuned for a task (but for the noise of MountainCarContinuous)."
)
A_MODEL = (
    "**Tabular tasks**: our presets learn a model of the transitions, which TRPO, PPO and A2C do "
    'not; the rows "without a model" do not either.'
)


COMMIT = re.compile(r"[0-9a-f]{7,40}\+?")


def results_page(
    records: Sequence[Record],
    findings: Findings,
    page: Path,
    figures: Path,
    tables: Sequence[Table],
    ablations: Sequence[Table],
) -> str:
    """All of it in Markdown; `page` is where it goes, so that its pictures are found."""
    where = Path(os.path.relpath(figures, page.parent)).as_posix()
    parts = [
        "# Results",
        "Made from the records of all runs by `odrpo reproduce`; `odrpo report` makes a page of "
        "them that can be explored. " + _facts(records),
        "## First, the limits",
        _bullets(limits(records)),
        *_compared(findings),
        "## Tables",
    ]
    for table in tables:
        parts += [f"### {table.title}", table.markdown()]
    drawn = drawable(Results(records))
    if any(name in drawn for name in CURVES):
        parts += [
            "## Learning curves",
            *(f"![Learning curves against {x}]({where}/{name}.png)" for name, x in CURVES.items()),
            "Interquartile means of the seeds with 95 % bootstrap intervals; each seed is thin. "
            "The lowest twentieth of all points, mostly beginnings, is cut off. Seconds are those "
            "of training, compilation included, as measured beside the timesteps; where a record "
            "has their sum alone, they are spread evenly. A run that is over, while others of its "
            "method go on, counts there as it ended.",
        ]
    if CERTIFICATES in drawn:
        parts += [
            "## Certificates",
            f"![beta*, distance of radius and gap over training]({where}/{CERTIFICATES}.png)",
            f"Of the updates of ours, at most {UPDATES} a run: the dual variable, how much of the "
            "radius the exact step used, and how far at most it can be from the best policy in the "
            "ball.",
        ]
    if ablations:
        parts += ["## One thing changed at a time"]
        for table in ablations:
            parts += [f"### {table.title}", table.markdown()]
    return "\n\n".join(parts) + "\n"


def _compared(findings: Findings) -> list[str]:
    """With the paper."""
    parts = []
    if findings.agrees:
        parts += ["## What agrees with the paper", _bullets(findings.agrees)]
    if findings.differs:
        parts += ["## What does not, and why", _bullets(findings.differs)]
    return parts


def _bullets(texts: Sequence[str]) -> str:
    return "\n".join(f"- {text}" for text in texts)


def _facts(records: Sequence[Record]) -> str:
    steps = sum(record.timesteps for record in records)
    hours = sum(record.seconds for record in records) / 3600
    taken = f"{steps / 1e6:.0f} million" if steps >= 1e6 else f"{steps:,}"
    cpus = sorted({f"{r.machine.get('cpu')}, {r.machine.get('cores')} cores" for r in records})
    return (
        f"{counted(len(records), 'run')}, {taken} timesteps, {hours:.1f} hours of one core "
        f"({'; '.join(cpus)})."
    )


def limits(records: Sequence[Record]) -> list[str]:
    """What these records can't say, in Markdown."""
    results = Results(records)
    if not results.envs:
        return [NONE_OF_THE_PAPERS]
    every = ", ".join(f"{env} {steps(results, env).removesuffix(' steps')}" for env in results.envs)
    told = [
        ENVIRONMENTS,
        f"**Budgets**: every method has the same timesteps on a task, {every}. With continuous "
        "actions these are fewer than the paper's where the table says so.",
        SETTINGS,
    ]
    longer = [env for env in results.envs if results.of(env, f"odrpo-kl+{LONGER}")]
    told[1] += (
        f" {NAMES['odrpo-kl']} has all of the paper's on {_of(longer)} too." if longer else ""
    )
    told[1] += EPISODES if any(map(counts_episodes, results.envs)) else ""
    if any(env in GROUPS["tabular"] for env in results.envs):
        told.append(A_MODEL)
    told.append(f"**Seeds** of each method: {_seeds(records)}.")
    commits = sorted({record.commit for record in records if COMMIT.fullmatch(record.commit)})
    if commits:
        told.append(
            f"**Versions**: these runs are of {counted(len(commits), 'commit')}, {_of(commits)}; "
            "each record says of which. What a later one changes in random numbers, such as how "
            "environments are seeded, makes other episodes of the same seed."
        )
    missing = [f"{_of(names)} on {_of(envs)}" for envs, names in _not_run(results).items()]
    if missing:
        told.append(
            f"**Not run here**: {'; '.join(missing)}. What tables have there is the paper's or "
            "RL Zoo's, and says so; the Zoo's agents are trained for longer."
        )
    below = _below_goals(results)
    if below:
        told.append(
            f"**Below our goals**, which are for the paper's budgets, in training: {_of(below)}."
        )
    return told


def _not_run(results: Results) -> dict[tuple[str, ...], list[str]]:
    """Tasks that have records, and the names of the methods that have none there."""
    found: dict[tuple[str, ...], list[str]] = {}
    for method in METHODS:
        envs = tuple(env for env in results.envs if not results.of(env, method))
        found.setdefault(envs, []).append(NAMES[method])
    found.pop((), None)
    return found


def _below_goals(results: Results) -> list[str]:
    found = []
    for env in results.envs:
        labels = [label for m in OURS for label in (m, f"{m}+{LONGER}")]
        means = [mean for label in labels if (mean := results.mean(env, label)) is not None]
        if means and max(means) < published.GOALS[env]:
            found.append(f"{env} {number(max(means))} ({number(published.GOALS[env])})")
    return found


def _of(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


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

"""The paper's tables from records: ours beside the paper's numbers and its baselines run here."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np

from odrpo.experiments import published, statistics
from odrpo.experiments.cells import (
    best_mean,
    difference,
    every_seed,
    known,
    medians,
    spreads,
    thousands,
)
from odrpo.experiments.record import Record
from odrpo.experiments.results import LONGER, NAMES, Results, counts_episodes
from odrpo.experiments.runs import BASELINES, ELSEWHERE, GROUPS, METHODS, OURS
from odrpo.experiments.table import Cell, Table, number
from odrpo.presets import BEYOND_DEFAULTS, TASKS

Measure = Callable[[Record], float]
Shown = Callable[[Sequence[np.ndarray]], list[Cell]]
HEADER = [NAMES[method] for method in METHODS]


def every_table(records: Sequence[Record]) -> list[Table]:
    """Those that the records have something for."""
    return [table for table in possible_tables(Results(records)) if table.rows]


def possible_tables(results: Results) -> list[Table]:
    """Those without rows too."""
    return [
        last_tenth(results),
        timesteps(results),
        against_baselines(results),
        taxi(results),
        wall_clock(results),
        greedy(results),
        from_replay(results),
        elsewhere(results),
    ]


def last_tenth(results: Results) -> Table:
    """The paper's appendix: all environments and methods."""
    rows = []
    for env in results.envs:
        cells = _of_methods(results, env, statistics.last_tenth, spreads)
        goal = Cell(number(published.GOALS[env]))
        rows.append([Cell(env), Cell(f"here, {results.budget(env)}"), *cells, goal])
        if counts_episodes(env):
            cells = _of_methods(results, env, statistics.last_tenth_of_all, spreads)
            rows.append([Cell(""), Cell(f"here, {results.steps(env)}"), *cells, Cell("")])
        rows += _of_variants(results, env, statistics.last_tenth, spreads)
        cells = [known(published.LAST_TENTH[env].get(m)) for m in METHODS]
        rows.append([Cell(""), Cell(f"paper, {published.BUDGET[env]}"), *cells, Cell("")])
    return Table(
        "last_tenth",
        "Mean return over the last tenth of the training episodes",
        ["task", "", *HEADER, "our goal"],
        rows,
        [
            "Mean ± standard deviation of the seeds, the number of seeds in brackets; in bold the "
            "best mean of a row that has several methods. Goals are for the paper's budgets. Where "
            "the paper counts episodes, methods that keep the pole up for longer have more "
            "timesteps in them: the row below is after the same timesteps for all. Methods share "
            "the random numbers of a seed: where several find the same policy, as on NChain, their "
            "episodes are the same.",
            *_of_defaults(rows),
        ],
    )


def timesteps(results: Results) -> Table:
    """Timesteps to the first mean of 20 episodes at a threshold."""
    rows = []
    for env in results.envs:
        threshold = TASKS[env].threshold
        if threshold is None:
            continue
        measure = partial(reached, threshold)
        cells = _of_methods(results, env, measure, medians)
        goal = Cell(thousands(published.THRESHOLD_GOALS[env]))
        rows.append([Cell(f"{env}, {threshold:g}"), Cell("here"), *cells, goal])
        rows += _of_variants(results, env, measure, medians)
        paper = published.TO_THRESHOLD[env]
        cells = [Cell(thousands(paper[m]) if m in paper else "-") for m in METHODS]
        rows.append([Cell(""), Cell("paper"), *cells, Cell("")])
    return Table(
        "timesteps",
        "Timesteps to the first mean of 20 episodes at a threshold",
        ["task, threshold", "", *HEADER, "our goal"],
        rows,
        [
            "Medians over seeds, in thousands, where more than half of them got there, the least "
            "in bold; in brackets how many did of how many.",
            *_of_defaults(rows),
        ],
    )


def reached(threshold: float, record: Record) -> float:
    """Timesteps to it."""
    return statistics.reached(record, threshold)


def against_baselines(results: Results) -> Table:
    """Our best method against the best of TRPO, PPO and A2C: run here, else the paper's."""
    rows = []
    for env in results.envs:
        ours = _means(results, env, OURS)
        if env in GROUPS["tabular"] or not ours:
            continue
        here = _means(results, env, BASELINES)
        paper = {m: v.mean for m, v in published.LAST_TENTH[env].items()}
        theirs = here or {m: paper[m] for m in BASELINES}
        mine, its = max(ours, key=ours.__getitem__), max(theirs, key=theirs.__getitem__)
        best = max(paper[m] for m in BASELINES)
        best_ours = max(v for m, v in paper.items() if m not in BASELINES)
        rows.append(
            [
                Cell(env),
                Cell(f"{number(ours[mine])} ({NAMES[mine]})"),
                Cell(f"{number(theirs[its])} ({NAMES[its]}, {'here' if here else 'paper'})"),
                Cell(difference(ours[mine], theirs[its])),
                Cell(_at_equal_timesteps(results, env)),
                Cell(difference(ours[mine], best)),
                Cell(difference(best_ours, best)),
            ]
        )
    return Table(
        "against_baselines",
        "Our best against the best baseline",
        [
            *("task", "ours", "best baseline", "difference", "after equal timesteps"),
            *("to the paper's best baseline", "the paper's difference"),
        ],
        rows,
        [
            "Last tenth of the training episodes: within the paper's number of them, and after "
            "the same timesteps for all where that is not the same. Where none was run here, the "
            "best baseline is the paper's, with its budget. The paper's best baselines had its "
            "budgets, ours those of the table above."
        ],
    )


def _means(results: Results, env: str, methods: Iterable[str]) -> dict[str, float]:
    """Of those that there are, of the last tenth."""
    found = {m: results.mean_last_tenth(env, m) for m in methods}
    return {m: mean for m, mean in found.items() if mean is not None}


def _at_equal_timesteps(results: Results, env: str) -> str:
    """Of the best of ours and of theirs that were run here; empty: the difference says it."""
    if not counts_episodes(env):
        return ""
    every = {m: results.values(env, m, statistics.last_tenth_of_all) for m in METHODS}
    ours = [every[m].mean() for m in OURS if len(every[m])]
    theirs = [every[m].mean() for m in BASELINES if len(every[m])]
    return difference(max(ours), max(theirs)) if ours and theirs else "-"


def taxi(results: Results) -> Table:
    """What the trained taxi does in an episode, over 1000 of each seed."""
    rows = []
    for label in [*METHODS, *(f"{m}+model-free" for m in OURS)]:
        records = results.of("Taxi-v4", label)
        if records:
            method, _, variant = label.partition("+")
            name = NAMES[method] + (", without a model" if variant else "")
            parts = [
                np.mean([r.evaluation[k] for r in records])
                for k in ("dropoffs", "illegal", "lengths", "returns")
            ]
            rows.append([Cell(name), Cell("here"), *(Cell(f"{part:.3f}") for part in parts)])
        if label in published.TAXI:
            paper = published.TAXI[label]
            rows.append([Cell(NAMES[label]), Cell("paper"), *(Cell(f"{v:g}") for v in paper)])
    return Table(
        "taxi",
        "The trained taxi, an episode on average",
        ["method", "", "drop-offs (+20)", "illegal (-10)", "timesteps", "return"],
        rows if any(row[1].text == "here" for row in rows) else [],
        [
            "Greedy policies, 1000 episodes of each seed. A timestep pays one of +20, -10 and -1, "
            "so that return = 21 drop-offs - 9 illegal - timesteps. The paper's rows are 20 "
            "drop-offs - 10 illegal - timesteps, which charges some timesteps twice."
        ],
    )


def wall_clock(results: Results) -> Table:
    """Seconds for 10^5 timesteps of training, by runs of a full budget."""
    envs = [env for env in results.envs if counts_episodes(env) or env in GROUPS["tabular"]]
    rows = []
    for method in METHODS:
        cells = [_seconds(results.of(env, method), TASKS[env].timesteps) for env in envs]
        if any(cell.text != "-" for cell in cells):
            paper = published.SECONDS.get(method)
            rows.append([Cell(NAMES[method]), *cells, Cell("-" if paper is None else f"{paper:g}")])
    return Table(
        "wall_clock",
        "Wall-clock for 100,000 timesteps of training, seconds",
        ["method", *envs, "paper, discrete tasks"],
        rows,
        [
            "Medians over seeds, in brackets the slowest of them, a process on one core each. The "
            "slowest of ours is the first one, which compiles: the others find what it compiled. "
            "Methods ran on different days, when the machine had more or less else to do: `make "
            "bench` compares them in one run."
        ],
    )


def _seconds(records: Sequence[Record], full: int) -> Cell:
    """For 10^5 timesteps; of what is shorter the compilation would be multiplied too."""
    values = [1e5 * r.seconds / r.taken for r in records if r.timesteps >= full]
    return Cell(f"{np.median(values):.1f} ({max(values):.1f})" if values else "-")


def greedy(results: Results) -> Table:
    """The final greedy policy, beside what is published of trained agents."""
    rows = []
    for env in results.envs:
        cells = _of_methods(results, env, statistics.greedy, spreads)
        optimum = Cell(number(TASKS[env].optimum))
        rows.append([Cell(env), Cell(f"here, {results.steps(env)}"), *cells, optimum])
        rows += _of_variants(results, env, statistics.greedy, spreads)
        if env in published.GREEDY:
            cells = [known(published.GREEDY[env].get(m)) for m in METHODS]
            rows.append([Cell(""), Cell("RL Zoo"), *cells, Cell("")])
    return Table(
        "greedy",
        "The final greedy policy",
        ["task", "", *HEADER, "optimum"],
        rows,
        [
            "Mean return over 30 to 1000 episodes in Gymnasium's own environments, ± standard "
            "deviation over seeds. All begin with the same seeds, so that ± 0 says that policies "
            "are equal, not that they are known without error: a mean may lie above the optimum. "
            f"{published.ZOO}, after 100 k to 5 M steps.",
            *_of_defaults(rows),
        ],
    )


def from_replay(results: Results) -> Table:
    """With continuous actions ours learns from replay: beside others that do."""
    rows = []
    for env in published.FROM_REPLAY:
        cells = [Cell(number(v)) for v in published.FROM_REPLAY[env].values()]
        for variant in ("", LONGER):
            label = f"odrpo-kl+{variant}" if variant else "odrpo-kl"
            own = results.values(env, label, statistics.greedy)
            if len(own):
                name = Cell("" if variant else env)
                ours = Cell(f"{spreads([own])[0].text} after {results.steps(env, variant)}")
                rows.append([name, ours, *(cells if not variant else [Cell("")] * len(cells))])
    return Table(
        "from_replay",
        "Beside learners from replay: the final greedy policy",
        ["task", NAMES["odrpo-kl"], "SAC of the Zoo", "TD3", "TQC"],
        rows,
        [f"{published.ZOO}, after 300 k or 500 k steps on LunarLander and 1 M elsewhere."],
    )


def elsewhere(results: Results) -> Table:
    """Tasks that are none of the paper's, by the defaults."""
    rows = []
    for env in ELSEWHERE:
        here = [results.values(env, m, statistics.greedy) for m in METHODS]
        if any(len(values) for values in here):
            best = best_mean(here)
            cells = [every_seed(values, best) for values in here]
            rows.append([Cell(env), Cell(results.budget(env)), *cells])
    return Table(
        "elsewhere",
        "Beyond the paper, without a preset: the final greedy policy",
        ["task", "timesteps", *HEADER],
        rows,
        [
            "Mean return over 30 to 1000 episodes in Gymnasium's own environments, then every "
            "seed: a look, no comparison. "
            f"{' and '.join(BEYOND_DEFAULTS)} has a setting of its own, for noise."
        ],
    )


def at_a_glance(results: Results) -> Table:
    """A line a task: ours, the best baseline, the paper's, and what there is to be had."""
    rows = []
    for env in results.envs:
        ours = [results.mean_last_tenth(env, m) for m in OURS]
        if all(mean is None for mean in ours):
            continue
        paper = {m: v.mean for m, v in published.LAST_TENTH[env].items()}
        here = _means(results, env, BASELINES)
        best = _best(here) if here else _best({m: paper[m] for m in BASELINES}, " of the paper")
        rows.append(
            [
                Cell(env),
                Cell(results.budget(env)),
                *(Cell(number(mean)) for mean in ours),
                _greedy(results, env, "odrpo-kl"),
                Cell(best),
                Cell(number(max(v for m, v in paper.items() if m in OURS))),
                Cell(number(TASKS[env].optimum)),
            ]
        )
        longer = f"odrpo-kl+{LONGER}"
        if results.of(env, longer):
            mean = Cell(number(results.mean_last_tenth(env, longer)))
            row = [Cell(""), Cell(results.steps(env, LONGER)), mean, Cell("-"), Cell("-")]
            rows.append([*row, _greedy(results, env, longer), *[Cell("")] * 3])
    header = ["task", "budget", *(NAMES[m] for m in OURS), "KL, greedy at the end"]
    header += ["best baseline", "paper's ODRPO", "optimum"]
    return Table("at_a_glance", "At a glance", header, rows)


def _greedy(results: Results, env: str, label: str) -> Cell:
    values = results.values(env, label, statistics.greedy)
    return Cell(number(values.mean() if len(values) else None))


def _best(means: dict[str, float], whose: str = "") -> str:
    """The best method's mean and its name."""
    best = max(means, key=means.__getitem__)
    return f"{number(means[best])} ({NAMES[best]}{whose})"


DEFAULTS = "†"
"""Marks a baseline that had its library's defaults."""


def _of_methods(results: Results, env: str, measure: Measure, shown: Shown) -> list[Cell]:
    """A cell a method."""
    cells = shown([results.values(env, method, measure) for method in METHODS])
    return [
        cell._replace(text=f"{cell.text} {DEFAULTS}") if _by_default(results, env, m) else cell
        for m, cell in zip(METHODS, cells, strict=True)
    ]


def _by_default(results: Results, env: str, method: str) -> bool:
    return any(record.config.get("source") == "defaults" for record in results.of(env, method))


def _of_defaults(rows: Sequence[Sequence[Cell]]) -> list[str]:
    """What the mark says, where there is one."""
    if not any(cell.text.endswith(DEFAULTS) for row in rows for cell in row):
        return []
    return [
        f"{DEFAULTS} The library's defaults, since RL Baselines3 Zoo has no settings for the task; "
        "other runs of TRPO, PPO and A2C have the Zoo's."
    ]


def _of_variants(results: Results, env: str, measure: Measure, shown: Shown) -> list[list[Cell]]:
    """Rows of ours without a model, and within all of the paper's timesteps."""
    rows = []
    for variant in ("model-free", LONGER):
        values = [results.values(env, f"{method}+{variant}", measure) for method in METHODS]
        if any(len(own) for own in values):
            name = results.steps(env, LONGER) if variant == LONGER else "without a model"
            rows.append([Cell(""), Cell(f"here, {name}"), *shown(values), Cell("")])
    return rows

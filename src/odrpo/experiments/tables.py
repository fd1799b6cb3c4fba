"""The paper's tables from records: ours beside the paper's numbers and its baselines run here."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from odrpo.experiments import published, statistics
from odrpo.experiments.published import Value
from odrpo.experiments.record import Record
from odrpo.experiments.runs import BASELINES, ELSEWHERE, GROUPS, METHODS, OURS
from odrpo.experiments.table import Cell, Table, estimate, number
from odrpo.presets import BEYOND_DEFAULTS, TASKS

NAMES = {
    "odrpo-kl": "ODRPO-KL",
    "odrpo-wasserstein": "ODRPO-Wass",
    "odrpo-sinkhorn": "ODRPO-Sinkhorn",
    "trpo": "TRPO",
    "ppo": "PPO",
    "a2c": "A2C",
}


LONGER = "paper-budget"
"""The variant of ours that has all of the paper's timesteps."""


class Results:
    """Records by task and method."""

    def __init__(self, records: Sequence[Record]) -> None:
        """Sort them in."""
        self.found: dict[tuple[str, str], list[Record]] = {}
        for record in records:
            self.found.setdefault((record.env, record.label), []).append(record)

    def of(self, env: str, label: str) -> list[Record]:
        """All seeds."""
        return self.found.get((env, label), [])

    def values(self, env: str, label: str, measure: Callable[[Record], float]) -> np.ndarray:
        """A number of each seed."""
        return np.array([measure(record) for record in self.of(env, label)])

    def mean(self, env: str, label: str) -> float | None:
        """Over the seeds, of the last tenth; None: there are none."""
        values = self.values(env, label, statistics.last_tenth)
        return float(values.mean()) if len(values) else None

    @property
    def envs(self) -> list[str]:
        """The paper's tasks that have any."""
        return [env for env in TASKS if any(env == found for found, _ in self.found)]


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
        elsewhere(results),
    ]


def last_tenth(results: Results) -> Table:
    """The paper's appendix: all environments and methods."""
    rows = []
    for env in results.envs:
        cells = _spreads([results.values(env, m, statistics.last_tenth) for m in METHODS])
        goal = Cell(number(published.GOALS[env]))
        rows.append([Cell(env), Cell(f"here, {budget(results, env)}"), *cells, goal])
        if counts_episodes(env):
            cells = _spreads([results.values(env, m, statistics.at_the_end) for m in METHODS])
            rows.append([Cell(""), Cell(f"here, {steps(results, env)}"), *cells, Cell("")])
        rows += _of_variants(results, env, statistics.last_tenth, _spreads)
        cells = [_published(published.LAST_TENTH[env].get(m)) for m in METHODS]
        rows.append([Cell(""), Cell(f"paper, {published.BUDGET[env]}"), *cells, Cell("")])
    return Table(
        "last_tenth",
        "Mean return over the last tenth of the training episodes",
        ["task", "", *(NAMES[m] for m in METHODS), "our goal"],
        rows,
        [
            "Mean ± standard deviation of the seeds, the number of seeds in brackets; in bold the "
            "best mean of a row that was run here. Goals are for the paper's budgets. Where the "
            "paper counts episodes, methods that keep the pole up for longer have more timesteps "
            "in them: the row below is after the same timesteps for all.",
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
        cells = _medians([results.values(env, m, measure) for m in METHODS])
        goal = Cell(_thousands(published.THRESHOLD_GOALS[env]))
        rows.append([Cell(f"{env}, {threshold:g}"), Cell("here"), *cells, goal])
        rows += _of_variants(results, env, measure, _medians)
        paper = published.TO_THRESHOLD[env]
        cells = [Cell(_thousands(paper[m]) if m in paper else "-") for m in METHODS]
        rows.append([Cell(""), Cell("paper"), *cells, Cell("")])
    return Table(
        "timesteps",
        "Timesteps to the first mean of 20 episodes at a threshold",
        ["task, threshold", "", *(NAMES[m] for m in METHODS), "our goal"],
        rows,
        [
            "Medians over seeds, in thousands, where more than half of them got there; in brackets "
            "how many did of how many."
        ],
    )


def reached(threshold: float, record: Record) -> float:
    """Timesteps to it."""
    return statistics.reached(record, threshold)


def against_baselines(results: Results) -> Table:
    """Our best method against the best of TRPO, PPO and A2C: run here, else the paper's."""
    rows = []
    for env in results.envs:
        ours = {m: v for m in OURS if (v := results.mean(env, m)) is not None}
        if env in GROUPS["tabular"] or not ours:
            continue
        here = {m: v for m in BASELINES if (v := results.mean(env, m)) is not None}
        paper = {m: v.mean for m, v in published.LAST_TENTH[env].items()}
        theirs = {m: here.get(m, paper[m]) for m in BASELINES}
        mine, its = max(ours, key=ours.__getitem__), max(theirs, key=theirs.__getitem__)
        best = max(paper[m] for m in BASELINES)
        best_ours = max(v for m, v in paper.items() if m not in BASELINES)
        rows.append(
            [
                Cell(env),
                Cell(f"{number(ours[mine])} ({NAMES[mine]})"),
                Cell(f"{number(theirs[its])} ({NAMES[its]}, {'here' if its in here else 'paper'})"),
                Cell(_difference(ours[mine], theirs[its]), ours[mine] > theirs[its]),
                Cell(_at_equal_timesteps(results, env)),
                Cell(_difference(best_ours, best)),
            ]
        )
    return Table(
        "against_baselines",
        "Our best against the best baseline",
        [
            *("task", "ours", "best baseline", "difference"),
            *("after equal timesteps", "the paper's difference"),
        ],
        rows,
        [
            "Last tenth of the training episodes: within the paper's number of them, and after "
            "the same timesteps for all where that is not the same. A baseline that was not run "
            "here is the paper's, with its budget."
        ],
    )


def _at_equal_timesteps(results: Results, env: str) -> str:
    """Of the best of ours and of theirs that were run here; empty: the difference says it."""
    if not counts_episodes(env):
        return ""
    every = {m: results.values(env, m, statistics.at_the_end) for m in METHODS}
    ours = [every[m].mean() for m in OURS if len(every[m])]
    theirs = [every[m].mean() for m in BASELINES if len(every[m])]
    return _difference(max(ours), max(theirs)) if ours and theirs else "-"


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
            known = published.TAXI[label]
            rows.append([Cell(NAMES[label]), Cell("paper"), *(Cell(f"{v:g}") for v in known)])
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
        cells = []
        for env in envs:
            # Of what is shorter the compilation would be multiplied too.
            whole = [r for r in results.of(env, method) if r.timesteps >= TASKS[env].timesteps]
            values = np.array([1e5 * r.seconds / r.taken for r in whole])
            cells.append(Cell(f"{np.median(values):.1f}" if len(values) else "-"))
        if any(cell.text != "-" for cell in cells):
            paper = published.SECONDS.get(method)
            rows.append([Cell(NAMES[method]), *cells, Cell("-" if paper is None else f"{paper:g}")])
    return Table(
        "wall_clock",
        "Wall-clock for 100,000 timesteps of training, seconds",
        ["method", *envs, "paper, discrete tasks"],
        rows,
        [
            "Medians over seeds, a process on one core each; our compilation is included, which "
            "after a first seed comes from a cache. Methods ran on different days, when the "
            "machine had more or less else to do: `make bench` compares them in one run."
        ],
    )


def greedy(results: Results) -> Table:
    """The final greedy policy, beside what is published of trained agents."""
    rows = []
    for env in results.envs:
        cells = _spreads([results.values(env, m, statistics.greedy) for m in METHODS])
        optimum = TASKS[env].optimum
        known = Cell("-" if optimum is None else number(optimum))
        rows.append([Cell(env), Cell(f"here, {steps(results, env)}"), *cells, known])
        rows += _of_variants(results, env, statistics.greedy, _spreads)
        if env in published.GREEDY:
            cells = [_published(published.GREEDY[env].get(m)) for m in METHODS]
            rows.append([Cell(""), Cell("RL Zoo"), *cells, Cell("")])
    return Table(
        "greedy",
        "The final greedy policy",
        ["task", "", *(NAMES[m] for m in METHODS), "optimum"],
        rows,
        [
            "Mean return over 30 to 1000 episodes in Gymnasium's own environments, ± standard "
            "deviation over seeds. All begin with the same seeds, so that ± 0 says that policies "
            "are equal, not that they are known without error: a mean may lie above the optimum. "
            f"{published.ZOO}, after 100 k to 5 M steps.",
        ],
    )


def elsewhere(results: Results) -> Table:
    """Tasks that are none of the paper's, by the defaults."""
    rows = []
    for env in ELSEWHERE:
        here = {m: results.values(env, m, statistics.greedy) for m in METHODS}
        if any(len(values) for values in here.values()):
            best = max(v.mean() for v in here.values() if len(v))
            cells = [every_seed(values, best) for values in here.values()]
            rows.append([Cell(env), Cell(budget(results, env)), *cells])
    return Table(
        "elsewhere",
        "Beyond the paper, without a preset: the final greedy policy",
        ["task", "timesteps", *(NAMES[m] for m in METHODS)],
        rows,
        [
            "Mean return over 30 to 1000 episodes in Gymnasium's own environments, then every "
            "seed: a look, no comparison. "
            f"{' and '.join(BEYOND_DEFAULTS)} has a setting of its own, for noise."
        ],
    )


def _of_variants(
    results: Results,
    env: str,
    measure: Callable[[Record], float],
    shown: Callable[[list[np.ndarray]], list[Cell]],
) -> list[list[Cell]]:
    """Rows of ours without a model, and within all of the paper's timesteps."""
    rows = []
    for variant in ("model-free", LONGER):
        values = [results.values(env, f"{method}+{variant}", measure) for method in METHODS]
        if any(len(own) for own in values):
            name = steps(results, env, LONGER) if variant == LONGER else "without a model"
            rows.append([Cell(""), Cell(f"here, {name}"), *shown(values), Cell("")])
    return rows


def at_a_glance(results: Results) -> Table:
    """A line a task: ours, the best baseline, the paper's, and what there is to be had."""
    rows = []
    for env in results.envs:
        ours = [results.values(env, m, statistics.last_tenth) for m in OURS]
        if not any(len(values) for values in ours):
            continue
        greedy = results.values(env, "odrpo-kl", statistics.greedy)
        theirs = {m: v for m in BASELINES if (v := results.mean(env, m)) is not None}
        known = {m: v.mean for m, v in published.LAST_TENTH[env].items()}
        if not theirs:
            theirs = {f"{m} of the paper": known[m] for m in BASELINES}
        best = max(theirs, key=theirs.__getitem__)
        name = best.replace(method := best.partition(" ")[0], NAMES[method])
        optimum = TASKS[env].optimum
        rows.append(
            [
                Cell(env),
                Cell(budget(results, env)),
                *(Cell(number(v.mean() if len(v) else None)) for v in ours),
                Cell(number(greedy.mean() if len(greedy) else None)),
                Cell(f"{number(theirs[best])} ({name})"),
                Cell(number(max(v for m, v in known.items() if m in OURS))),
                Cell(number(optimum)),
            ]
        )
        longer = f"odrpo-kl+{LONGER}"
        if results.of(env, longer):
            greedy = results.values(env, longer, statistics.greedy)
            cells = [Cell("")] * 3
            rows.append(
                [
                    *(Cell(""), Cell(steps(results, env, LONGER))),
                    *(Cell(number(results.mean(env, longer))), Cell("-"), Cell("-")),
                    *(Cell(number(greedy.mean())), *cells),
                ]
            )
    header = ["task", "budget", *(NAMES[m] for m in OURS), "KL, greedy at the end", "best baseline"]
    return Table("at_a_glance", "At a glance", [*header, "paper's ODRPO", "optimum"], rows)


def budget(results: Results, env: str) -> str:
    """How long the runs of a task were, as the table counts it."""
    if counts_episodes(env) and _timesteps(results, env) == [TASKS[env].timesteps]:
        return f"{TASKS[env].episodes} episodes"
    return steps(results, env)


def steps(results: Results, env: str, variant: str = "") -> str:
    """How long the runs of a task were."""
    every = _timesteps(results, env, variant)
    return " or ".join(
        f"{n / 1e6:g} M steps" if n >= 1e6 else f"{n / 1e3:g} k steps" for n in every
    )


def counts_episodes(env: str) -> bool:
    """Whether the paper's budget of a task is a number of episodes."""
    return env in TASKS and TASKS[env].episodes is not None


def _timesteps(results: Results, env: str, variant: str = "") -> list[int]:
    every = [record for (found, _), own in results.found.items() if found == env for record in own]
    return sorted({record.timesteps for record in every if record.variant == variant})


def _spreads(every: list[np.ndarray]) -> list[Cell]:
    """Mean and deviation of each of them, the best mean bold."""
    best = max((values.mean() for values in every if len(values)), default=None)
    return [_spread(values, best) for values in every]


def _spread(values: np.ndarray, best: float | None) -> Cell:
    if not len(values):
        return Cell("-")
    mean = values.mean()
    text = estimate(mean, values.std(ddof=1)) if len(values) > 1 else number(mean)
    return Cell(f"{text} ({len(values)})", best is not None and mean == best)


def every_seed(values: np.ndarray, best: float) -> Cell:
    """Their mean, and each of them."""
    if not len(values):
        return Cell("-")
    each = " ".join(number(value) for value in np.sort(values))
    return Cell(f"{number(values.mean())} ({each})", values.mean() == best)


def _published(value: Value | None) -> Cell:
    if value is None:
        return Cell("-")
    spread = "" if value.spread is None else f" ± {number(value.spread)}"
    return Cell(number(value.mean) + spread)


def _medians(every: list[np.ndarray]) -> list[Cell]:
    """The median of each of them, the least one bold."""
    best = min((np.median(values) for values in every if len(values)), default=np.inf)
    return [_median(values, best) for values in every]


def _median(values: np.ndarray, best: float) -> Cell:
    if not len(values):
        return Cell("-")
    median, there = np.median(values), int(np.isfinite(values).sum())
    text = _thousands(median) if np.isfinite(median) else "-" if there else "never"
    return Cell(f"{text} ({there}/{len(values)})", bool(np.isfinite(median) and median == best))


def _thousands(value: float) -> str:
    return f"{value / 1000:.1f} k"


def _difference(ours: float, theirs: float) -> str:
    gain = ours - theirs
    text = f"{'+' if gain >= 0 else ''}{number(gain)}"
    return f"{text} ({100 * gain / abs(theirs):+.0f} %)" if theirs else text

"""How fast `odrpo.solve` is beside other ways to the same optimum, and how good their duals are.

The methods of one problem are timed in turn, round after round, so that a busy machine slows all of
them alike, and the median is reported; short calls are timed in batches. The first call, which
builds the model and compiles, is timed apart. A dual is that of the beta which a method found.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # Idle BLAS threads spin and slow whatever runs next.

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import cvxpy as cp
import jax
import numpy as np
import tyro
from rich.console import Console
from scipy import optimize, sparse

import odrpo
import odrpo.trust_region.paper as paper
from report import heading, publish, setting, table, versions

Size = tuple[int, int]
Bounds = tuple[float | None, float | None]
Lines = list[list[str]]

RADIUS = 0.01
TAXI, MEDIUM, MILLION, TEN_MILLION = (500, 6), (10_000, 18), (166_667, 6), (1_666_667, 6)
KL, UNIT, LINE, SINKHORN = "KL", "Wasserstein 0/1", "Wasserstein, line", "Sinkhorn"
SIZES = {name: [TAXI, MEDIUM, MILLION, TEN_MILLION] for name in (KL, UNIT)}
SIZES |= {name: [TAXI, MEDIUM] for name in (LINE, SINKHORN)}
OURS, PUBLIC, JITTED = "", "odrpo.solve", "odrpo, jitted"
BASIN_HOPPING, TWO_PHASE, CLARABEL = "basin hopping", "two phases", "CVXPY, Clarabel"
TRANSPORT, KNAPSACK, BARE = "HiGHS, transport LP", "HiGHS, knapsack LP", ", no presolve"
EXP, ARGSORT = "one numpy.exp", "one numpy.argsort"
FEWEST_REPEATS, MOST_REPEATS, REPEAT_SECONDS = 5, 50, 2.0
BATCH_SECONDS = 0.01
PACKAGES = ("odrpo", "jax", "numpy", "scipy", "cvxpy", "clarabel")
HEADER = ["problem", "method", "median, ms", "repeats", "/ ours", "first, s", "dual"]
DUAL_TOLERANCE = 1e-9
N_LOG_N = math.prod(TEN_MILLION) * math.log(math.prod(TEN_MILLION))
N_LOG_N /= math.prod(MILLION) * math.log(math.prod(MILLION))
# A problem, two times of which the first is divided by the second, and the range of the quotient.
GOALS = [
    (KL, (TAXI, BASIN_HOPPING), (TAXI, OURS), 200, math.inf),
    (UNIT, (TAXI, TRANSPORT), (TAXI, OURS), 100, math.inf),
    (UNIT, (TAXI, TRANSPORT + BARE), (TAXI, OURS), 100, math.inf),
    (UNIT, (TAXI, KNAPSACK), (TAXI, OURS), 0, math.inf),
    (UNIT, (TAXI, KNAPSACK + BARE), (TAXI, OURS), 0, math.inf),
    (UNIT, (MILLION, OURS), (MILLION, ARGSORT), 0, 3),
    (KL, (MILLION, OURS), (MILLION, EXP), 0, 40),
    (KL, (TEN_MILLION, OURS), (MILLION, OURS), 0, N_LOG_N),
    (UNIT, (TEN_MILLION, OURS), (MILLION, OURS), 0, N_LOG_N),
]


class Case:
    """A random problem: normal advantages, and policies that are uniform on the simplex."""

    def __init__(self, name: str, size: Size, seed: int = 0) -> None:
        """Draw it and put it on the device."""
        rng, place = np.random.default_rng(seed), np.arange(size[1], dtype=float)
        self.name, self.size = name, size
        self.advantages = rng.normal(size=size)
        self.policy = rng.dirichlet(np.ones(size[1]), size[0])
        self.problem = odrpo.Problem.create(self.advantages, self.policy, RADIUS)
        self.cost = abs(place[:, None] - place) if name == LINE else 1 - np.eye(size[1])
        wasserstein = {UNIT: odrpo.Wasserstein(), LINE: odrpo.Wasserstein(self.cost)}
        self.metric: Any = {KL: odrpo.KL(), SINKHORN: odrpo.Sinkhorn(), **wasserstein}[name]
        # Sums over states suit the tolerances of other solvers better than means.
        self.total_radius = RADIUS * size[0]

    def bounds(self, beta: float, total: float) -> Bounds:
        """The dual at beta, and the objective from its sum over states."""
        return float(self.metric.dual(self.problem, beta)), total / self.size[0]


class Method(NamedTuple):
    """`prepare` returns the call to be timed, `read` turns its result into (dual, objective)."""

    name: str
    prepare: Callable[[], Callable[[], Any]] = lambda: lambda: None
    read: Callable[[Any], Bounds] = lambda result: (None, None)
    once: bool = False
    not_run: str = ""


@dataclass
class Row:
    """One method on one problem, times in seconds."""

    problem: str
    size: Size
    method: str
    not_run: str
    median: float | None = None
    repeats: int = 0
    calls_per_repeat: int = 1
    ratio_to_ours: float | None = None
    first_call: float | None = None
    dual: float | None = None
    objective: float | None = None


def ours(case: Case) -> list[Method]:
    """The public call on NumPy arrays, and the compiled solver on a problem on the device."""

    def public() -> odrpo.Solution:
        return odrpo.solve(case.advantages, case.policy, RADIUS, case.metric)

    def jitted() -> Callable[[], odrpo.Solution]:
        solve = jax.jit(case.metric.solve)
        return lambda: jax.block_until_ready(solve(case.problem))

    def read(solution: odrpo.Solution) -> Bounds:
        return float(solution.dual), float(solution.objective)

    return [Method(PUBLIC, lambda: public, read), Method(JITTED, jitted, read)]


def search(case: Case, name: str, find: Callable[..., paper.Search], once: bool = False) -> Method:
    """One of the paper's own searches for beta*."""
    tables = paper.Tables.of(case.advantages, case.policy, RADIUS)
    return Method(name, lambda: lambda: find(tables), lambda found: (found.dual, None), once)


def transport_program(case: Case) -> dict[str, Any]:
    """Variables Q[s, i, j] >= 0 whose sum over j is pi(i|s), as the paper states the problem."""
    states, actions = case.size
    return {
        "c": -np.repeat(case.advantages, actions, axis=0).ravel(),
        "A_eq": sparse.kron(sparse.eye(states * actions), np.ones((1, actions)), format="csr"),
        "b_eq": case.policy.ravel(),
        "A_ub": sparse.csr_array(np.tile(case.cost.ravel(), states)[None, :]),
    }


def knapsack_program(case: Case) -> dict[str, Any]:
    """Variables moved[s, i] in [0, pi(i|s)]: what the 0/1 distance leaves of the transport."""
    mass = case.policy.ravel()
    return {
        "c": (case.advantages - case.advantages.max(axis=1, keepdims=True)).ravel(),
        "A_ub": sparse.csr_array(np.ones((1, mass.size))),
        "bounds": np.stack([np.zeros_like(mass), mass], axis=1),
    }


def highs(case: Case, name: str, presolve: bool, once: bool = False) -> Method:
    """A linear program by SciPy's HiGHS."""
    build = transport_program if name == TRANSPORT else knapsack_program
    start = 0.0 if name == TRANSPORT else float((case.policy * case.advantages).sum())

    def prepare() -> Callable[[], Any]:
        program = build(case) | {"b_ub": [case.total_radius], "options": {"presolve": presolve}}
        return lambda: optimize.linprog(**program, method="highs")

    def read(result: Any) -> Bounds:
        return case.bounds(-result.ineqlin.marginals[0], start - result.fun)

    return Method(name if presolve else name + BARE, prepare, read, once)


def clarabel(case: Case, once: bool = False) -> Method:
    """The primal as one would write it in CVXPY: over pi' for KL, else over transport plans."""

    def prepare() -> Callable[[], tuple[float, float]]:
        states, actions = case.size
        if case.name == KL:
            values, row_sums = case.advantages, np.ones(states)
            unknown = cp.Variable(values.shape)
            distance = cp.sum(cp.rel_entr(unknown, case.policy))
        else:
            values, row_sums = np.repeat(case.advantages, actions, axis=0), case.policy.ravel()
            unknown = cp.Variable(values.shape, nonneg=True)
            distance = cp.sum(cp.multiply(unknown, np.tile(case.cost, (states, 1))))
        if case.name == SINKHORN:
            distance -= cp.sum(cp.entr(unknown)) / case.metric.strength
        ball = distance <= case.total_radius
        gain = cp.sum(cp.multiply(unknown, values))
        program = cp.Problem(cp.Maximize(gain), [ball, cp.sum(unknown, axis=1) == row_sums])

        def run() -> tuple[float, float]:
            program.solve(solver=cp.CLARABEL)
            return float(ball.dual_value), float(program.value)

        return run

    return Method(CLARABEL, prepare, lambda result: case.bounds(*result), once)


def methods(case: Case) -> list[Method]:
    """Ours, a yardstick, and every peer, run or not."""
    taxi, small = case.size == TAXI, case.size in (TAXI, MEDIUM)
    numbers = case.advantages.ravel()
    found = ours(case)
    if case.name == KL:
        found.append(Method(EXP, lambda: lambda: np.exp(numbers)))
        if case.size == TEN_MILLION:
            found.append(Method(BASIN_HOPPING, not_run="takes over a minute"))
        else:
            found.append(search(case, BASIN_HOPPING, paper.basin_hopping, once=not small))
    if case.name == UNIT:
        found.append(Method(ARGSORT, lambda: lambda: np.argsort(numbers)))
        bare = highs(case, KNAPSACK, presolve=False, once=not taxi)
        found.append(bare if small else Method(KNAPSACK, not_run="takes minutes"))
    if case.name == UNIT and taxi:
        found += [highs(case, KNAPSACK, presolve=True), search(case, TWO_PHASE, paper.two_phase)]
    if case.name in (UNIT, LINE) and taxi:
        found += [highs(case, TRANSPORT, presolve) for presolve in (True, False)]
    elif case.name in (UNIT, LINE):
        found.append(Method(TRANSPORT, not_run="takes many minutes"))
    if taxi or (case.name, case.size) == (KL, MEDIUM):
        found.append(clarabel(case, once=not taxi))
    else:
        found.append(Method(CLARABEL, not_run="takes minutes"))
    return found


def stopwatch(call: Callable[[], Any], count: int = 1) -> tuple[float, Any]:
    """Seconds of a call, the mean of a number of them, and what it returned."""
    start = time.perf_counter()
    for _ in range(count):
        result = call()
    return (time.perf_counter() - start) / count, result


def first_call(method: Method, row: Row) -> tuple[Callable[[], Any], list[float]]:
    """Fill in what one call tells; return the call and the timings that count already."""
    building, call = stopwatch(method.prepare)
    first, result = stopwatch(call)
    row.first_call = building + first
    row.dual, row.objective = method.read(result)
    if method.once:
        row.repeats = 1
        return call, [first]
    trial, _ = stopwatch(call)
    row.calls_per_repeat = math.ceil(BATCH_SECONDS / trial)
    affordable = int(REPEAT_SECONDS / trial / row.calls_per_repeat)
    row.repeats = min(max(affordable, FEWEST_REPEATS), MOST_REPEATS)
    return call, []


def measure(case: Case, quick: bool) -> list[Row]:
    """Call each method for the first time, then all in turn until each has its repeats."""
    rows, contest = [], []
    for method in methods(case):
        why_not = method.not_run or ("left out by --quick" if quick and method.once else "")
        rows.append(Row(case.name, case.size, method.name, why_not))
        if not why_not:
            contest.append((rows[-1], *first_call(method, rows[-1])))
    for turn in range(MOST_REPEATS):
        for row, call, timings in contest:
            if len(timings) == turn < row.repeats:
                timings.append(stopwatch(call, row.calls_per_repeat)[0])
    for row, _, timings in contest:
        row.median = median(timings)
        row.ratio_to_ours = row.median / median(contest[0][2])
    return rows


def judge_times(rows: list[Row], call: str) -> Lines:
    """Each goal on time for one of our two calls: what it is, what was measured, the verdict."""
    medians = {(row.problem, row.size, row.method): row.median or math.nan for row in rows}
    lines = []
    for problem, above, below, low, high in GOALS:
        keys = [(problem, size, method or call) for size, method in (above, below)]
        value = medians.get(keys[0], math.nan) / medians.get(keys[1], math.nan)
        words = " / ".join(f"{method} {shape(size)}" for _, size, method in keys)
        limit = f" >= {low}" if low else f" <= {high:.3g}" if high < math.inf else ""
        met = verdict(low <= value <= high) if limit else "no goal"
        measured = [f"{value:.3g}", met] if value > 0 else ["", "not measured"]
        lines.append([f"{problem}: {words}{limit}", *measured])
    return lines


def judge_duals(rows: list[Row]) -> list[str]:
    """By how much a dual of ours exceeds that of a peer at most."""
    with_dual = [(row, row.dual) for row in rows if row.dual is not None]
    excess = max(
        our_dual - dual
        for ours, our_dual in with_dual
        for peer, dual in with_dual
        if ours.method in (PUBLIC, JITTED) and peer.method not in (PUBLIC, JITTED)
        if (ours.problem, ours.size) == (peer.problem, peer.size)
    )
    goal = f"all problems: our dual - dual of a peer <= {DUAL_TOLERANCE}"
    return [goal, f"{excess:.1e}", verdict(excess <= DUAL_TOLERANCE)]


def verdict(met: bool) -> str:
    """In words."""
    return "met" if met else "NOT MET"


def shape(size: Size) -> str:
    """A size in words."""
    return f"{size[0]}x{size[1]}"


def describe(row: Row) -> list[str]:
    """A row in words, as `HEADER` has it."""
    words = [f"{row.problem} {shape(row.size)}", row.method]
    if row.median is None:
        return [*words, "not run", "", "", "", row.not_run]
    times = [f"{1e3 * row.median:.4g}", f"{row.repeats}", f"{row.ratio_to_ours:.3g}"]
    dual = "" if row.dual is None else f"{row.dual:.12f}"
    return [*words, *times, f"{row.first_call:.3g}", dual]


def main(quick: bool = False, out: Path = Path("results/benchmarks")) -> None:
    """Time the solvers beside their peers.

    Args:
        quick: Only the small problems, without the peers that take long.
        out: Where solver.json and solver.md go (solver_quick.json and solver_quick.md).
    """
    rows: list[Row] = []
    console, began = Console(), time.perf_counter()
    with jax.enable_x64(True):
        for name, sizes in SIZES.items():
            for size in sizes[:2] if quick else sizes:
                console.print(f"timing {name} {shape(size)}")
                rows += measure(Case(name, size), quick)
    goals = [*judge_times(rows, PUBLIC), *judge_times(rows, JITTED), judge_duals(rows)]
    facts = setting({}, PACKAGES, ()) | {"seconds": time.perf_counter() - began}
    parts = ["# Time to the optimum", heading(facts), versions(facts)]
    parts += [table(HEADER, [describe(row) for row in rows])]
    parts += ["## Goals", table(["goal", "measured", "verdict"], goals)]
    data = facts | {"goals": goals, "rows": [asdict(row) for row in rows]}
    target = out / ("solver_quick" if quick else "solver")
    publish("\n\n".join(parts) + "\n", data, target, console)


if __name__ == "__main__":
    tyro.cli(main)

"""Measurements beside goals and peers, as a table in Markdown and as JSON."""

import json
import math
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.markdown import Markdown

from odrpo.experiments.record import surroundings
from processes import Result, Results

Lines = list[list[str]]

HEADER = ["what", "ours", "peer", "times better", "goal", "verdict"]
RUN_HEADER = ["run", "timesteps/s", "each round", "first update, s"]


@dataclass
class Row:
    """One comparison: `ratio` is how many times better ours is than the peer's."""

    what: str
    ours: str
    peer: str = ""
    ratio: float | None = None
    goal: str = ""
    met: bool | None = None


def middle(results: Results, name: str, key: str) -> float:
    """The median over the rounds; a task that was not solved took forever."""
    return median(math.inf if part[key] is None else part[key] for part in results[name])


def fastest(results: Results, *names: str) -> str:
    """The run of the most timesteps a second."""
    return max(names, key=lambda name: middle(results, name, "speed"))


def compare_speed(results: Results, what: str, name: str, peer: str, goal: float | None) -> Row:
    """Timesteps a second beside those of a peer."""
    mine, theirs = middle(results, name, "speed"), middle(results, peer, "speed")
    ratio = mine / theirs
    row = Row(what, f"{mine:,.0f} /s", f"{peer}: {theirs:,.0f} /s", ratio)
    if goal is not None:
        row.goal, row.met = f">= {goal:g}", ratio >= goal
    return row


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


def table(header: list[str], lines: Lines) -> str:
    """Lines of words in Markdown."""
    rule = ["---"] * len(header)
    return "\n".join(f"| {' | '.join(line)} |" for line in [header, rule, *lines])


def verdicts(rows: list[Row]) -> str:
    """The table of comparisons."""
    return table(HEADER, [describe(row) for row in rows])


def speeds(results: Results) -> str:
    """The table of every run that has a speed."""
    lines = [describe_speed(name, parts) for name, parts in results.items() if "speed" in parts[0]]
    return table(RUN_HEADER, lines)


def missing_peers(peers: Mapping[str, Path]) -> list[str]:
    """A sentence for each peer whose interpreter is not there."""
    return [
        f"{name}: no environment at {python}, its rows are left out (`make peers` sets it up)."
        for name, python in peers.items()
        if not python.exists()
    ]


def setting(results: Results, packages: tuple[str, ...], peers: tuple[str, ...]) -> dict[str, Any]:
    """When, where, and with which versions, ours and those that the peers printed."""
    own = {name: version(name) for name in packages} | {"python": platform.python_version()}
    theirs = {name: results[name][0]["versions"] for name in peers if name in results}
    return {
        "date": date.today().isoformat(),
        "cpus": os.cpu_count(),
        "commit": surroundings()["commit"],
        "versions": {"odrpo": own} | theirs,
    }


def heading(setting: dict[str, Any]) -> str:
    """When, where, and of which state of ours."""
    return f"{setting['date']}, {setting['cpus']} CPUs, odrpo at {setting['commit']}."


def versions(setting: dict[str, Any]) -> str:
    """All of them in one sentence."""
    return (
        "; ".join(
            f"{who}: " + ", ".join(f"{name} {number}" for name, number in what.items())
            for who, what in setting["versions"].items()
        )
        + "."
    )


def publish(text: str, data: dict[str, Any], target: Path, console: Console) -> None:
    """Show the report and write it, with all that was measured in JSON beside it."""
    console.print(Markdown(text))
    console.print(f"{data['seconds']:.0f} s in all")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.with_suffix(".md").write_text(text)
    target.with_suffix(".json").write_text(json.dumps(data, indent=1) + "\n")

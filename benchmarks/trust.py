"""The same tests of trust for ours and for Stable-Baselines3, in one table."""

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import jax
import numpy as np
import tyro
from rich.console import Console
from rich.markdown import Markdown
from tests.faults import NETWORK, ROOT, Killed, assert_same_run, run_in_process

import odrpo
from odrpo import checkpoint
from processes import run

WHAT = {
    "resumed": "A run that was stopped half-way and goes on ends with the same parameters",
    "survives": "A process killed while it saves leaves a file that loads",
    "harmless": "Loading a file that somebody has made runs none of its code",
    "finite": "A reward of NaN is noticed before it is in the policy",
}


@dataclass(frozen=True)
class Options:
    """With what, and where to."""

    peers: Path = Path(".peers")
    """The folder of the environments that have the peers."""
    out: Path = ROOT / "results" / "benchmarks"
    """Where trust.json and trust.md go."""


def resumed(folder: Path) -> bool:
    """Gymnasium's CartPole with a network, as there; the second half in another process."""
    run_in_process("host", folder / "never", 1280)
    run_in_process("host", folder / "half", 640)
    run_in_process("host", folder / "half", 1280)
    try:
        assert_same_run(folder / "half", folder / "never")
    except AssertionError:
        return False
    return True


def survives(folder: Path) -> bool:
    """Killed at each of the operations that a checkpoint is made of."""
    for operation in range(8, 16):
        run_in_process("host", folder / "killed", 32 * operation, Killed(operation))
        odrpo.ODRPO.load(folder / "killed")
    return True


def harmless(folder: Path) -> bool:
    """Wherever a file of ours has a text, it is one that would run if anybody asked for it."""
    hurt = folder / "hurt"
    path = folder / "model.odrpo"
    odrpo.ODRPO("CartPole-v1").save(path)
    arrays, header = checkpoint.read(path)
    text = f"__import__('pathlib').Path({str(hurt)!r}).touch()"
    for name in header:
        checkpoint.write(path, arrays, header | {name: text, "env": f"{text}:CartPole-v1"})
        try:
            odrpo.ODRPO.load(path)
        except ValueError:
            continue
    return not hurt.exists()


class Spoiled(gymnasium.Wrapper):
    """Pays what is no number, once in a while."""

    def step(self, action: Any) -> tuple:
        """Now and then."""
        seen, reward, terminated, truncated, info = self.env.step(action)
        spoiled = self.np_random.random() < 0.02
        return seen, float("nan") if spoiled else reward, terminated, truncated, info


def finite(folder: Path) -> bool:
    """The run ends, its policy is sound."""
    model = odrpo.ODRPO(lambda: Spoiled(gymnasium.make("CartPole-v1")), **NETWORK)
    try:
        model.learn(640)
    except odrpo.envs.EnvError:
        return all(np.isfinite(x).all() for x in jax.tree.leaves(model.learner))
    return False


def main(options: Options) -> None:
    """Test both, and put them beside each other."""
    tests: dict[str, Callable[[Path], bool]] = {
        "resumed": resumed,
        "survives": survives,
        "harmless": harmless,
        "finite": finite,
    }
    with tempfile.TemporaryDirectory() as place:
        mine = {name: test(Path(place)) for name, test in tests.items()}
    theirs = run(options.peers / "sb3" / "bin" / "python", "sb3_trust.py")
    lines = ["| | odrpo | Stable-Baselines3 |", "| --- | --- | --- |"]
    words = {True: "yes", False: "no"}
    for name, what in WHAT.items():
        lines.append(f"| {what} | {words[mine[name]]} | {words[theirs[name]]} |")
    found = {"odrpo": mine, "Stable-Baselines3": theirs}
    (options.out / "trust.json").write_text(json.dumps(found, indent=1) + "\n")
    (options.out / "trust.md").write_text("\n".join(lines) + "\n")
    Console().print(Markdown("\n".join(lines)))


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))

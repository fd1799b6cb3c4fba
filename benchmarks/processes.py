"""Measurements, each in a fresh process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

# This process stays small: what it has imported would count in the peak memory of its children.
Result = dict[str, Any]
Results = dict[str, list[Result]]
"""What each run printed, round after round."""

SCRIPTS = Path(__file__).parent / "peers"
CACHED = {
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}


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


def keep(results: Results, name: str, result: Result, console: Console) -> None:
    """Show a result and put it beside those of the rounds before."""
    shown = {k: v for k, v in result.items() if k != "versions"}
    console.print(f"{name}: {shown}", highlight=False)
    results.setdefault(name, []).append(result)

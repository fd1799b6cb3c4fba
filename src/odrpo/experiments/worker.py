"""One run in a process of its own: `python -m odrpo.experiments.worker RUN OUT PARENT`."""

import json
import os
import shutil
import sys
import traceback
from pathlib import Path

from filelock import FileLock

from odrpo.experiments.record import write
from odrpo.experiments.runs import OURS, Run
from odrpo.signals import StopRequest

KEPT = ("model.odrpo", "log.txt", "lock")
"""Of the folder of a run, once its record is written: that has the rest."""
PATIENCE = 300.0
"""Seconds for the worker of a command that was killed to notice and to save."""


def main(run: Run, out: Path, parent: int) -> int:
    """Do the run, or go on with it, and write its record; returns the exit code.

    `parent` is the process that began it: a worker that is left alone stops.
    """
    folder = run.folder(out)
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "lock", timeout=PATIENCE), StopRequest() as request:

        def stop() -> bool:
            return request() or os.getppid() != parent

        if run.record_file(out).exists():
            _tidy_up(folder)
            return 0
        if run.method in OURS:
            from odrpo.experiments.ours import run_ours

            record = run_ours(run, folder, stop)
        else:
            from odrpo.experiments.baselines import run_baseline

            record = run_baseline(run, folder, stop)
        if record is None:
            return request.exit_code if request() else 1
        write(record, run.record_file(out))
        _tidy_up(folder)
    return 0


def _tidy_up(folder: Path) -> None:
    """What a run whose record is written needs no more."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name not in KEPT:
            path.unlink()


if __name__ == "__main__":
    try:
        code = main(Run(**json.loads(sys.argv[1])), Path(sys.argv[2]), int(sys.argv[3]))
    except Exception as error:
        traceback.print_exc()
        # Last, and in one line: that is what is shown of it.
        print(f"{type(error).__name__}: {' '.join(str(error).split())}", file=sys.stderr)
        code = 1
    sys.exit(code)

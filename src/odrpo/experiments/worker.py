"""One run in a process of its own: `python -m odrpo.experiments.worker RUN OUT`."""

import json
import sys
from pathlib import Path

from odrpo.experiments.record import write
from odrpo.experiments.runs import OURS, Run
from odrpo.signals import StopRequest

KEPT = ("model.odrpo", "log.txt")
"""Of the folder of a run, once its record is written: that has the rest."""


def main(run: Run, out: Path) -> int:
    """Do the run, or go on with it, and write its record; returns the exit code."""
    folder = run.folder(out)
    folder.mkdir(parents=True, exist_ok=True)
    with StopRequest() as stop:
        if run.method in OURS:
            from odrpo.experiments.ours import run_ours

            record = run_ours(run, folder, stop)
        else:
            from odrpo.experiments.baselines import run_baseline

            record = run_baseline(run, folder, stop)
    if record is None:
        return stop.exit_code
    write(record, run.record_file(out))
    for file in folder.iterdir():
        if file.name not in KEPT:
            file.unlink()
    return 0


if __name__ == "__main__":
    code = main(Run(**json.loads(sys.argv[1])), Path(sys.argv[2]))
    sys.exit(code)

"""Many runs, several at once in processes of their own; what fails is listed, not fatal."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from odrpo.experiments.estimate import done_before
from odrpo.experiments.runs import Run

ONE_THREAD = ("NPROC", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
SECONDS_TO_STOP, PAUSE = 60.0, 0.2


def cores() -> int:
    """How many there are for this process: batch systems and containers may give it fewer."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass
class Worker:
    """A run that is under way."""

    run: Run
    process: subprocess.Popen
    began: float
    core: int | None

    @property
    def seconds(self) -> float:
        """Since then."""
        return time.monotonic() - self.began


@dataclass
class Outcome:
    """What became of all runs."""

    done: list[Run] = field(default_factory=list)
    failed: dict[Run, str] = field(default_factory=dict)
    """With the reason."""
    stopped: bool = False


@dataclass
class Pool:
    """Runs that are waiting, under way and over."""

    out: Path
    waiting: list[Run]
    jobs: int
    working: list[Worker] = field(default_factory=list)
    outcome: Outcome = field(default_factory=Outcome)
    before: dict[Run, int] = field(init=False)
    """Timesteps that each had when this began."""

    def __post_init__(self) -> None:
        """Look how far those got that were stopped before."""
        self.before = {run: done_before(run, self.out) for run in self.waiting}

    def work(self, show: Callable[["Pool"], None], stop: Callable[[], bool]) -> Outcome:
        """Until nothing is left, or a stop is asked for: then what is under way is stopped too."""
        try:
            while self.waiting or self.working:
                self.outcome.stopped = self.outcome.stopped or stop()
                if self.outcome.stopped:
                    break
                while self.waiting and len(self.working) < self.jobs:
                    run = self.waiting.pop(0)
                    try:
                        self._begin(run)
                    except OSError as error:  # no room, no rights, a file in the way
                        self.outcome.failed[run] = str(error)
                self._collect()
                show(self)
                time.sleep(PAUSE)
        finally:
            self._stop_all(show)
        return self.outcome

    def _begin(self, run: Run) -> None:
        folder = run.folder(self.out)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "status.json").unlink(missing_ok=True)
        threads = dict.fromkeys(ONE_THREAD, "1")
        cache = {"JAX_COMPILATION_CACHE_DIR": str((self.out / "runs" / "cache").resolve())}
        command = [sys.executable, "-m", "odrpo.experiments.worker"]
        command += [json.dumps(asdict(run)), str(self.out), str(os.getpid())]
        with (folder / "log.txt").open("w") as log:
            process = subprocess.Popen(
                command,
                env=cache | os.environ | threads,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for this process, which tells the others
            )
        core = self._freest_core()
        if core is not None:
            os.sched_setaffinity(process.pid, {core})
        self.working.append(Worker(run, process, time.monotonic(), core))

    def _freest_core(self) -> int | None:
        """Where the fewest are at work: libraries may take all that they see."""
        if not hasattr(os, "sched_setaffinity"):
            return None
        taken = [worker.core for worker in self.working]
        return min(sorted(os.sched_getaffinity(0)), key=taken.count)

    def _collect(self, stopped: bool = False) -> None:
        for worker in list(self.working):
            code = worker.process.poll()
            if code is None:
                continue
            self.working.remove(worker)
            if code == 0 and worker.run.record_file(self.out).exists():
                self.outcome.done.append(worker.run)
            elif not stopped:
                self.outcome.failed[worker.run] = _reason(worker.run.folder(self.out), code)

    def _stop_all(self, show: Callable[["Pool"], None]) -> None:
        for worker in self.working:
            worker.process.terminate()
        deadline = time.monotonic() + SECONDS_TO_STOP
        while self.working and time.monotonic() < deadline:
            show(self)
            time.sleep(PAUSE)
            self._collect(stopped=True)
        for worker in self.working:
            worker.process.kill()
            worker.process.wait()
        self._collect(stopped=True)


def _reason(folder: Path, code: int) -> str:
    """The last line that it said, or by what it was ended."""
    lines = [line for line in (folder / "log.txt").read_text(errors="replace").splitlines() if line]
    if code < 0:
        return f"killed by signal {-code}"
    return lines[-1].strip() if lines else f"ended with {code}"

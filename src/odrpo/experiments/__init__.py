"""Experiments: run a task for several seeds, keep a record, make tables and figures of records."""

from odrpo.experiments.records import (
    Record,
    add_seeds,
    check_settings,
    find_record,
    has_seed,
    read_records,
    write_record,
)
from odrpo.experiments.run import run_task

__all__ = [
    "Record",
    "add_seeds",
    "check_settings",
    "find_record",
    "has_seed",
    "read_records",
    "run_task",
    "write_record",
]

"""Experiments: run a task for several seeds, keep a record, make tables and figures of records."""

from odrpo.experiments.learning import run_task
from odrpo.experiments.learning_records import (
    Record,
    add_seeds,
    check_settings,
    find_record,
    has_seed,
    read_records,
    write_record,
)

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

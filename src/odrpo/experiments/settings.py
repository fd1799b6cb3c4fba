"""Whether a record is of the settings that its run would have now."""

import json
from typing import Any

from odrpo.config import Config
from odrpo.experiments.baselines import settings_of
from odrpo.experiments.record import Record
from odrpo.experiments.runs import OURS, Run
from odrpo.experiments.variants import variant_of
from odrpo.learner import Sizes
from odrpo.presets import TASKS, settings_for

ANY_SIZES = Sizes(None, 0, 0)
"""The presets of the paper's tasks do not ask for them."""


def is_outdated(record: Record, run: Run) -> bool:
    """Whether it had another budget, or other settings: ours not known yet were the defaults."""
    if record.timesteps != run.timesteps:
        return True
    if run.method not in OURS:
        return record.config != expected(run)
    known = expected(run) if run.env in TASKS else {}  # elsewhere they depend on the sizes
    before = Config().to_json() | record.config
    return any(before[name] != value for name, value in known.items())


def expected(run: Run) -> dict[str, Any]:
    """The settings of a run, as its record would have them; without the metric."""
    if run.method not in OURS:
        return settings_of(run.method, run.env)
    variant, metric = variant_of(run.variant), OURS[run.method]
    preset: Any = variant.preset
    own, _ = settings_for(run.env, metric, ANY_SIZES, preset)
    known = Config().to_json() | own | variant.changes(run.env, metric)
    del known["metric"]
    return json.loads(json.dumps(known))

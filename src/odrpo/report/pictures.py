"""What trained policies do, each drawn in the way that suits its environment."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from odrpo.experiments.record import Record
from odrpo.model import ODRPO
from odrpo.report.data import tasks_of
from odrpo.report.film import film_strip
from odrpo.report.grids import GRIDS
from odrpo.report.picture import Picture, read_picture

NOT_IN_NAMES = re.compile(r"[^\w.-]")
"""Of files: records of others may say that their task is a path."""
Say = Callable[[str], None]


def every_picture(folder: Path, records: Sequence[Record], draw: bool, say: Say) -> list[Picture]:
    """One a task, of a model in FOLDER/runs; else the one that an earlier report kept.

    They are kept in FOLDER/pictures, since models are too large to go with the records. What a
    variant does is shown where there is neither.
    """
    found = []
    for env in tasks_of(records):
        file = folder / "pictures" / (NOT_IN_NAMES.sub("_", env) + ".png")
        own = [record for record in records if record.env == env]
        drawn = _drawn(folder, [r for r in own if not r.variant], say) if draw else None
        shown = drawn or _kept(file, say)
        if shown is None and draw:
            shown = drawn = _drawn(folder, [r for r in own if r.variant], say)
        if drawn is not None:
            _keep(drawn, file, say)
        if shown is not None:
            found.append(shown)
    return found


def picture_of(file: Path) -> Picture:
    """What a saved policy does."""
    model = ODRPO.load(file)
    drawing = GRIDS.get(model.env_id or "", film_strip)
    return drawing(model)


def _drawn(folder: Path, records: Sequence[Record], say: Say) -> Picture | None:
    """Of the first of these whose model is there, named with what was changed in it."""
    for record in records:
        file = folder / "runs" / record.env / record.label / str(record.seed) / "model.odrpo"
        if file.exists():
            say(f"drawing {record.env} ...")
            try:
                picture = picture_of(file)
                if record.variant:
                    picture = replace(picture, title=f"{picture.title}, {record.variant}")
                return picture
            except ValueError as error:  # nothing to draw with here, or a file that is damaged
                say(f"not drawn: {error}")
    return None


def _keep(picture: Picture, file: Path, say: Say) -> None:
    """Where it can be: the folder may be one to read only."""
    try:
        picture.write(file)
    except OSError as error:
        say(f"not kept: {file}: {error.strerror}")


def _kept(file: Path, say: Say) -> Picture | None:
    """None where there is none that can be shown."""
    if not file.exists():
        return None
    try:
        return read_picture(file)
    except ValueError as error:
        say(f"not shown: {error}")
        return None

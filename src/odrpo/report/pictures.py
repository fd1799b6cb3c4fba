"""What a trained policy does, drawn in the way that suits its environment."""

from pathlib import Path

from odrpo.model import ODRPO
from odrpo.report.film import film_strip
from odrpo.report.grids import GRIDS
from odrpo.report.picture import Picture


def picture_of(file: Path) -> Picture | None:
    """What a saved policy does; None where its environment can't be drawn here."""
    model = ODRPO.load(file)
    drawing = GRIDS.get(model.env_id or "", film_strip)
    return drawing(model)

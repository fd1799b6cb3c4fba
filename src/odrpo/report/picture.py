"""A picture with words beneath: an element of the page, or a small file that keeps both."""

import base64
import html
import io
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from odrpo.files import put
from odrpo.model import ODRPO

SMALL, LARGEST = 140_000, 2_000_000
"""So many bytes at most are written, and read: all of them go into the page."""
DAMAGED = (OSError, SyntaxError, ValueError, Image.DecompressionBombError, struct.error, zlib.error)
"""What Pillow may raise of a file that is no picture."""


@dataclass(frozen=True)
class Picture:
    """A PNG with words beneath."""

    title: str
    caption: str
    png: bytes

    def html(self) -> str:
        """All of it in one element."""
        title, caption = html.escape(self.title), html.escape(self.caption)
        source = base64.b64encode(self.png).decode()
        return (
            f'<figure><img alt="{title}" src="data:image/png;base64,{source}">'
            f"<figcaption><b>{title}</b> {caption}</figcaption></figure>"
        )

    def write(self, path: Path) -> None:
        """Put it into a file in one go, its words too; the same picture gives the same bytes."""
        words = PngInfo()
        words.add_itxt("Title", self.title)
        words.add_itxt("Caption", self.caption)
        file = io.BytesIO()
        with Image.open(io.BytesIO(self.png)) as image:
            image.save(file, "PNG", optimize=True, pnginfo=words)
        put(path, file.getvalue())


def read_picture(path: Path) -> Picture:
    """A picture as `write` left it."""
    try:
        with path.open("rb") as file:
            png = file.read(LARGEST + 1)
        if len(png) > LARGEST:
            raise ValueError
        with Image.open(io.BytesIO(png), formats=["PNG"]) as image:
            image.verify()  # the checksums, after which it must be opened once more
        with Image.open(io.BytesIO(png), formats=["PNG"]) as image:
            image.load()
            words = image.info
    except DAMAGED as error:
        raise ValueError(f"{path}: it is no PNG of at most {LARGEST} bytes, or damaged") from error
    return Picture(str(words.get("Title", path.stem)), str(words.get("Caption", "")), png)


def name_of(model: ODRPO) -> str:
    """Whose policy a picture shows: its title."""
    return f"{model.env_id}, ODRPO-{type(model.config.metric).__name__}, seed {model.seed}"


def png_of(figure: Figure) -> bytes:
    """The figure, which is closed then."""
    file = io.BytesIO()
    figure.savefig(file, dpi=90)
    plt.close(figure)
    return small_png(Image.open(file))


def small_png(image: Image.Image) -> bytes:
    """In few colours; where that is not small enough, of fewer pixels."""
    image, file = image.convert("RGB"), io.BytesIO()
    image.quantize(128).save(file, "PNG", optimize=True)
    if file.tell() <= SMALL:
        return file.getvalue()
    return small_png(image.resize((image.width * 4 // 5, image.height * 4 // 5)))

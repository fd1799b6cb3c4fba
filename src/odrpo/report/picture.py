"""A picture with words beneath, as an element of the page."""

import base64
import html
import io
from dataclasses import dataclass

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.figure import Figure


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


def png_of(figure: Figure) -> bytes:
    """The figure, which is closed then."""
    file = io.BytesIO()
    figure.savefig(file, dpi=90)
    plt.close(figure)
    return file.getvalue()

"""Sentences in Markdown as HTML: bold and code, nothing else; all texts are escaped."""

import html
import re
from collections.abc import Sequence

MARKED = re.compile(r"`([^`]+)`|\*\*((?:`[^`]+`|[^`])+?)\*\*")


def as_html(text: str) -> str:
    """A sentence.

    >>> as_html("**All of `x**2`** is < 1")
    '<b>All of <code>x**2</code></b> is &lt; 1'
    """
    return _marked(html.escape(text))


def bullets(texts: Sequence[str]) -> str:
    """A list of them."""
    return "<ul>" + "".join(f"<li>{as_html(text)}</li>" for text in texts) + "</ul>"


def _marked(escaped: str) -> str:
    return MARKED.sub(
        lambda found: f"<code>{found[1]}</code>" if found[1] else f"<b>{_marked(found[2])}</b>",
        escaped,
    )

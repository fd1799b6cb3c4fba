"""Ctrl-C and SIGTERM while a policy trains: it stops after the update, and all is saved."""

import os
import signal
import threading
import time
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
PATIENCE = 1.0
"""Seconds within which another signal is the same wish: make and shells pass them on."""


class Abandoned(KeyboardInterrupt):
    """A second signal: it ends at once, as by a kill, and nothing more is saved."""


class StopRequest:
    """Within it a signal is a request, which training looks at between updates."""

    def __init__(self) -> None:
        """No request yet."""
        self.signal: int | None = None
        self.at = 0.0

    def __call__(self) -> bool:
        """Whether a stop was asked for."""
        return self.signal is not None

    @property
    def exit_code(self) -> int:
        """By the custom of shells: 130 after Ctrl-C, 143 after SIGTERM."""
        return 128 + (self.signal or 0)

    def pass_on(self) -> None:
        """What the signal would have done, now that all is saved."""
        if self.signal == signal.SIGINT:
            raise KeyboardInterrupt
        if self.signal is not None:
            raise SystemExit(self.exit_code)

    def __enter__(self) -> "StopRequest":
        """Take the signals over; only the main thread of a program can."""
        self.before: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            self.before = {number: signal.signal(number, self._note) for number in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        """Give them back."""
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        # print() may be what was interrupted, and can't be called again within itself.
        if self.signal is None:
            self.signal, self.at = number, time.monotonic()
            os.write(2, b"\nstopping after this update ... (again: at once, without saving)\n")
        elif time.monotonic() - self.at > PATIENCE:
            raise Abandoned

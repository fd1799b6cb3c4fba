"""Records of experiments as one self-contained HTML page."""

from odrpo.report.build import build_report

__all__ = ["build_report"]

from pathlib import Path

import pytest

from odrpo.experiments.findings import Findings, read_findings
from odrpo.experiments.publish import publish
from tests.experiments.made_up import made_up


def test_none_without_a_file(tmp_path: Path) -> None:
    assert read_findings(tmp_path) == Findings()


def test_they_are_on_the_page(tmp_path: Path) -> None:
    (tmp_path / "findings.toml").write_text(
        'agrees = ["The same."]\ndiffers = ["Not this."]\n[ablations]\nbeta = "Solve it."\n'
    )
    publish([made_up("CartPole-v1", "odrpo-kl", variant="held-beta")], tmp_path)
    page = (tmp_path / "results.md").read_text()
    assert page.index("## First, the limits") < page.index("- The same.") < page.index("Not this.")
    assert "Solve it.\n" in page


def test_a_question_that_there_is_not_is_told(tmp_path: Path) -> None:
    (tmp_path / "findings.toml").write_text('[ablations]\nbetta = "Solve it."\n')
    with pytest.raises(ValueError, match="ablations: there is no betta; use metric, ties, beta"):
        read_findings(tmp_path)


@pytest.mark.parametrize("text", ["agrees = 'one'", "agrees = [1]", "ablations = []", "x = 1", "="])
def test_another_form_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "findings.toml").write_text(text)
    with pytest.raises(ValueError, match=r"findings.toml: .*; it may have agrees and differs"):
        read_findings(tmp_path)

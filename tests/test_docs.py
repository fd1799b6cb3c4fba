"""Every python block in README and docs runs, and prints what the text block after it says."""

import contextlib
import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from odrpo.experiments.ablations import ABLATIONS, every_ablation
from odrpo.experiments.findings import read_findings
from odrpo.experiments.page import results_page
from odrpo.experiments.record import read_all
from odrpo.experiments.results import Results
from odrpo.experiments.tables import at_a_glance, every_table
from odrpo.experiments.variants import VARIANTS

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_print_what_they_say(page: Path, monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    blocks = BLOCK.findall(page.read_text())
    names: dict = {}
    for (language, code), following in zip(blocks, [*blocks[1:], ("", "")], strict=False):
        if language != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(page), "exec"), names)
        if following[0] == "text":
            assert printed.getvalue().strip() == following[1].strip()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_shipped_problem_comes_from_its_script(tmp_path) -> None:
    script = shutil.copy(ROOT / "examples" / "machine_repair.py", tmp_path)
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert run.stdout.count("gap") == 4
    written, shipped = (
        json.loads((folder / "machine_repair.json").read_text())
        for folder in (tmp_path, ROOT / "examples")
    )
    assert written.keys() == shipped.keys()
    for name in ("advantages", "policy", "weights"):
        np.testing.assert_allclose(written[name], shipped[name], atol=2e-6)


def test_the_results_are_those_of_the_records() -> None:
    """`odrpo reproduce --page docs/results.md` makes the page; the README has its summary."""
    results, page = ROOT / "results", ROOT / "docs" / "results.md"
    records, findings = read_all(results), read_findings(results)
    tables = every_table(records), every_ablation(records, findings.ablations)
    expected = results_page(records, findings, page, results / "figures", *tables)
    assert page.read_text() == expected
    glance = at_a_glance(Results(records))
    assert glance.markdown() in (ROOT / "README.md").read_text()
    every = [glance, *tables[0], *tables[1]]
    files = {path.name for path in (results / "tables").iterdir()}
    assert files == {f"{table.name}.{kind}" for table in every for kind in ("md", "tex")}
    for table in every:
        whole = results / "tables" / table.name
        assert table.markdown() in whole.with_suffix(".md").read_text()
        assert whole.with_suffix(".tex").read_text() == table.latex()


def test_every_ablation_says_what_it_shows() -> None:
    assert read_findings(ROOT / "results").ablations.keys() == set(ABLATIONS)


def test_every_ablation_is_named_where_the_help_says() -> None:
    text = (ROOT / "docs" / "reproduce.md").read_text()
    assert [name for name in VARIANTS if f"`{name}`" not in text] == []


@pytest.mark.parametrize("table", ["results/benchmarks/trust.md", "results/soak.md"])
def test_what_is_measured_of_reliability_is_in_its_page(table: str) -> None:
    assert (ROOT / table).read_text() in (ROOT / "docs" / "reliability.md").read_text()

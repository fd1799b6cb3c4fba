import re
from pathlib import Path

import numpy as np
import pytest

from odrpo.experiments import statistics
from odrpo.experiments.ablations import QUESTIONS, every_ablation
from odrpo.experiments.cells import best_mean
from odrpo.experiments.limits import limits
from odrpo.experiments.publish import publish
from odrpo.experiments.results import Results
from odrpo.experiments.table import Cell, Table, number
from odrpo.experiments.tables import at_a_glance, every_table
from odrpo.experiments.variants import VARIANTS
from odrpo.report.table import table_html
from tests.experiments.made_up import made_up


def of(records: list, name: str) -> dict[str, list[str]]:
    """The rows of a table by their first two cells."""
    table = next(table for table in every_table(records) if table.name == name)
    return {f"{row[0].text}|{row[1].text}": [cell.text for cell in row] for row in table.rows}


def test_last_tenth_shows_seeds_beside_the_paper() -> None:
    records = [made_up("Taxi-v4", "odrpo-kl", seed, level=float(seed)) for seed in (0, 2)]
    records += [made_up("Taxi-v4", "ppo", level=-300.0)]
    rows = of(records, "last_tenth")
    here = rows["Taxi-v4|here, 1 k steps"]
    assert here[2] == "1.0 ± 1.4 (2)"
    assert here[6] == "-300 (1)"
    assert here[3] == "-"
    assert rows["|paper, 300 k steps"][2] == "-16 ± 10"


def test_where_the_paper_counts_episodes_equal_timesteps_have_a_row_of_their_own() -> None:
    """What a run learned after the paper's 200 episodes counts in the second row alone."""
    steps = np.arange(1.0, 401)
    late = np.stack([steps, np.where(steps > 200, 500.0, 0.0), np.ones(400)], axis=1)
    records = [made_up("CartPole-v1", "odrpo-kl", level=400.0)]
    records += [made_up("CartPole-v1", "ppo", played=late)]
    rows = of(records, "last_tenth")
    assert rows["CartPole-v1|here, 200 episodes of 1 k steps"][6] == "0 (1)"
    assert rows["|here, 1 k steps"][6] == "500 (1)"
    against = of(records, "against_baselines")
    differences = next(iter(against.values()))[3:6]
    assert differences == ["+400", "-100 (-20 %)", "+93 (+30 %)"]  # the paper's TRPO has 307


def test_the_papers_timesteps_have_rows_of_their_own() -> None:
    whole = {"variant": "paper-budget", "timesteps": 1_000_000}
    records = [made_up("Hopper-v5", "odrpo-kl", level=3000.0)]
    records += [made_up("Hopper-v5", "odrpo-kl", seed, 3600.0, **whole) for seed in (0, 1)]
    assert of(records, "last_tenth")["Hopper-v5|here, 1 k steps"][2] == "3000 (1)"
    assert of(records, "last_tenth")["|here, 1 M steps"][2:4] == ["3600 ± 0 (2)", "-"]
    assert of(records, "greedy")["|here, 1 M steps"][2] == "3600 ± 0 (2)"
    assert of(records, "timesteps")["|here, 1 M steps"][2] == "0.2 k (2/2)"
    short, longer = at_a_glance(Results(records)).rows
    assert short[2].text == "3000"
    assert [cell.text for cell in longer] == ["", "1 M steps", "3600", "-", "-", "3600", "", "", ""]
    bold = [cell.text for cell in every_table(records)[0].rows[1] if cell.bold]
    assert bold == []  # there is none that it could be better than
    told = " ".join(limits(records))
    assert "ODRPO-KL has all of the paper's on Hopper-v5 (2 seeds) too." in told
    assert "Hopper-v5 1 k." in told
    assert "Below our goals" not in told  # 3500, which is for these timesteps
    assert "Below our goals" in " ".join(limits(records[:1]))


def test_the_limits_are_those_of_the_records() -> None:
    records = [made_up("CartPole-v1", "odrpo-kl", level=400.0), made_up("CartPole-v1", "ppo")]
    told = " ".join(limits(records))
    assert "CartPole-v1 1 k." in told
    assert "commit" not in told  # which made_up does not know
    known = [made_up("Taxi-v4", "ppo", k, commit=c) for k, c in enumerate(["1234abc", "<b>"])]
    assert "these runs are of 1 commit, 1234abc; each" in " ".join(limits(known))
    assert "a model of the transitions" not in told
    assert "ODRPO-Wass, ODRPO-Sinkhorn, TRPO and A2C on CartPole-v1. What" in told
    assert (
        "**Below our goals**, which are for the paper's budgets, in training: CartPole-v1 400 (480)"
        in told
    )
    other = " ".join(limits([made_up("Taxi-v4", "odrpo-kl", level=8.0)]))
    assert "a model of the transitions" in other
    assert "Below our goals" not in other


def test_the_best_mean_is_bold() -> None:
    records = [made_up("Taxi-v4", "odrpo-kl", level=1.0), made_up("Taxi-v4", "ppo", level=2.0)]
    table = every_table(records)[0]
    assert [cell.text for cell in table.rows[0] if cell.bold] == ["2 (1)"]


def test_timesteps_to_a_threshold_count_who_never_got_there() -> None:
    levels = (250.0, 250.0, 0.0)
    records = [made_up("CartPole-v1", "odrpo-kl", k, level) for k, level in enumerate(levels)]
    here = of(records, "timesteps")["CartPole-v1, 200|here"]
    assert here[2] == "0.2 k (2/3)"
    records = [made_up("CartPole-v1", "odrpo-kl", level=0.0)]
    assert of(records, "timesteps")["CartPole-v1, 200|here"][2] == "never (0/1)"
    levels = (250.0, 0.0, 0.0)  # no median, but not never
    records = [made_up("CartPole-v1", "odrpo-kl", k, level) for k, level in enumerate(levels)]
    assert of(records, "timesteps")["CartPole-v1, 200|here"][2] == "- (1/3)"


def test_a_baseline_that_was_not_run_is_the_papers() -> None:
    ours = made_up("CartPole-v1", "odrpo-kl", level=407.0)
    table = {k.split("|")[0]: v for k, v in of([ours], "against_baselines").items()}
    assert table["CartPole-v1"][2] == "307 (TRPO, paper)"
    assert table["CartPole-v1"][3] == "+100 (+33 %)"
    theirs = made_up("CartPole-v1", "a2c", level=500.0)
    table = {k.split("|")[0]: v for k, v in of([ours, theirs], "against_baselines").items()}
    assert table["CartPole-v1"][2] == "500 (A2C, here)"
    assert table["CartPole-v1"][3] == "-93 (-19 %)"


def test_runs_of_a_short_budget_are_not_timed() -> None:
    short = made_up("CartPole-v1", "odrpo-kl")
    assert "wall_clock" not in [table.name for table in every_table([short])]
    full = made_up("CartPole-v1", "odrpo-kl", 1, timesteps=100_000, taken=200_000)
    assert of([short, full], "wall_clock")["ODRPO-KL|1.0 (1.0)"][1:] == ["1.0 (1.0)", "63"]
    slow = made_up("CartPole-v1", "odrpo-kl", 2, timesteps=100_000, taken=200_000, seconds=9.0)
    assert "ODRPO-KL|2.8 (4.5)" in of([full, slow], "wall_clock")


def test_the_return_of_a_taxi_adds_up() -> None:
    counts = {"dropoffs": [1.0, 0.0], "illegal": [0.0, 3.0], "lengths": [13.0, 200.0]}
    returns = [21 * d - 9 * i - t for d, i, t in zip(*counts.values(), strict=True)]
    record = made_up("Taxi-v4", "trpo", evaluation=counts | {"returns": returns})
    rows = of([record], "taxi")
    assert rows["TRPO|here"][2:] == ["0.500", "1.500", "106.500", "-109.500"]
    assert rows["ODRPO-KL|paper"][2:] == ["0.995", "0.732", "18.556", "-5.976"]


def test_tables_without_records_are_left_out(tmp_path: Path) -> None:
    assert every_table([]) == []
    assert publish([], tmp_path) == []


def test_tables_and_figures_are_written(tmp_path: Path) -> None:
    records = [made_up(env, "odrpo-kl", k) for env in ("Taxi-v4", "Ant-v5") for k in range(3)]
    publish(records, tmp_path)
    assert (tmp_path / "tables" / "last_tenth.tex").read_text().count(r"\\") == 5
    pictures = sorted(path.stem for path in (tmp_path / "figures").glob("*.png"))
    assert pictures == ["certificates", "curves_episodes", "curves_seconds", "curves_timesteps"]
    page = (tmp_path / "results.md").read_text()
    linked = re.findall(r"\]\((.*?)\)", page)
    assert len(linked) == 4
    assert all((tmp_path / link).exists() for link in linked)


def test_tasks_beyond_the_paper_have_a_table_of_their_own() -> None:
    records = [made_up("Pendulum-v1", "odrpo-kl", seed, level=float(seed)) for seed in (3, 1)]
    records += [made_up("Taxi-v4", "odrpo-kl")]
    assert of(records, "elsewhere")["Pendulum-v1|1 k steps"][2] == "2 (1 3)"
    assert "Pendulum" not in str(of(records, "greedy"))


def test_at_a_glance_takes_the_best_baseline() -> None:
    records = [made_up("Taxi-v4", "odrpo-kl", level=7.0), made_up("Taxi-v4", "ppo", level=-300.0)]
    records += [made_up("Taxi-v4", "trpo", level=-200.0), made_up("Ant-v5", "odrpo-kl", level=9.0)]
    taxi, ant = at_a_glance(Results(records)).rows
    texts = [cell.text for cell in taxi]
    assert texts == ["Taxi-v4", "1 k steps", "7", "-", "-", "7", "-200 (TRPO)", "-16", "7.93"]
    assert ant[6].text == "1751 (PPO of the paper)"


def test_baselines_with_the_defaults_of_their_library_are_marked() -> None:
    records = [
        made_up("Taxi-v4", method, level=level, config={"source": source})
        for method, level, source in (
            ("ppo", -300.0, "defaults"),
            ("a2c", -200.0, "RL Baselines3 Zoo"),
        )
    ]
    (table, *_) = every_table(records)
    assert [cell.text for cell in table.rows[0]][6:8] == ["-300 (1) †", "-200 (1)"]
    assert table.notes[-1].startswith("† The library's defaults")
    assert "(1) $\\dagger$ &" in table.latex()
    assert all("†" not in note for note in every_table(records[1:])[0].notes)


def test_learners_from_replay_stand_beside_ours() -> None:
    records = [made_up("Hopper-v5", "odrpo-kl", seed, 3000.0 + seed) for seed in (0, 2)]
    records += [made_up("Hopper-v5", "odrpo-kl", level=3600.0, variant="paper-budget")]
    rows = of(records, "from_replay")
    assert rows["Hopper-v5|3001 ± 1 (2) after 1 k steps"][2:] == ["2326", "3606", "3754"]
    assert rows["|3600 (1) after 1 k steps"][2:] == [""] * 3


def test_what_is_no_number_hides_no_best_one() -> None:
    assert best_mean([np.array([np.nan]), np.array([5.0, 7.0])]) == 6
    assert best_mean([np.array([5.0])]) is None
    assert best_mean([np.array([np.nan]), np.array([np.nan])]) is None


def test_more_than_chance_is_starred() -> None:
    levels = {"": (10, 11, 12, 13, 14), "held-beta": (5, 6, 7, 8, 9), "decaying-beta": (9, 14) * 2}
    records = [
        made_up("CartPole-v1", "odrpo-kl", seed, float(level), variant=variant)
        for variant, own in levels.items()
        for seed, level in enumerate(own)
    ]
    (table,) = (t for t in every_ablation(records, {}) if t.name == "ablation_beta")
    assert [cell.text[-1] for cell in table.rows[0][2:]] == [")", "*", ")"]


def test_an_ablation_stands_beside_the_preset() -> None:
    records = [made_up("CartPole-v1", "odrpo-kl", seed, level=10.0 + seed) for seed in (0, 1)]
    records += [made_up("CartPole-v1", "odrpo-kl", level=5.0, variant="held-beta")]
    tables = {table.name: table for table in every_ablation(records, {"beta": "It shows."})}
    table = tables["ablation_beta"]
    assert table.notes[0] == "It shows."
    assert table.header[2:5] == ["exact", "held-beta", "decaying-beta"]
    assert [cell.text for cell in table.rows[0][2:]] == ["10.5 (10 11)", "5 (5)", "-"]
    assert [cell.bold for cell in table.rows[0][2:]] == [True, False, False]


def test_the_use_of_the_radius_is_a_mean_and_the_largest() -> None:
    updates = {"distance": [0.1, 0.3], "radius": [0.1, 0.1]}
    records = [made_up("CartPole-v1", "odrpo-kl", updates=updates, largest_use=3.0)]
    records += [made_up("CartPole-v1", "odrpo-kl", variant="held-beta", largest_use=7.0)]
    (table,) = (t for t in every_ablation(records, {}) if t.name == "ablation_use")
    assert [cell.text for cell in table.rows[0][2:5]] == ["2, 3", "-", "1, 7"]


def test_every_variant_has_a_question() -> None:
    assert {variant.question for variant in VARIANTS.values()} == set(QUESTIONS)


def test_records_of_baselines_alone_are_published(tmp_path: Path) -> None:
    publish([made_up("CartPole-v1", "ppo")], tmp_path)
    assert (tmp_path / "figures" / "curves_timesteps.png").exists()
    assert "certificates" not in (tmp_path / "results.md").read_text()


def test_tasks_beyond_the_paper_alone_are_published(tmp_path: Path) -> None:
    assert tmp_path / "figures" not in publish([made_up("Pendulum-v1", "odrpo-kl")], tmp_path)
    page = (tmp_path / "results.md").read_text()
    assert "none of these is the paper's" in page
    assert "![" not in page
    assert not (tmp_path / "tables" / "at_a_glance.md").exists()


def test_nothing_stays_of_records_that_are_gone(tmp_path: Path) -> None:
    record = made_up("CartPole-v1", "odrpo-kl")
    publish([record, made_up("CartPole-v1", "odrpo-kl", variant="held-beta")], tmp_path)
    mine = tmp_path / "tables" / "mine.md"
    mine.write_text("mine")
    assert (tmp_path / "tables" / "ablation_beta.tex").exists()
    publish([record], tmp_path)
    assert not list((tmp_path / "tables").glob("ablation_beta.*"))
    assert mine.exists()
    assert (tmp_path / "figures" / "certificates.png").exists()
    publish([made_up("CartPole-v1", "ppo")], tmp_path)
    assert not (tmp_path / "figures" / "certificates.png").exists()


def test_each_comparison_is_made_once(tmp_path: Path, monkeypatch) -> None:
    asked = []
    monkeypatch.setattr(statistics, "by_chance", lambda *values: asked.append(values) or 1.0)
    record = made_up("CartPole-v1", "odrpo-kl")
    publish([record, made_up("CartPole-v1", "odrpo-kl", variant="held-beta")], tmp_path)
    assert len(asked) == 1


def test_runs_without_updates_have_no_certificates(tmp_path: Path) -> None:
    publish([made_up("CartPole-v1", "odrpo-kl", updates={})], tmp_path)
    assert not (tmp_path / "figures" / "certificates.png").exists()


def test_notes_are_markdown() -> None:
    table = Table("t", "title", ["a"], [[Cell("1")]], ["**Bold** and `code` < 1"])
    assert "<b>Bold</b> and <code>code</code> &lt; 1" in table_html(table)
    assert r"\textbf{Bold} and \texttt{code} $<$ 1" in table.latex()


def test_latex_has_minus_signs_and_one_stop_after_a_question() -> None:
    row = [Cell("Taxi-v4"), Cell("-200.5 ± 3 (-201 -199)"), Cell("-", True), Cell("1e-07")]
    text = Table("t", "Which?", ["a", "b", "c", "d"], [row], ["All."]).latex()
    assert r"Taxi-v4 & $-$200.5 $\pm$ 3 ($-$201 $-$199) & \textbf{-} & 1e-07 \\" in text
    assert r"\caption{Which? All.}" in text
    assert r"\caption{What is.}" in Table("t", "What is", ["a"], [[Cell("1")]]).latex()


def test_a_second_column_of_words_is_told_from_one_of_numbers() -> None:
    rows = [[Cell("a"), Cell("here, 1 k")], [Cell(""), Cell("paper")]]
    assert "<table class=words>" in table_html(Table("t", "title", ["task", ""], rows))
    rows.append([Cell("b"), Cell("-200")])
    assert "<table>" in table_html(Table("t", "title", ["task", ""], rows))


def test_texts_are_escaped_in_each_format() -> None:
    text = "<script>&|_%$ {x} ±"
    table = Table("t", text, [text, "b"], [[Cell(text, True), Cell("1")]], [text])
    assert "<script>" not in table_html(table)
    assert "&lt;script&gt;&amp;" in table_html(table)
    assert r"\|" in table.markdown()
    assert r"$<$script$>$\&|\_\%\$ \{x\} $\pm$" in table.latex()


@pytest.mark.parametrize(
    ("value", "text"),
    [(12345.6, "12346"), (97.34, "97.34"), (-4.1, "-4.1"), (0.9951, "0.995"), (None, "-")],
)
def test_numbers_have_the_digits_that_matter(value: float | None, text: str) -> None:
    assert number(value) == text

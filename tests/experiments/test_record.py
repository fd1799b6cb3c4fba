import gzip
import json
import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import odrpo
from odrpo.experiments import ours
from odrpo.experiments.record import (
    CERTIFICATE,
    Record,
    read,
    read_all,
    surroundings,
    thinned,
    write,
)
from odrpo.experiments.runs import Run
from tests.experiments.made_up import made_up
from tests.faults import NETWORK


def same(one: Record, other: Record) -> bool:
    others = [f.name for f in fields(Record) if f.name != "played"]
    return np.allclose(one.played, other.played, rtol=1e-5) and all(
        getattr(one, name) == getattr(other, name) for name in others
    )


def test_a_record_comes_back_as_it_was(tmp_path: Path) -> None:
    record = made_up("CartPole-v1", "odrpo-kl", 3, variant="held-beta")
    file = tmp_path / "records" / "CartPole-v1" / "odrpo-kl+held-beta" / "3.json.gz"
    write(record, file)
    assert same(read(file), record)
    assert [found.label for found in read_all(tmp_path)] == ["odrpo-kl+held-beta"]


def test_records_of_before_updates_were_counted_have_none_refused(tmp_path: Path) -> None:
    file = tmp_path / "record.json.gz"
    write(made_up("CartPole-v1", "odrpo-kl", refused=3), file)
    assert read(file).refused == 3
    values = json.loads(gzip.decompress(file.read_bytes()))
    del values["refused"]
    file.write_bytes(gzip.compress(json.dumps(values).encode()))
    assert read(file).refused == 0


def test_a_record_says_how_many_updates_were_refused(tmp_path: Path, monkeypatch) -> None:
    settings = NETWORK | {"policy_rate": 0.3, "farthest": 1.0}
    model = odrpo.ODRPO("CartPole-v1", **settings)
    monkeypatch.setattr(ours, "model_of", lambda run: model)
    with pytest.warns(RuntimeWarning, match="was refused"):
        record = ours.run_ours(Run("CartPole-v1", "odrpo-kl", 0, 64), tmp_path, lambda: False)
    assert record is not None
    assert record.refused == model.records.refused > 0


def test_the_same_record_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(made_up("CartPole-v1", "ppo"), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert not list(tmp_path.glob("*.partial"))


@pytest.mark.parametrize("kept", [0, 1, 20, 200])
def test_a_torn_file_is_named(tmp_path: Path, kept: int) -> None:
    file = tmp_path / "records" / "a" / "b" / "0.json.gz"
    write(made_up("CartPole-v1", "ppo"), file)
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(ValueError, match=r"0\.json\.gz: it is no record"):
        read_all(tmp_path)


@pytest.mark.parametrize(
    "values", [[], {}, {"format": 2}, {"format": 1}, {"format": 1, "played": {"steps": "x"}}]
)
def test_what_is_no_record_is_refused(tmp_path: Path, values: object) -> None:
    file = tmp_path / "record.json.gz"
    file.write_bytes(gzip.compress(json.dumps(values).encode()))
    with pytest.raises(ValueError, match="it is no record"):
        read(file)


@pytest.mark.parametrize(
    "changed",
    [
        {"env": None},
        {"seed": "x"},
        {"timesteps": "x"},
        {"taken": 0},
        {"seconds": None},
        {"refused": -1},
        {"machine": None},
        {"updates": {"beta": [1.0]}},
        {"updates": {name: [1.0] * (2 if name == "gap" else 1) for name in CERTIFICATE}},
        {"evaluation": {}},
        {"evaluation": {"returns": [], "lengths": []}},
        {"evaluation": {"returns": [float("nan")], "lengths": [1.0]}},
        {"env": "Taxi-v4"},
        {"played": {"steps": [1], "returns": [None], "lengths": [1]}},
    ],
)
def test_values_that_no_table_could_show_are_refused(tmp_path: Path, changed: dict) -> None:
    file = tmp_path / "record.json.gz"
    write(made_up("CartPole-v1", "odrpo-kl"), file)
    values = json.loads(gzip.decompress(file.read_bytes()))
    file.write_bytes(gzip.compress(json.dumps(values | changed).encode()))
    named = "evaluation" if changed == {"env": "Taxi-v4"} else next(iter(changed))
    with pytest.raises(ValueError, match=rf"it is no record \({named}"):
        read(file)


def test_a_copy_is_no_other_seed(tmp_path: Path) -> None:
    folder = tmp_path / "records" / "CartPole-v1" / "ppo"
    write(made_up("CartPole-v1", "ppo", 0), folder / "0.json.gz")
    write(made_up("CartPole-v1", "ppo", 0), folder / "1.json.gz")
    with pytest.raises(ValueError, match=r"1\.json\.gz: it is the record of .*0\.json\.gz"):
        read_all(tmp_path)


def test_updates_are_thinned_evenly_over_time_with_the_last() -> None:
    # A run folder keeps all of the first ones, and every tenth from then on.
    at = [*range(1000), *range(1000, 10_001, 10)]
    updates = [dict.fromkeys(CERTIFICATE, float(k)) for k in at]
    updates[0]["beta"] = np.inf
    kept = thinned(updates, CERTIFICATE)
    assert len(kept["beta"]) == 200
    assert kept["timesteps"][0] == 0
    assert kept["timesteps"][-1] == 10_000
    assert np.diff(kept["timesteps"]).max() <= 2 * 10_000 / 200
    assert kept["beta"][0] is None
    assert thinned([], CERTIFICATE) == {}


def test_the_commit_is_known_where_there_is_git(monkeypatch) -> None:
    if (Path(odrpo.__file__).parents[2] / ".git").exists():
        assert re.fullmatch(r"[0-9a-f]{7,40}\+?", surroundings()["commit"])
    monkeypatch.setenv("PATH", "")
    assert surroundings()["commit"] == "unknown"

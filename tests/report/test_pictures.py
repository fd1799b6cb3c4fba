"""Pictures of what policies do: drawn, kept, and shown without their models."""

import io
import os
from pathlib import Path

import numpy as np
import pytest
from gymnasium.envs.classic_control import CartPoleEnv
from PIL import Image

from odrpo.experiments.findings import Findings
from odrpo.report import build_report
from odrpo.report.film import FRAMES, film_strip
from odrpo.report.picture import SMALL, Picture, read_picture, small_png
from odrpo.report.pictures import every_picture, picture_of
from tests.experiments.made_up import made_up
from tests.report.made_up import HOSTILE, some_records


def test_a_policy_of_a_grid_is_drawn(tmp_path: Path) -> None:
    import odrpo

    for env in ("CliffWalking-v1", "NChain-v0", "Taxi-v4", "CartPole-v1"):
        model = odrpo.ODRPO(env).learn(500, progress_bar=False)
        model.save(tmp_path / "model.odrpo")
        picture = picture_of(tmp_path / "model.odrpo")
        assert picture.png.startswith(b"\x89PNG")
        assert env.split("-")[0] in picture.html()


def test_a_film_renders_the_moments_that_it_shows_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    import odrpo

    kept = []
    render = CartPoleEnv.render
    monkeypatch.setattr(CartPoleEnv, "render", lambda env: kept.append(env.state) or render(env))
    film_strip(odrpo.ODRPO("CartPole-v1"))
    assert len(kept) == FRAMES
    assert (np.diff([state[2] for state in kept]) != 0).all()  # the pole moves from one to the next


def a_picture(width: int = 40) -> Picture:
    noise = np.random.default_rng(0).integers(256, size=(width, width, 3), dtype=np.uint8)
    return Picture(f"Chain {HOSTILE}", "The least β*.", small_png(Image.fromarray(noise)))


def test_pictures_are_small_and_keep_their_words(tmp_path: Path) -> None:
    picture = a_picture(1000)
    assert len(picture.png) <= SMALL
    for name in ("one.png", "two.png"):
        picture.write(tmp_path / "new" / name)
    kept = read_picture(tmp_path / "new" / "one.png")
    assert (kept.title, kept.caption) == (picture.title, picture.caption)
    assert kept.png == (tmp_path / "new" / "two.png").read_bytes()
    pixels = [np.asarray(Image.open(io.BytesIO(p.png)).convert("RGB")) for p in (picture, kept)]
    assert (pixels[0] == pixels[1]).all()
    assert HOSTILE not in kept.html()
    assert "&lt;/script&gt;" in kept.html()


def test_pictures_are_kept_and_shown_without_their_models(tmp_path: Path) -> None:
    import odrpo

    records = [made_up(env, "odrpo-kl") for env in ("NChain-v0", "CartPole-v1")]
    said: list[str] = []
    model = tmp_path / "runs" / "NChain-v0" / "odrpo-kl" / "0" / "model.odrpo"
    odrpo.ODRPO("NChain-v0").save(model)
    drawn = every_picture(tmp_path, records, True, said.append)
    assert said == ["drawing NChain-v0 ..."]
    model.unlink()
    kept = every_picture(tmp_path, records, True, said.append)
    assert [p.title for p in kept] == [p.title for p in drawn] == ["NChain-v0, ODRPO-KL, seed 0"]
    assert len(said) == 1
    assert every_picture(tmp_path, records[1:], True, said.append) == []


def test_what_a_variant_does_is_shown_where_there_is_nothing_else(tmp_path: Path) -> None:
    import odrpo

    records = [made_up("NChain-v0", "odrpo-kl"), made_up("NChain-v0", "odrpo-kl", variant="paper")]
    runs = tmp_path / "runs" / "NChain-v0"
    odrpo.ODRPO("NChain-v0").save(runs / "odrpo-kl+paper" / "0" / "model.odrpo")
    (picture,) = every_picture(tmp_path, records, True, print)
    assert picture.title == "NChain-v0, ODRPO-KL, seed 0, paper"
    odrpo.ODRPO("NChain-v0").save(runs / "odrpo-kl" / "0" / "model.odrpo")
    for _ in range(2):  # drawn, then kept
        (picture,) = every_picture(tmp_path, records, True, print)
        assert picture.title == "NChain-v0, ODRPO-KL, seed 0"
        (runs / "odrpo-kl" / "0" / "model.odrpo").unlink(missing_ok=True)


def test_what_can_not_be_drawn_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import odrpo

    def fails(env: CartPoleEnv) -> None:
        raise RuntimeError("no screen")

    monkeypatch.setattr(CartPoleEnv, "render", fails)
    odrpo.ODRPO("CartPole-v1").save(
        tmp_path / "runs" / "CartPole-v1" / "odrpo-kl" / "0" / "model.odrpo"
    )
    said: list[str] = []
    assert every_picture(tmp_path, [made_up("CartPole-v1", "odrpo-kl")], True, said.append) == []
    assert said[-1] == "not drawn: CartPole-v1 can't draw itself (RuntimeError: no screen)"


def test_a_model_that_is_damaged_gives_way_to_the_kept_picture(tmp_path: Path) -> None:
    model = tmp_path / "runs" / "NChain-v0" / "odrpo-kl" / "0" / "model.odrpo"
    model.parent.mkdir(parents=True)
    model.write_bytes(b"no model")
    a_picture().write(tmp_path / "pictures" / "NChain-v0.png")
    said: list[str] = []
    shown = every_picture(tmp_path, [made_up("NChain-v0", "odrpo-kl")], True, said.append)
    assert [p.title for p in shown] == [a_picture().title]
    assert "not drawn" in said[-1]


def test_damaged_pictures_are_skipped_in_a_line(tmp_path: Path) -> None:
    file = tmp_path / "pictures" / "Taxi-v4.png"
    a_picture().write(file)
    whole = file.read_bytes()
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :]
    jpeg = io.BytesIO()
    Image.new("RGB", (9, 9)).save(jpeg, "JPEG")
    for damaged in (whole[:middle], flipped, b"", b"no picture", jpeg.getvalue(), bytes(3_000_000)):
        file.write_bytes(damaged)
        said: list[str] = []
        assert every_picture(tmp_path, [made_up("Taxi-v4", "ppo")], True, said.append) == []
        assert len(said) == 1
        assert "Taxi-v4.png: it is no PNG" in said[0]


def test_a_task_that_is_a_path_leads_nowhere(tmp_path: Path) -> None:
    a_picture().write(tmp_path / "secret.png")
    folder = tmp_path / "results"
    (folder / "pictures").mkdir(parents=True)
    assert every_picture(folder, [made_up("../../secret", "ppo")], True, print) == []


def test_a_link_in_a_folder_leads_nowhere(tmp_path: Path) -> None:
    precious, file = tmp_path / "precious", tmp_path / "a.png"
    precious.write_text("mine")
    for name in (file.name, f".{file.name}.{os.getpid()}.partial"):
        (tmp_path / name).symlink_to(precious)
    Picture("a", "b", small_png(Image.new("RGB", (4, 4)))).write(file)
    assert precious.read_text() == "mine"
    assert read_picture(file).caption == "b"


def test_without_pictures_the_page_says_why() -> None:
    text = build_report(some_records(), Findings())
    assert "There are none" in text
    assert "<code>odrpo reproduce</code>" in text
    assert "There are none" not in build_report(some_records(), Findings(), [a_picture()])

"""The ring of transitions: what is drawn is what was put in."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from odrpo.replay import Replay
from odrpo.rollout import Batch


def steps(first: int, count: int, ends: dict[int, str] | None = None) -> Batch:
    """Two environments whose observation counts the steps (the second one adds 1000)."""
    ends = ends or {}
    number = np.arange(first, first + count)
    seen = np.stack([number, number + 1000], axis=1).astype(np.float32)[..., None]
    terminated = np.array([[ends.get(n) == "terminated"] * 2 for n in number])
    truncated = np.array([[ends.get(n) == "truncated"] * 2 for n in number])
    idle = np.array([[ends.get(n) == "idle"] * 2 for n in number])
    return Batch(
        observation=seen,
        action=-seen,
        reward=10 * seen[..., 0],
        next_observation=seen + 1,
        terminated=terminated,
        truncated=truncated,
        time=np.zeros((count, 2), np.int32),
        episode_return=np.zeros((count, 2), np.float32),
        valid=~idle,
    )


def test_what_is_drawn_is_what_was_put_in() -> None:
    replay = Replay(100, 2, seed=0)
    replay.add(steps(0, 20, {7: "terminated", 12: "truncated"}))
    assert len(replay) == 40
    data = replay.draw((5, 200), 1, 0.9)
    assert data.observation.shape == (5, 200, 1)
    seen = data.observation[..., 0]
    assert set(np.unique(seen)) == {*range(20), *range(1000, 1020)}
    np.testing.assert_array_equal(data.action[..., 0], -seen)
    np.testing.assert_array_equal(data.reward, 10 * seen)
    np.testing.assert_array_equal(data.next_observation[..., 0], seen + 1)
    np.testing.assert_array_equal(data.successor[..., 0], seen + 1)
    ended = np.isin(seen, [7, 1007])
    assert ended.any()
    np.testing.assert_array_equal(data.discount, np.where(ended, 0, np.float32(0.9)))


def test_the_oldest_make_room() -> None:
    replay = Replay(20, 2, seed=0)
    for first in range(0, 49, 7):
        replay.add(steps(first, 7))
    seen = replay.draw((2000,), 1, 0.9).observation[:, 0] % 1000
    assert set(np.unique(seen)) == set(range(39, 49))
    replay.add(steps(100, 25))
    seen = replay.draw((2000,), 1, 0.9).observation[:, 0] % 1000
    assert set(np.unique(seen)) == set(range(115, 125))


@pytest.mark.parametrize("capacity", [100, 24])
def test_several_steps_add_up_to_the_end_of_an_episode(capacity: int) -> None:
    replay = Replay(capacity, 2, seed=0)
    ends = {4: "terminated", 9: "truncated"}
    if capacity == 24:
        replay.add(steps(500, 5))  # overwritten, so that the oldest row lies within the ring
    replay.add(steps(0, 12, ends))
    data = replay.draw((500,), 3, 0.5)
    np.testing.assert_array_equal(data.successor, data.observation + 1)
    for seen, reward, following, discount in zip(
        data.observation[:, 0] % 1000,
        data.reward,
        data.next_observation[:, 0] % 1000,
        data.discount,
        strict=True,
    ):
        last = next(n for n in range(int(seen), int(seen) + 3) if n in ends or n - seen == 2)
        last = min(last, 11)
        extra = 0 if reward < 10_000 else 1000
        taken = np.arange(seen, last + 1)
        expected = sum(0.5**k * 10 * (n + extra) for k, n in enumerate(taken))
        assert reward == pytest.approx(expected)
        assert following == last + 1
        assert discount == (0 if last == 4 else 0.5 ** len(taken))


def test_steps_at_which_nothing_was_done_are_not_drawn() -> None:
    replay = Replay(100, 2, seed=0)
    replay.add(steps(0, 6, {0: "idle", 3: "idle"}))
    seen = replay.draw((500,), 1, 0.9).observation[:, 0] % 1000
    drawn, counts = np.unique(seen, return_counts=True)
    assert set(drawn) == {1, 2, 4, 5}
    assert counts.min() > 80  # of 125 expected of each


def test_nothing_follows_from_what_was_broken_off() -> None:
    replay = Replay(100, 2, seed=0)
    replay.break_off()
    replay.add(steps(0, 6))
    replay.break_off()
    replay.add(steps(50, 6))
    data = replay.draw((500,), 3, 0.5)
    seen, following = data.observation[:, 0] % 1000, data.next_observation[:, 0] % 1000
    np.testing.assert_array_equal(seen < 6, following <= 6)
    assert (data.discount > 0).all()


def test_it_goes_on_from_what_was_saved() -> None:
    def filled() -> Replay:
        replay = Replay(20, 2, seed=3)
        replay.add(steps(0, 17))
        replay.draw((4,), 1, 0.9)
        return replay

    one, other = filled(), Replay(20, 2, seed=0)
    other.restore([one.rows(0, 6), one.rows(6, 17)], one.described())
    for replay in (one, other):
        replay.add(steps(17, 3))
    assert one.reward_square == other.reward_square
    _assert_equal(one.draw((50,), 2, 0.9), other.draw((50,), 2, 0.9))


def test_masks_are_refused() -> None:
    masked = replace(steps(0, 5), mask=np.ones((5, 2, 3), bool))
    with pytest.raises(ValueError, match=r"action_mask.*use critic=.network"):
        Replay(20, 2, seed=0).add(masked)


def test_arrays_of_another_size_are_refused() -> None:
    replay = Replay(20, 2, seed=3)
    replay.add(steps(0, 5))
    with pytest.raises(ValueError, match="not 5 of 4 each"):
        Replay(20, 4, seed=0).restore([replay.rows(0, 5)], replay.described())
    with pytest.raises(ValueError, match="no rows 0 to 2"):
        Replay(20, 2, seed=0).restore([replay.rows(2, 5)], replay.described())


@pytest.mark.parametrize("before", [0, 3, 8, 17, 23])
def test_it_goes_back_to_a_mark(before: int) -> None:
    def filled() -> Replay:
        replay = Replay(20, 2, seed=3)
        if before:
            replay.add(steps(0, before))
            replay.draw((4,), 1, 0.9)
        return replay

    one, other = filled(), filled()
    mark = one.mark(4)
    one.add(steps(500, 4))
    one.draw((9,), 1, 0.9)
    one.forget(mark)
    for replay in (one, other):
        replay.add(steps(50, 2))
    assert one.reward_square == other.reward_square
    _assert_equal(one.draw((50,), 2, 0.9), other.draw((50,), 2, 0.9))


def test_memory_is_taken_as_it_fills() -> None:
    replay = Replay(10**15, 2, seed=0)
    replay.add(steps(0, 6))
    replay.add(steps(6, 3))
    assert len(replay.arrays["reward"]) == 12
    assert len(replay.draw((50,), 3, 0.9).reward) == 50


def _assert_equal(one: Any, other: Any) -> None:
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_huge_reward_spoils_nothing_that_a_file_keeps() -> None:
    """Its square has no room in float32; what is described can be restored."""
    replay = Replay(100, 2, seed=0)
    batch = steps(0, 20)
    batch.reward[3, 0] = 1e30
    replay.add(batch)
    replay.add(steps(20, 20))
    assert np.isfinite(replay.reward_square)
    again = Replay(100, 2, seed=0)
    again.restore([replay.rows(0, 40)], replay.described())
    assert again.reward_square == replay.reward_square

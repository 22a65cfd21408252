"""Tables of a variant: they are made once, since they take milliseconds."""

from __future__ import annotations

import pytest

from tienlen_env.engine.batch import Batch

GAMES = ["cardgames", "thirteens"]


@pytest.mark.parametrize("rules", GAMES)
def test_batches_of_the_same_settings_share_their_tables(rules: str) -> None:
    first, second = (Batch(rules, 3, reward="zero_sum").kernel_arrays for _ in range(2))
    assert first.spec is second.spec
    assert not first.spec.flags.writeable
    assert not first.actions.flags.writeable
    assert first.rows is not second.rows


@pytest.mark.parametrize("rules", GAMES)
@pytest.mark.parametrize(
    "settings", [{"auto_reset": True}, {"reward": "win"}, {"episode": "game"}, {"num_players": 3}]
)
def test_other_settings_have_other_tables(rules: str, settings: dict[str, object]) -> None:
    other = Batch(rules, 1, **settings)  # type: ignore[arg-type]
    assert other.kernel_arrays.spec.tolist() != Batch(rules, 1).kernel_arrays.spec.tolist()


def test_a_value_that_equals_a_valid_one_is_refused_after_it() -> None:
    Batch("cardgames", 1, history=1)
    for history in (True, 1.0):
        with pytest.raises(ValueError, match="history"):
            Batch("cardgames", 1, history=history)  # type: ignore[arg-type]


def test_a_refusal_does_not_make_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = Batch("foicica", 1)
    batch.deal([3])
    illegal = [int((batch.action_mask()[0] == 0).argmax())]
    with pytest.raises(ValueError, match="a leader may not pass"):
        batch.step(illegal)
    monkeypatch.setattr("tienlen_env.games.tienlen.explain.build_spec", None)
    with pytest.raises(ValueError, match="a leader may not pass"):
        batch.step(illegal)

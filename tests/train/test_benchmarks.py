"""The choice of rows that benchmarks have in common."""

from __future__ import annotations

import pytest

from tienlen_agents.settings import ConfigError
from tienlen_train.benchmarks import BenchConfig, chosen


def test_rows_whose_names_contain_the_text_in_their_order() -> None:
    rows = {"Batch b": 1, "search": 2, "Batch a": 3}
    assert list(chosen(BenchConfig(only="Batch"), rows)) == ["Batch b", "Batch a"]
    assert chosen(BenchConfig(), rows) == rows


def test_no_row_is_an_error_that_names_all() -> None:
    with pytest.raises(ConfigError, match="only: expected a part of one of Batch b, search, got 'batch'"):
        chosen(BenchConfig(only="batch"), {"Batch b": 1, "search": 2})

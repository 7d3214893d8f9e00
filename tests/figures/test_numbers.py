"""Numbers are written in one way wherever a person reads them."""

from __future__ import annotations

from core.figures.numbers import count_text, counted, small_text


def test_numbers_are_written_as_people_read_them():
    assert (small_text(0.0123), small_text(1e-9, 1)) == ("0.012", "10⁻⁹")
    assert small_text(4.8e-6) == "4.8\u202f×\u202f10⁻⁶"
    assert (counted(1, "pass", "passes"), counted(1500, "pass", "passes")) == (
        "1 pass",
        "1,500 passes",
    )
    assert (count_text(950), count_text(41_000), count_text(None)) == ("950", "41k", "—")

"""The benchmark of dispersion runs, at a small size, and leaves its store as it was."""

from tests.benchmarks import dispersion
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build


def test_it_prints_what_each_part_costs(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(dispersion, "SIZES", (16, 20))
    store = build(
        tmp_path, PaintedDataset(48), vision=VISION[1:4], language=LANGUAGE[:1], reality=False
    )
    before = sorted(path.name for path in store.rglob("*"))
    dispersion.main(20, (24, 30), store)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "consensus of 2 spaces, n = 20, widths 24 to 30",
        lines[1],
        "consensus of all 3 vision models",
        "consensus of the default models",
        "effect on sets of 16",
        "effect on sets of 20",
        "the same sets of 20 again",
    ]
    assert int(lines[1].split()[0]) > 1
    assert sorted(path.name for path in store.rglob("*")) == before

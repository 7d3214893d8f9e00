"""The benchmark of many stimuli runs, at a small size."""

import numpy as np

from tests.benchmarks.many_stimuli import STREAMED, chunks, main


def test_it_prints_every_comparison_with_its_memory(capsys):
    main(300, 8, 5)
    *streamed, blocks = capsys.readouterr().out.splitlines()[1:]
    for name, line in zip(STREAMED, streamed, strict=True):
        assert line.startswith(f"streamed: {name} 0.")
        assert line.endswith(" GB")
    assert "mutual_knn" in blocks


def test_chunks_are_the_spaces_in_parts():
    x, y = (np.concatenate(parts) for parts in zip(*chunks(5000, 6), strict=True))
    assert x.shape == y.shape == (5000, 6)
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1, rtol=1e-5)

"""The benchmark of throughput runs, at a small size, and its ways see the same pictures."""

import numpy as np
import pytest
import torch

from tests.benchmarks.throughput import BARE, main


@pytest.mark.slow
def test_it_prints_every_way_beside_the_bare_loop(capsys):
    main(["test_resnet", "test_vit"], 6, 1, torch.device("cpu"))
    name, bare, *ways, share = capsys.readouterr().out.splitlines()[-6:]
    assert name == "test_vit"
    assert bare.startswith(f"  {BARE} ")
    assert bare.endswith(" 1.00 of the bare loop,  1.00 by processor time")
    assert len(ways) == 3
    assert all(line.endswith(" by processor time") for line in ways)
    assert np.all(0 < float(share.split("%")[0].split()[-1]) < 100)

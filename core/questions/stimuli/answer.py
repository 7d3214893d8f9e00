"""What a person who browses stimuli is shown of a consensus: it lies on a plane, and every stimulus
has neighbors in it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float64

from core.progress import Progress
from core.questions.stimuli.planes import neighbor_plane, principal_plane
from core.spaces.neighbors import nearest
from core.spaces.preprocess import normalize_rows
from core.study.consensus import consensus
from core.study.keeping import keep
from core.study.study import Study


def lay_out(
    study: Study, spaces: Sequence[str], *, by: str, seed: int = 0, report: Progress | None = None
) -> pd.DataFrame:
    """Lay the stimuli out by where they lie in the consensus of these spaces: x, y, share_x,
    share_y, a row per stimulus.

    by: `pca`, or `umap` with its seed. The shares are those of the variance along x and y, NaN of
    UMAP, whose axes mean nothing. Raises as `core.study.consensus.consensus` and
    `core.questions.stimuli.planes`.
    """
    joint = _coordinates(consensus(study, spaces, report=report))
    if by == "pca":
        scores, shares = principal_plane(joint)
        return pd.DataFrame(scores, columns=["x", "y"]).assign(share_x=shares[0], share_y=shares[1])
    recipe = study.recipe("stimulus-plane", _models(spaces), spaces=list(spaces), by=by, seed=seed)
    return keep(study, recipe, lambda: _umap(joint, seed))


def near_in_consensus(
    study: Study, spaces: Sequence[str], *, k: int, report: Progress | None = None
) -> pd.DataFrame:
    """Find the k nearest stimuli of each stimulus in the consensus, most similar first: columns
    rank_1 … rank_k.

    The rule is that of all neighbors: the cosine of the angle. Raises as
    `core.study.consensus.consensus` and `nearest`.
    """
    joint = _coordinates(consensus(study, spaces, report=report))
    found = nearest(normalize_rows(joint), k=k)
    return pd.DataFrame(found, columns=[f"rank_{rank + 1}" for rank in range(k)])


def _coordinates(table: pd.DataFrame) -> Float64[np.ndarray, "n k"]:
    return table.filter(like="axis_").to_numpy(np.float64)


def _umap(joint: Float64[np.ndarray, "n k"], seed: int) -> pd.DataFrame:
    return pd.DataFrame(neighbor_plane(joint, seed=seed), columns=["x", "y"]).assign(
        share_x=np.nan, share_y=np.nan
    )


def _models(spaces: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(space.rpartition(":")[0] for space in spaces))

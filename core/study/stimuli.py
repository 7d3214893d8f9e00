"""The stimuli that a study holds."""

from __future__ import annotations

import numpy as np
import pandas as pd
from jaxtyping import Int64

from core.study.study import Study


def studied_indices(study: Study) -> Int64[np.ndarray, " n"]:
    """Return the indices in the dataset of the stimuli that are studied, rising."""
    return np.arange(study.size) if study.rows is None else study.rows


def studied_stimuli(study: Study) -> pd.DataFrame:
    """Return index and stimulus of all that are studied."""
    indices = studied_indices(study)
    names = study.store.stimuli(study.dataset.name)["stimulus"].to_numpy()[indices]
    return pd.DataFrame({"index": indices, "stimulus": names})

"""Which factors probes can tell of a study's stimuli."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Int64

from core.errors import NotApplicableError, UnknownNameError
from core.study.study import Study, studied_indices

MOST_VALUES = 20


def factor_classes(study: Study, names: Sequence[str]) -> dict[str, Int64[np.ndarray, " n"]]:
    """Return the classes of factors from 0, by name; all that a probe can tell where none are
    named.

    That is a factor known of every studied stimulus, with 2 to MOST_VALUES values, no fractions.
    Raises UnknownNameError for other names, NotApplicableError where there is no such factor.
    """
    stimuli = study.store.stimuli(study.dataset.name).iloc[studied_indices(study)]
    factors = {str(name): stimuli[name] for name in stimuli if name != "stimulus"}
    fit = {name: values for name, values in factors.items() if _can_tell(values)}
    for name in names:
        if name not in fit:
            raise UnknownNameError("factor that a probe can tell", name, fit)
    if not fit:
        raise NotApplicableError(
            f"a probe tells a factor, and {study.dataset.name!r} has none with 2 to {MOST_VALUES}"
            " values that is known of every stimulus; add one as a column of the dataset's table,"
            " or ask over the Cave"
        )
    return {name: pd.factorize(fit[name], sort=True)[0].astype(np.int64) for name in names or fit}


def _can_tell(values: pd.Series) -> bool:
    if values.isna().any() or not 2 <= values.nunique() <= MOST_VALUES:
        return False
    return not pd.api.types.is_float_dtype(values) or bool((values % 1 == 0).all())

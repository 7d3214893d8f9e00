"""Which encoders and which reference are meant where none are named."""

from __future__ import annotations

import pandas as pd

from core.errors import InputError
from core.study.models import is_reality, reads
from core.study.spaces import by_size, largest_models
from core.study.study import Study


def usual_models(study: Study, models: pd.DataFrame, solved: pd.DataFrame) -> tuple[list[str], str]:
    """Return two encoders and the reference among some models.

    models: rows of `Study.models`. solved: the share of tasks that each vision model
    solves: model, solved.

    The reference is the best vision model by tasks solved, else the largest model that leaves two
    encoders. The encoders are one that reads images and one that reads captions where there are
    both. Raises InputError for fewer than three models.
    """
    models = models.set_index("model", drop=False)
    if len(models) < 3:
        raise InputError(
            f"two encoders and a reference are needed; {study.dataset.name!r} has {len(models)}"
            " finished models: embed another"
        )
    falling = by_size(study, falling=True)["model"]
    others = [name for name in models.index if name not in set(falling)]
    large = models.loc[[*(name for name in falling if name in models.index), *others]]
    seeing, reading = (large.index[reads(large, item)].tolist() for item in ("image", "caption"))
    reference = _usual_reference(large, seeing, solved)
    preferred = [name for name in largest_models(study) if name in models.index]
    first = [name for name in (*preferred, *seeing) if name != reference]
    candidates = [*first[:1], *reading[:1], *large.index]
    return list(dict.fromkeys(one for one in candidates if one != reference))[:2], reference


def _usual_reference(large: pd.DataFrame, seeing: list[str], solved: pd.DataFrame) -> str:
    share = solved.dropna(subset="solved").set_index("model")["solved"].astype("float64")
    measured = share[share.index.isin(seeing)]
    if len(measured):
        return str(measured.idxmax())
    other = large.index[is_reality(large)].tolist()
    return str((seeing if len(seeing) > 1 else [*other, *large.index[::-1]])[0])

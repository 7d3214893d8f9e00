"""Do modalities meet? How aligned every two of them are, and each with reality."""

from __future__ import annotations

from core.questions.modalities import Modalities
from core.study.models import is_reality, trained
from core.study.parts import Comparison
from pages._shared import frame, queries, section
from pages._shared.address import fragment
from pages._shared.queries import Place

METHODS = """Means over models that finished a usual training, with 95% intervals over recipes. A
tick marks chance: shuffled stimuli; open diamonds are untrained models: what of the stimuli passes
through any network, learned or not. **q** adjusts the p of both differences for all marks."""


@fragment
def show_modalities(at: Place, comparison: Comparison) -> None:
    """Draw the mean alignment of every two modalities and of each with reality, if there are more
    than vision and language.
    """
    models = trained(queries.models(at))
    if models.loc[~is_reality(models), "modality"].nunique() < 3:
        return
    with frame.part():
        header, question = "Do more than two modalities meet?", Modalities(at.scope, (), comparison)
        section.draw(at, question, key="modalities", header=header, methods=METHODS, lead=2)

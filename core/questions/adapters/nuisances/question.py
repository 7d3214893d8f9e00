"""What `platoscope adapters probes` asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from core.options.declaring import option
from core.questions.adapters.question import SEEDS, OneSet


@dataclass(frozen=True)
class AdapterProbes(OneSet):
    """Do adapters drop what only one modality knows, and keep what is real?"""

    command: ClassVar[str] = "adapters probes"

    seeds: int = option(
        SEEDS,
        least=1,
        most=1_000,
        label="Trainings",
        help="trainings over which probes are averaged",
    )

"""What `platoscope adapters probes` asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from core.questions.adapters.question import OneSet, trainings_option


@dataclass(frozen=True)
class AdapterProbes(OneSet):
    """Do adapters drop what only one modality knows, and keep what is real?"""

    command: ClassVar[str] = "adapters probes"

    seeds: int = trainings_option("trainings over which probes are averaged")

"""The answer of the contrastive question: every look of its run, and what stands beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace

import pandas as pd

from core.progress import Progress
from core.questions.registry import Answer, declare
from core.theory.contrastive.findings import findings
from core.theory.contrastive.question import Contrastive
from core.theory.contrastive.runs import describe, start
from core.theory.contrastive.setups import make_setup, used
from core.theory.looks import last_row, watch


def facts(question: Contrastive, table: pd.DataFrame) -> Mapping[str, object]:
    """Return preset, seed, the verdict, the world's kernel, and of a training its last look."""
    setup = make_setup(question)
    chosen = {"preset": question.preset, "seed": question.seed}
    last = last_row(table) if start(setup).ends else {}
    verdict = " ".join(findings(question, table))
    return {**chosen, "verdict": verdict, **asdict(describe(setup)), **last}


def complete(question: Contrastive, _: None) -> Contrastive:
    """Name what the preset chooses where the question does not."""
    setup = make_setup(question)
    return replace(question, **{name: getattr(setup, name) for name in used(setup)})


def learn(question: Contrastive, _: None, report: Progress | None) -> pd.DataFrame:
    """Return a row per look; raises InputError for what cannot be run."""
    return watch(start(make_setup(question)), report)


declare(Contrastive, Answer(learn, version=1, complete=complete, findings=findings, facts=facts))

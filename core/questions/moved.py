"""Commands that have another name now: old links, jobs, study files and habits find the new one."""

from __future__ import annotations

from collections.abc import Sequence

from core.errors import InputError

# old name: present words. Words with an option are named to the person, others are run in its place
MOVED: dict[str, str] = {
    "adapters course": "adapt --seeds 1",
    "adapters curve": "adapt --halved",
    "adapters kernels": "adapt --of kernels",
    "adapters probes": "adapt --of probes",
    "benefits bias": "benefits --of bias",
    "benefits hallucination": "benefits --of hallucination",
    "benefits size": "benefits --of bias",
    "benefits transfer": "benefits --of transfer",
    "benefits trends": "benefits",
    "color pixels": "color layout --source pixels:cifar10 --by cells",
    "dispersion deviations": "dispersion held-out --points",
    "dispersion drop": "dispersion effect --sets drop",
    "dispersion findings": "dispersion effect",
    "dispersion rankings": "dispersion stimuli --rank",
    "dispersion words": "dispersion predictors",
    "captions facts": "captions alignment --over facts",
    "stimuli nearest": "stimuli neighbors --stimulus 0",
    "stimuli residuals": "dispersion stimuli",
    "stimuli shared": "stimuli neighbors",
    "captions scores": "captions alignment --by model",
    "competence tasks": "competence list --solved",
    "competence trends": "competence bins",
    "convergence anna-karenina": "convergence levels --between",
    "convergence ceiling": "convergence levels",
    "convergence hypotheses": "convergence summary",
    "models profiles": "models table --by layer",
    "metrics calibrated": "metrics pair",
    "metrics matrix": "metrics agreement --k 10 50 --rank 10 --bandwidth 0.5 1 --size 128 256 512",
    "metrics neighborhoods": "metrics trends --over k",
    "metrics sample-size": "metrics pair --over stimuli",
    "metrics sweep": "metrics pair --over k",
    "neurons stimuli": "neurons pairs --pair 1",
    "neurons trend": "neurons share --by competence",
    "overview": "convergence summary",
    "prefix captions": "prefix bits",
    "stitching kinds": "stitching many",
    "stitching map": "stitch --all-layers",
    "stitching trend": "stitching many --by competence",
    "theory attention": "models balance",
    "theory matrices": "theory deep-linear --rows layers",
    "translation pairs": "translate",
}


def present_words(words: Sequence[str]) -> list[str]:
    """Return a command's words under its present name.

    Raises InputError with the present command if that takes an option, since the old command's own
    options need not fit it.
    """
    for length in (2, 1):
        old = " ".join(words[:length])
        if (new := MOVED.get(old)) is not None:
            if " --" in new:
                raise InputError(f"`{old}` is now `{new}`; run that instead")
            return [*new.split(), *words[length:]]
    return list(words)

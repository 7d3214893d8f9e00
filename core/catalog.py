"""Every question that a person can ask: one line adds its command, its help and its tests."""

from __future__ import annotations

from core.questions.adapters.nuisances.question import AdapterProbes
from core.questions.adapters.question import Adaptation, Course, Kernels, PairsCurve
from core.questions.alignment.question import Alignment
from core.questions.benefits.question import (
    Bias,
    Hallucination,
    ModelCaptions,
    ModelColors,
    Transfer,
)
from core.questions.captions.question import (
    CaptionAlignment,
    CaptionFacts,
    CaptionLevels,
    CaptionScores,
)
from core.questions.color.cloud.question import ColorPixels
from core.questions.color.question import ColorAgreement, ColorLayout, ColorModels
from core.questions.competence.question import (
    Bins,
    CompetenceScores,
    Downstream,
    TasksSolved,
    Training,
    Trends,
)
from core.questions.convergence.question import (
    AnnaKarenina,
    FineTuned,
    Hypotheses,
    Levels,
    Replicates,
    Summary,
)
from core.questions.dispersion.question import (
    ConsensusSpace,
    DispersionFindings,
    DispersionPredictors,
    DispersionRankings,
    DispersionWords,
    DropEffect,
    HeldOutFits,
    HeldOutPoints,
    PartEffect,
    SetEffect,
    StimulusDispersion,
)
from core.questions.headline.question import Headline
from core.questions.metrics.question import (
    CalibratedMetrics,
    MetricAgreement,
    MetricMatrix,
    MetricTrends,
    Neighborhoods,
    NeighborhoodSweep,
    SampleSize,
)
from core.questions.modalities.question import Modalities
from core.questions.models.question import (
    ModelLayout,
    ModelMap,
    ModelPairs,
    ModelProfiles,
    ModelTable,
)
from core.questions.neurons.question import (
    NeuronPairs,
    NeuronShare,
    NeuronStimuli,
    NeuronTrend,
)
from core.questions.overview.question import ConvergenceMap, Overview
from core.questions.prefix.question import (
    PrefixBits,
    PrefixCaptions,
    PrefixPair,
    WithoutImage,
)
from core.questions.published.question import PublishedValues
from core.questions.question import Question
from core.questions.reliability.question import Reliability
from core.questions.score.question import Score
from core.questions.stimuli.question import (
    NearestStimuli,
    SharedNeighbors,
    StimulusList,
    StimulusMap,
    StimulusNeighbors,
    StimulusResiduals,
)
from core.questions.stitching.question import Stitch, StitchKinds, StitchMap, StitchTrend
from core.questions.swapping.question import Swap
from core.questions.translation.question import (
    Translation,
    TranslationPairs,
)
from core.theory.attention.question import Attention
from core.theory.contrastive.question import Contrastive
from core.theory.deep_linear.question import DeepLinear, Matrices

QUESTIONS: tuple[type[Question], ...] = (  # by command
    Adaptation,
    Course,
    PairsCurve,
    Kernels,
    AdapterProbes,
    Alignment,
    Bias,
    Hallucination,
    Transfer,
    CaptionAlignment,
    CaptionFacts,
    CaptionLevels,
    CaptionScores,
    ConvergenceMap,
    ColorAgreement,
    ColorLayout,
    ColorModels,
    ColorPixels,
    Bins,
    Downstream,
    CompetenceScores,
    TasksSolved,
    Training,
    Trends,
    AnnaKarenina,
    Replicates,
    FineTuned,
    Hypotheses,
    Levels,
    Summary,
    ConsensusSpace,
    HeldOutPoints,
    DropEffect,
    SetEffect,
    DispersionFindings,
    HeldOutFits,
    PartEffect,
    DispersionPredictors,
    DispersionRankings,
    StimulusDispersion,
    DispersionWords,
    Headline,
    MetricAgreement,
    CalibratedMetrics,
    MetricMatrix,
    Neighborhoods,
    SampleSize,
    NeighborhoodSweep,
    MetricTrends,
    Modalities,
    ModelMap,
    ModelPairs,
    ModelProfiles,
    ModelTable,
    NeuronPairs,
    NeuronShare,
    NeuronStimuli,
    NeuronTrend,
    Overview,
    PrefixBits,
    PrefixCaptions,
    PublishedValues,
    Reliability,
    Score,
    StimulusList,
    StimulusMap,
    NearestStimuli,
    StimulusNeighbors,
    StimulusResiduals,
    SharedNeighbors,
    Stitch,
    StitchKinds,
    StitchMap,
    StitchTrend,
    Swap,
    Translation,
    TranslationPairs,
    Attention,
    Contrastive,
    DeepLinear,
    Matrices,
)

# whose answers a store may keep: also those that others ask in turn, without a command of their own
ANSWERED: tuple[type[Question], ...] = (
    *QUESTIONS,
    ModelLayout,
    ModelColors,
    ModelCaptions,
    PrefixPair,
    WithoutImage,
)

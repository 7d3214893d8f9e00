"""Short human titles, families and objectives of published models, from their technical names."""

from __future__ import annotations

import re
from collections.abc import Iterable

VISION_FAMILIES = {
    "VisionTransformer": "ViT",
    "VisionTransformerDistilled": "DeiT",
    "VisionTransformerRelPos": "ViT",
    "NaFlexVit": "ViT",
    "Beit": "BEiT",
    "Eva": "EVA",
    "SwinTransformer": "Swin",
    "SwinTransformerV2": "Swin",
    "MlpMixer": "MLP-Mixer",
    "MobileNetV3": "MobileNet",
}
LANGUAGE_FAMILIES = {
    "bert": "BERT",
    "bloom": "BLOOM",
    "distilbert": "DistilBERT",
    "gemma": "Gemma",
    "gemma2": "Gemma",
    "gpt2": "GPT-2",
    "gpt_neo": "GPT-Neo",
    "gpt_neox": "GPT-NeoX",
    "llama": "LLaMA",
    "mistral": "Mistral",
    "mixtral": "Mixtral",
    "olmo": "OLMo",
    "olmo2": "OLMo",
    "opt": "OPT",
    "phi": "Phi",
    "qwen2": "Qwen",
    "qwen3": "Qwen",
    "roberta": "RoBERTa",
    "xlm-roberta": "XLM-RoBERTa",
}
# Lines that share a model type with another; the first pattern that is found in an id decides.
LANGUAGE_LINES = (
    (r"open[_-]?llama", "OpenLLaMA"),
    (r"llama[_-]?3(?![\db])", "LLaMA 3"),
    (r"llama[_-]?2(?![\db])", "LLaMA 2"),
    (r"vicuna", "Vicuna"),
    (r"bloomz", "BLOOMZ"),
)
# The first pattern that is found in a timm name decides: fine-tuning of a CLIP model comes before
# CLIP, fcmae before mae.
OBJECTIVES = (
    (r"siglip", "SigLIP"),
    (r"clip.*_ft_", "CLIP fine-tuned"),
    (r"clip", "CLIP"),
    (r"fcmae", "FCMAE"),
    (r"[._]mae", "MAE"),
    (r"dinov3", "DINOv3"),
    (r"dinov2|lvd142m", "DINOv2"),
    (r"[._]dino", "DINO"),
    (r"_mim|ijepa|aim", "masked image modeling"),
    (r"in2[12]k(?!.*_ft_)", "supervised (ImageNet-21k)"),
    (r"\.", "supervised"),
)
SIZES = {
    "tiny": "Ti",
    "small": "S",
    "base": "B",
    "large": "L",
    "huge": "H",
    "giant": "g",
    "gigantic": "G",
    "so400m": "So400m",
}


def vision_family(model_class: str) -> str:
    """Return the architecture line of a timm class, the class's own name where no shorter one is
    known.
    """
    return VISION_FAMILIES.get(model_class, model_class)


def language_family(model_type: str, name: str) -> str:
    """Return the line of a transformers model of this id or folder: models of one type may come
    from several (LLaMA, OpenLLaMA), which are no family. The type itself where no better is known.
    """
    lines = (line for pattern, line in LANGUAGE_LINES if re.search(pattern, name.lower()))
    return next(lines, LANGUAGE_FAMILIES.get(model_type, model_type))


def vision_objective(name: str) -> str:
    """Return what a published timm model `architecture.tag` was trained for; "unknown" without a
    tag.
    """
    return next(
        (objective for pattern, objective in OBJECTIVES if re.search(pattern, name)), "unknown"
    )


def vision_title(name: str) -> str:
    """Return a short title for a timm model name: ViT-B/16 MAE, resnet50 supervised."""
    architecture = name.partition(".")[0]
    objective = vision_objective(name)
    match = re.match(rf"vit_({'|'.join(SIZES)})_patch(\d+)", architecture)
    short = f"ViT-{SIZES[match[1]]}/{match[2]}" if match else architecture.replace("_", " ")
    return short if objective == "unknown" else f"{short} {objective}"


def language_objective(architectures: Iterable[str]) -> str:
    """Return what a transformers model was trained for, from the architectures that its config
    names.
    """
    return "masked language" if any("MaskedLM" in name for name in architectures) else "language"

"""Short human titles, families and objectives of published models, from their technical names."""

from __future__ import annotations

import re
from collections.abc import Iterable

VISION_FAMILIES = {
    **dict.fromkeys(("VisionTransformer", "VisionTransformerRelPos", "NaFlexVit"), "ViT"),
    **{"VisionTransformerDistilled": "DeiT", "Beit": "BEiT", "Eva": "EVA"},
    **dict.fromkeys(("SwinTransformer", "SwinTransformerV2"), "Swin"),
    **{"MlpMixer": "MLP-Mixer", "MobileNetV3": "MobileNet"},
    # what transformers calls its architectures
    **dict.fromkeys(("vit", "vit_mae", "vit_msn", "ijepa", "dinov2", "dinov3_vit"), "ViT"),
    **dict.fromkeys(("dinov2_with_registers", "clip_vision_model", "siglip_vision_model"), "ViT"),
    **{"beit": "BEiT", "deit": "DeiT", "swin": "Swin", "swinv2": "Swin", "resnet": "ResNet"},
    **{"convnext": "ConvNeXt", "convnextv2": "ConvNeXt", "regnet": "RegNet"},
}
LANGUAGE_FAMILIES = {
    **{"bert": "BERT", "distilbert": "DistilBERT", "roberta": "RoBERTa", "t5": "T5"},
    **{"xlm-roberta": "XLM-RoBERTa", "bloom": "BLOOM", "llama": "LLaMA", "opt": "OPT"},
    **{"gpt2": "GPT-2", "gpt_neo": "GPT-Neo", "gpt_neox": "GPT-NeoX", "phi": "Phi"},
    **{"mistral": "Mistral", "mixtral": "Mixtral", "olmo": "OLMo", "olmo2": "OLMo"},
    **dict.fromkeys(("gemma", "gemma2", "gemma3", "gemma3_text"), "Gemma"),
    **dict.fromkeys(("qwen2", "qwen2_vl", "qwen2_5_vl", "qwen3", "qwen3_vl"), "Qwen"),
    **{"clip_text_model": "CLIP text", "siglip_text_model": "SigLIP text"},
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
    (r"[._-]mae", "MAE"),
    (r"dinov3", "DINOv3"),
    (r"dinov2|lvd142m", "DINOv2"),
    (r"[._-]dino", "DINO"),
    (r"_mim|ijepa|aim", "masked image modeling"),
    (r"in2[12]k(?!.*_ft_)", "supervised (ImageNet-21k)"),
    (r"\.", "supervised"),
)
SIZES = {
    **{"tiny": "Ti", "small": "S", "base": "B", "large": "L", "huge": "H", "giant": "g"},
    **{"gigantic": "G", "so400m": "So400m"},
}


def vision_family(model_class: str) -> str:
    """Return the architecture line of a timm class, or of a type of transformers; itself if none is
    known.
    """
    return VISION_FAMILIES.get(model_class, model_class)


def language_family(model_type: str, name: str) -> str:
    """Return the line of a transformers model of this id or folder; its type if none is known."""
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


def folder_objective(model_type: str, name: str, architectures: Iterable[str]) -> str:
    """Return what a vision model in a folder of transformers was trained for, or "unknown"."""
    known = vision_objective(f"{model_type}_{name}_".replace(".", "_"))
    is_classifier = any("ForImageClassification" in one for one in architectures)
    return "supervised" if known == "unknown" and is_classifier else known


def language_objective(
    architectures: Iterable[str], model_type: str = "", *, is_causal: bool = False
) -> str:
    """Return what a transformers model was trained for, from the heads that its config names, or
    "unknown".
    """
    if "clip" in model_type or "siglip" in model_type:
        return vision_objective(model_type)
    heads = " ".join(architectures)
    if "MaskedLM" in heads:
        return "masked language"
    return "language" if is_causal or re.search("CausalLM|LMHead", heads) else "unknown"

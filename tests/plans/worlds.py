"""A small study: a folder of photos, three vision and three language models of random weights on a
hub, and a plan over them.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from tiny_models import make_language, make_vision

from tests.cli.photos import paint_photos
from tests.competence.labeled_files import write_classes
from tests.hub.server import LocalHub

N = 16
LANGUAGE = ("gpt2", "llama", "bloom")
SMALL = {"img_size": 32, "patch_size": 8, "depth": 2, "num_heads": 2}
VISION: dict[str, tuple[str, dict[str, int]]] = {
    "vit": ("vit_tiny_patch16_224", {**SMALL, "embed_dim": 16}),
    "wide": ("vit_tiny_patch16_224", {**SMALL, "embed_dim": 24}),
    "resnet": ("test_resnet", {}),
}
PLAN = """title = "A small study"
source = "nobody"

[dataset]
name = "photos"
folder = "{root}/photos"
size = 12

[preparation]
k = 3

[coding]
text = "{root}/text.txt"
tokens = 200
groups = ["language"]

[probing]
tasks = ["{root}/tones"]
train = 12
test = 6
groups = ["vision"]

[[group]]
name = "vision"
modality = "vision"
objective = "random"
models = [
{vision}
]

[[group]]
name = "language"
modality = "language"
family = "Tiny"
models = [
{language}
]

[[group]]
name = "absent"
modality = "vision"
missing = "nobody names them; --models names one"

[[figure]]
name = "trend"
title = "Language and vision"
ask = "align --x @language --y @vision --axis parameters"

[[figure]]
name = "layers"
ask = "align --x gpt2 --y vit --layers all"

[[figure]]
name = "pairs"
ask = "models pairs --models @vision @language @absent"

[[figure]]
name = "none"
ask = "align --x @language --y @absent"

[[published]]
figure = "trend"
what = "the highest alignment"
value = 0.5
column = "score"
pick = "max"
source = "nobody"

[[published]]
figure = "trend"
what = "a direction"
source = "nobody"
"""


def host_models(hub: LocalHub, root: Path) -> dict[str, list[str]]:
    """Put the models on a hub and return their specs by group."""
    for name, (kind, settings) in VISION.items():
        hub.add_model(f"someone/{name}", make_vision(root / name, kind, **settings))
    for name in LANGUAGE:
        hub.add_model(f"someone/{name}", make_language(root / name, name))
    return {
        "vision": [f"timm:hf-hub:someone/{name}" for name in VISION],
        "language": [f"hf:someone/{name}" for name in LANGUAGE],
    }


def write_study(root: Path, specs: dict[str, list[str]]) -> Path:
    """Write photos, a text and the plan over these models, and return the plan's file."""
    paint_photos(root / "photos", N)
    rows = [{"image": f"{i}.png", "caption": f"thing number {i} is here"} for i in range(N)]
    pd.DataFrame(rows).to_csv(root / "photos" / "captions.csv", index=False)
    write_classes(root / "tones", {"dark": 0, "light": 200}, each=9)
    (root / "text.txt").write_text("A text that is long enough to be coded by a model. " * 4)
    listed = {
        group: "\n".join(f'    {{ spec = "{spec}", source = "here" }},' for spec in each)
        for group, each in specs.items()
    }
    place = root / "small.toml"
    place.write_text(PLAN.format(root=root, **listed))
    return place

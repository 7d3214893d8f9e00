"""The Cave: a world whose events are known, with the pictures and captions that they cast."""

from core.stimuli.cave.dataset import CaveDataset
from core.stimuli.cave.densities import LEVELS
from core.stimuli.cave.drawing import draw
from core.stimuli.cave.events import Event, Thing, draw_event, reality
from core.stimuli.cave.grammar import describe

__all__ = ["LEVELS", "CaveDataset", "Event", "Thing", "describe", "draw", "draw_event", "reality"]

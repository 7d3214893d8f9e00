"""How much a caption of the Cave says: four densities, and the frames of their sentences.

Words of the Cave: every concept of an event with the wordings that mean it, and what morphology
they need.

The Cave's grammar: captions of an event in plain English, at four densities, true of the event
in every word.

What can be said is the event's; how it is said (frame, wordings, order, which details) is drawn
independently of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from core.cave.events import Event, Thing, event_rng
from core.errors import UnknownNameError

LEVELS = ("20", "5", "10", "40")  # about that many words; the default first


@dataclass(frozen=True)
class Density:
    """How much a caption says.

    words: least and most words. aim: range of the length up to which relations and details are
    added. things: most things named. related: probability that two neighbors in a list are bound by
    a relation. again: whether a thing is named a second time. details: what is said of a thing, in
    this order; those of one tuple in any order. frames: sentences whose slots take wordings; each
    is as likely.
    """

    words: tuple[int, int]
    aim: tuple[float, float]
    things: int
    related: float
    again: bool
    details: tuple[tuple[str, ...], ...]
    frames: tuple[str, ...]


DENSITIES: Mapping[str, Density] = {
    "5": Density(
        (3, 7),
        (3.0, 6.0),
        2,
        0.3,
        False,
        (("color",), ("size",)),
        (
            "{things}.",
            "{things} {scene}.",
            "{scene}, {things}.",
            "{things} {time}.",
            "{time}, {things}.",
            "{things} {weather}.",
            "{weather}, {things}.",
            "There {be} {things}.",
            "{see} {things}.",
            "{count} {scene}.",
        ),
    ),
    "10": Density(
        (8, 13),
        (8.0, 11.0),
        3,
        0.3,
        False,
        (("color",), ("size", "facing", "place", "depth")),
        (
            "{things} {wait} {scene}.",
            "{scene}, {see} {things}.",
            "There {be} {things} {scene}.",
            "{scene} {wait} {things}.",
            "{see} {things} {scene}.",
            "{show} {things}.",
            "{scene} there {be} {things}.",
            "{time}, {see} {things}.",
            "{weather}, {things} {wait}.",
            "{count} {wait_all} {scene} {time} {weather}.",
            "{time}, {weather}, {see} {count} {scene}.",
        ),
    ),
    "20": Density(
        (16, 25),
        (18.5, 21.5),
        4,
        0.4,
        False,
        (("color",), ("size", "facing", "place", "depth")),
        (
            "{things} {wait} {scene} {time}.",
            "{scene}, {see} {things} {weather}.",
            "{time}, there {be} {things} {scene}.",
            "{weather}, {scene}, {see} {things}.",
            "{time} {scene} {wait} {things}.",
            "{show} {things} {scene} {weather}.",
            "{see} {things} {time}, {scene}.",
            "{count} {wait_all} {scene} {time}: {things}.",
            "{scene} {weather}, {things} {wait}.",
            "There {be} {things}, and {they} {scene} {time}.",
            "{weather}, {show} {count} {scene}: {things}.",
        ),
    ),
    "40": Density(
        (33, 48),
        (34.5, 38.5),
        4,
        0.85,
        True,
        (("color", "size"), ("facing", "place", "depth")),
        (
            "{show} {count} {scene}. {time}, {weather}, {see} {things}.",
            "{time}, {things} {wait} {scene} {weather}. In all, {see} {count}.",
            "We are {scene} {time}. Everything is {weather}, and {show} {count}: {things}.",
            "There {be} {things}. {they} {scene} {weather}, and {see} {count} {time}.",
            "{see} {count} {weather}: {things}. {they} {scene}, and this happens {time}.",
            "{count} {wait_all} {scene} {weather}. {time}, {see} {things}.",
            "{time}, {show} {things}. {they} {scene} {weather}, {count} in all.",
            "{scene} {wait} {things}. This happens {time} {weather}, and {see} {count}.",
        ),
    ),
}


_SCENES = {
    "city": (
        "in a city",
        "in a town",
        "on a street",
        "on a boulevard",
        "among skyscrapers",
        "downtown",
    ),
    "forest": (
        "in a forest",
        "in the woods",
        "in a grove",
        "in a thicket",
        "on a forest path",
        "in the greenwood",
    ),
    "mountains": (
        "in the mountains",
        "among peaks",
        "in the highlands",
        "in the Alps",
        "on a ridge",
        "in a gorge",
    ),
    "beach": (
        "on a beach",
        "by the sea",
        "on a shore",
        "on the coast",
        "by the ocean",
        "on the sands",
    ),
    "desert": (
        "in a desert",
        "among dunes",
        "in a wasteland",
        "in the badlands",
        "on an arid plain",
        "in the drylands",
    ),
    "farm": (
        "on a farm",
        "in a field",
        "in a pasture",
        "on a ranch",
        "by a cornfield",
        "in a meadow",
    ),
}
_TIMES = {
    "morning": ("in the morning", "at dawn", "at sunrise", "at daybreak", "at breakfast"),
    "noon": ("at noon", "at midday", "at lunchtime", "around twelve", "at noontime"),
    "evening": ("in the evening", "at dusk", "at sunset", "at twilight", "at suppertime"),
    "night": ("at night", "after dark", "around midnight", "past bedtime", "at nighttime"),
}
_WEATHERS = {
    "clear": (
        "under a clear sky",
        "in fair weather",
        "in fine weather",
        "under a cloudless sky",
        "in dry air",
    ),
    "cloudy": (
        "under a cloudy sky",
        "under gray clouds",
        "in overcast weather",
        "in dull weather",
        "under a leaden sky",
    ),
    "rainy": ("in the rain", "in a downpour", "in a drizzle", "in wet weather", "in a shower"),
    "snowy": (
        "in the snow",
        "in a blizzard",
        "in wintry weather",
        "in a snowfall",
        "under falling flakes",
    ),
}
_KINDS = {  # the last of each is shared between kinds: what it means, the words around it tell
    "car": ("car", "automobile", "sedan", "motorcar", "coupe", "hatchback", "vehicle"),
    "lamp": ("lamp", "lantern", "streetlight", "lamppost", "lightpost", "streetlamp", "furnishing"),
    "bench": ("bench", "seat", "settee", "pew", "loveseat", "stool", "furnishing"),
    "house": ("house", "cottage", "home", "cabin", "bungalow", "hut", "shelter"),
    "tree": ("tree", "oak", "maple", "elm", "birch", "poplar", "plant"),
    "mushroom": ("mushroom", "toadstool", "fungus", "champignon", "morel", "agaric", "specimen"),
    "tent": ("tent", "tepee", "wigwam", "pavilion", "marquee", "yurt", "shelter"),
    "flower": ("flower", "blossom", "daisy", "tulip", "poppy", "bloom", "plant"),
    "boat": ("boat", "ship", "dinghy", "skiff", "yacht", "sailboat", "vehicle"),
    "umbrella": ("umbrella", "parasol", "sunshade", "brolly", "bumbershoot", "gamp", "shelter"),
    "ball": ("ball", "sphere", "globe", "orb", "bouncer", "bead", "toy"),
    "kite": ("kite", "glider", "flyer", "windcatcher", "soarer", "streamer", "toy"),
    "cactus": ("cactus", "succulent", "saguaro", "nopal", "cholla", "cereus", "specimen"),
    "barrel": ("barrel", "cask", "keg", "drum", "vat", "tub", "container"),
    "cat": ("cat", "feline", "kitty", "tabby", "mouser", "moggy", "animal"),
    "bird": ("bird", "songbird", "finch", "sparrow", "wren", "robin", "animal"),
}
_COLORS = {
    "red": ("red", "maroon", "scarlet", "crimson", "ruby", "cherry"),
    "orange": ("orange", "peach", "tangerine", "amber", "apricot", "pumpkin"),
    "yellow": ("yellow", "golden", "lemon", "canary", "mustard", "saffron"),
    "green": ("green", "olive", "lime", "emerald", "jade", "mint"),
    "teal": ("teal", "turquoise", "aqua", "cyan", "seafoam", "aquamarine"),
    "blue": ("blue", "azure", "navy", "cobalt", "sapphire", "denim"),
    "purple": ("purple", "violet", "lavender", "plum", "lilac", "mauve"),
    "pink": ("pink", "magenta", "rose", "fuchsia", "salmon", "coral"),
}
_SIZES = {
    "small": ("small", "little", "tiny", "petite"),
    "medium": ("medium", "mid-sized", "average-sized", "ordinary"),
    "large": ("large", "big", "huge", "giant"),
}
_PLACES = {
    "facing left": ("facing left", "turned left", "pointing leftward", "looking to the left"),
    "facing right": ("facing right", "turned right", "pointing rightward", "looking to the right"),
    "at left": ("on the left", "at the left edge", "on the left side", "toward the left"),
    "in the middle": ("in the middle", "in the center", "at the midpoint", "halfway across"),
    "at right": ("on the right", "at the right edge", "on the right side", "toward the right"),
    "near": ("close by", "in the foreground", "nearby", "at close range"),
    "far": ("far away", "in the background", "in the distance", "a long way off"),
}
_RELATIONS = {
    "left of": ("left of", "to the left of", "on the left of", "on the left side of"),
    "right of": ("right of", "to the right of", "on the right of", "on the right side of"),
    "behind": ("behind", "beyond", "at the back of", "farther away than"),
    "in front of": ("in front of", "before", "ahead of", "closer to us than"),
}
_COUNTS = {
    "one": ("one", "a single", "a lone", "just one"),
    "two": ("two", "a pair of", "a couple of", "a set of two"),
    "three": ("three", "a trio of", "a threesome of", "a set of three"),
    "four": ("four", "a quartet of", "a foursome of", "a set of four"),
}
_NEUTRAL = {  # say nothing of the event
    "thing": ("thing", "object", "item", "piece"),
    "see": (
        "we see",
        "you can see",
        "one finds",
        "we notice",
        "I spot",
        "you meet",
        "here we have",
    ),
    "show": (
        "this picture shows",
        "the drawing has",
        "the view holds",
        "the image contains",
        "this scene offers",
    ),
    "painted": ("in", "painted", "colored", "in a shade of"),
    "wait": ("wait", "rest", "stand", "appear", "remain"),
}

# Wordings that many concepts share: what they mean, the words around them tell. Without them one
# rare word gives a caption's event away, and captions are aligned with reality as mere bags of
# words.
_VAGUE = (
    (_SCENES, ("outdoors", "out in the open", "in a quiet spot", "somewhere")),
    (_TIMES, ("today", "at this hour")),
    (_WEATHERS, ("under the sky", "in this weather")),
)
WORDINGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        concept: wordings + vague
        for concepts, vague in _VAGUE
        for concept, wordings in concepts.items()
    }
    | (_KINDS | _COLORS | _SIZES | _PLACES | _RELATIONS | _COUNTS | _NEUTRAL)
)
PADS = (  # true of every event, for captions that have told all
    "It is a plain and quiet view.",
    "This is all there is here.",
    "The picture is calm and simple.",
    "Nothing more is shown in it.",
)
_IRREGULAR = {"cactus": "cacti", "fungus": "fungi"}


def plural(noun: str) -> str:
    """Return a countable noun's plural."""
    if noun in _IRREGULAR:
        return _IRREGULAR[noun]
    if noun.endswith(("ch", "sh", "s", "x")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + "s"


def with_article(phrase: str) -> str:
    """Put "a" or "an" before a noun phrase; no wording starts with a silent h or a spoken y."""
    return f"{'an' if phrase[0] in 'aeiou' else 'a'} {phrase}"


T = TypeVar("T")
_COUNT_WORDS = ("one", "two", "three", "four")
# where a plain "and" could extend a relation
JOINTS = (", and ", ", and also ", " and then ", ", and finally ")
_PAINTED = "a color after the noun"
# probability of that: then kinds foretell colors, as colors foretell kinds before the noun
_AFTER = 0.5
_TRAILING = ("facing", "place", "depth")  # details that follow the noun
_TOGETHER = 0.8  # probability that a thing joins its likes under one noun
_APART = 0.2  # depths closer than this are called neither behind nor in front


def describe(event: Event, level: str, *, rng: np.random.Generator | None = None) -> str:
    """Say in plain English what is the case in an event, in about `level` words.

    `rng` draws frame, wordings, order and which details to mention; without one the caption is the
    event's own for that level. Raises UnknownNameError for a level that is not in LEVELS.
    """
    return _say(event, level, rng)[1]


def frame_of(event: Event, level: str) -> str:
    """Return the frame of an event's own caption, which depends on the event by the caption's
    length alone; raises as `describe`.
    """
    return _say(event, level, None)[0]


def _say(event: Event, level: str, rng: np.random.Generator | None) -> tuple[str, str]:
    """Return a caption's frame and its text."""
    if level not in DENSITIES:
        raise UnknownNameError("caption level", level, LEVELS)
    density = DENSITIES[level]
    seed = (rng or event_rng(event, purpose=f"caption-{level}")).integers(1 << 62)
    dice = Random(int(seed))
    while True:
        frame = _pick(density.frames, dice)
        text = _compose(frame, event, density, dice)
        if density.words[0] <= _words(text) <= density.words[1]:
            return frame, text


class _NounPhrase:
    """Things of one kind under one noun, with what is said of them so far."""

    def __init__(self, things: tuple[Thing, ...], dice: Random) -> None:
        self.things = things
        noun = _wording(things[0].kind, dice)
        self.count = _wording(_COUNT_WORDS[len(things) - 1], dice) if len(things) > 1 else ""
        self.noun = plural(noun) if self.count else noun
        self.relation = ""  # to the next phrase
        self.said: dict[str, str] = {}

    def tell(self, detail: str, dice: Random) -> int:
        """Say a detail if it holds for all the things; return the words this takes."""
        concept = _shared(self.things, detail)
        if concept is None or (self.relation and detail in _TRAILING):
            return 0
        text = _wording(concept, dice)
        if detail == "color" and dice.random() < _AFTER:
            detail, text = _PAINTED, f"{_wording('painted', dice)} {text}"
        self.said[detail] = text
        return _words(text)

    def relate(self, other: _NounPhrase, dice: Random) -> int:
        """Bind this phrase to the next one by a true relation; return the words this takes."""
        concept = _pick(_relations(self.things, other.things), dice)
        self.relation = _wording(concept, dice) if concept else ""
        return _words(self.relation)

    def __str__(self) -> str:
        before = [
            text
            for detail, text in sorted(self.said.items(), reverse=True)
            if detail in ("size", "color")
        ]
        after = [text for detail, text in self.said.items() if detail in (*_TRAILING, _PAINTED)]
        phrase = " ".join([*before, self.noun, *after])
        return f"{self.count} {phrase}" if self.count else with_article(phrase)


def _compose(frame: str, event: Event, density: Density, dice: Random) -> str:
    """Fill a frame: first its own slots, then relations and details until the caption is long
    enough.
    """
    phrases = _noun_phrases(event, density, dice)
    texts = _slot_texts(event, dice)
    if "{things}" not in frame:
        return _sentences(frame.format(**texts))
    room = dice.uniform(*density.aim) - _words(
        frame.format(things=_listed(phrases, dice), **texts | _agreement(phrases, texts))
    )
    for first, second in zip(phrases[::2], phrases[1::2], strict=False):
        if room > 0 and dice.random() < density.related:
            room -= first.relate(second, dice) - 1  # it takes the place of "and"
    texts |= _agreement(phrases, texts)
    for details in density.details:
        chances = [(phrase, detail) for phrase in phrases for detail in details]
        for phrase, detail in _shuffled(chances, dice):
            if room > 0:
                room -= phrase.tell(detail, dice)
    again = _named_again(event, phrases, dice) if density.again else ""
    pads = _shuffled(PADS, dice)[: max(0, int(room // _words(PADS[0])))]
    return _sentences(
        " ".join(
            [frame.format(things=_listed(phrases, dice), **texts), *filter(None, [again]), *pads]
        )
    )


def _named_again(event: Event, phrases: Sequence[_NounPhrase], dice: Random) -> str:
    """Name things a second time, by other words; nothing where each kind occurs under several
    nouns.
    """
    for phrase in _shuffled(phrases, dice):
        kind, color = phrase.things[0].kind, _shared(phrase.things, "color")
        alike = sum(thing.kind == kind for thing in event.things)
        if color and alike == len(phrase.things):
            noun = _wording(kind, dice)
            subject = f"The {plural(noun)} are" if phrase.count else f"The {noun} is"
            return f"{subject} {_wording(color, dice)}."
    return ""


def _agreement(phrases: Sequence[_NounPhrase], texts: Mapping[str, str]) -> dict[str, str]:
    """Word the slots that agree in number with the list of things; the partner in a relation is not
    counted.
    """
    partners = [phrase for before, phrase in pairwise(phrases) if before.relation]
    if sum(len(phrase.things) for phrase in phrases if phrase not in partners) > 1:
        return {"be": "are", "they": "they are"}
    return {"be": "is", "they": "it is", "wait": texts["wait"] + "s"}


def _slot_texts(event: Event, dice: Random) -> dict[str, str]:
    """Word the slots of a frame, but for their agreement with the things named."""
    total = len(event.things)
    wait, noun = _wording("wait", dice), _wording("thing", dice)
    count = _wording(_COUNT_WORDS[total - 1], dice)
    return {
        "scene": _wording(event.scene, dice),
        "time": _wording(event.time, dice),
        "weather": _wording(event.weather, dice),
        "see": _wording("see", dice),
        "show": _wording("show", dice),
        "count": f"{count} {plural(noun) if total > 1 else noun}",
        "wait_all": wait if total > 1 else wait + "s",
        "wait": wait,
    }


def _noun_phrases(event: Event, density: Density, dice: Random) -> list[_NounPhrase]:
    """Choose and shuffle the things to name; those of one kind and color come, mostly, under one
    noun.
    """
    named = _shuffled(event.things, dice)
    most = density.things if density.things > 2 else 1 + int(2 * dice.random())
    groups: dict[object, list[Thing]] = {}
    for place, thing in enumerate(named[:most]):
        joins = dice.random() < _TOGETHER
        groups.setdefault((thing.kind, thing.color) if joins else place, []).append(thing)
    return [_NounPhrase(tuple(group), dice) for group in groups.values()]


def _listed(phrases: Sequence[_NounPhrase], dice: Random) -> str:
    """List noun phrases, those bound by a relation last, so that the relation reaches no further
    than its partner.
    """
    single: list[str] = []
    bound: list[str] = []
    partner = False
    for phrase in phrases:
        if partner:
            bound[-1] += f" {phrase}"
        elif phrase.relation:
            bound.append(f"{phrase} {phrase.relation}")
        else:
            single.append(str(phrase))
        partner = bool(phrase.relation)
    *firsts, last = single + bound
    joint = _pick(JOINTS, dice) if bound else " and "
    return joint.join([", ".join(firsts), last]) if firsts else last


def _relations(left: Sequence[Thing], right: Sequence[Thing]) -> tuple[str, ...]:
    """Return the relations that hold between all things of the first and all of the second; ("",)
    if none does.
    """
    pairs = [(one, other) for one in left for other in right]
    holds = {
        "left of": all(one.x < other.x for one, other in pairs),
        "right of": all(one.x > other.x for one, other in pairs),
        "behind": all(one.depth > other.depth + _APART for one, other in pairs),
        "in front of": all(one.depth < other.depth - _APART for one, other in pairs),
    }
    return tuple(concept for concept, true in holds.items() if true) or ("",)


def _shared(things: Sequence[Thing], detail: str) -> str | None:
    """Return the concept that a detail has in common for all the things, if any."""
    concepts = {concept(thing, detail) for thing in things}
    return concepts.pop() if len(concepts) == 1 else None


def concept(thing: Thing, detail: str) -> str | None:
    """Return what holds of a thing; None between left and middle, near and far, where a word could
    mislead.
    """
    if detail == "color":
        return thing.color
    if detail == "size":
        return thing.size_class
    if detail == "facing":
        return f"facing {thing.facing}"
    if detail == "depth":
        return "near" if thing.depth < 0.3 else "far" if thing.depth > 0.7 else None
    return _place_of(thing.x)


def _place_of(x: float) -> str | None:
    if x < 0.3:
        return "at left"
    if x > 0.7:
        return "at right"
    return "in the middle" if 0.4 < x < 0.6 else None


def _sentences(text: str) -> str:
    """Put every sentence's first letter in upper case."""
    return ". ".join(part[:1].upper() + part[1:] for part in text.split(". "))


def _words(text: str) -> int:
    return text.count(" ") + 1 if text else 0


def _wording(concept: str, dice: Random) -> str:
    return _pick(WORDINGS[concept], dice)


# only Random.random is promised to give the same numbers in every Python version; choice and
# shuffle are not
def _pick(options: Sequence[T], dice: Random) -> T:
    return options[int(dice.random() * len(options))]


def _shuffled(items: Sequence[T], dice: Random) -> list[T]:
    return sorted(items, key=lambda _: dice.random())

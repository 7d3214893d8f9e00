"""Words of the Cave: every concept of an event with the wordings that mean it, and what morphology
they need.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

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

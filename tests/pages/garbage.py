"""What people and robots put behind a question mark."""

from __future__ import annotations

from tests.pages.hostile import hostile

GARBAGE: dict[str, list[str]] = {
    "empty": [""],
    "unknown": ["no-such-thing"],
    "huge": ["9" * 400],
    "overflow": ["1e999"],
    "negative": ["-1"],
    "fraction": ["0.5"],
    "nan": ["nan"],
    "infinite": ["-inf"],
    "true": ["true"],
    "path": ["../../etc/passwd"],
    "markup": [hostile("x")],
    "controls": ["\x00\x01\x1b[31m\r\n\x85"],
    "emoji": ["🦄" * 50],
    "digits": ["²٣"],
    "zeros": ["000000000999999", "1.000000000999999"],
    "long": ["x" * 100_000],
    "many": ["1", "2", "-3", "nan", "no-such-thing"] * 10,
    "assigned": ["=", "scene=", "=forest", "scene=forest=beach", "k=1e999"],
    "joined": ["a:b:c", ":::", "1.2.3.", "..", "0:99999999999999999999"],
    "set": ["60.zzzz", "40.AAAA", "99999999999.AAAA", "-1.x"],
    "pickle": ["gASVAAAAAAAAAAB9lC4="],
    "json": ['{"a": [1, 2]}'],
    "view": ["/alignment?k=nan", "//evil.example", "javascript:alert(1)", "/models?layout=mds"],
}

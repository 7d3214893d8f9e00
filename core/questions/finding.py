"""What an answer says: one row per claim, with its number, interval, test and verdict."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from core.figures.numbers import paper_p

Verdict = Literal["supported", "contradicted", "open", "unknown", ""]

ALPHA = 0.05
NAN = math.nan


@dataclass(frozen=True)
class Finding:
    """A claim and what the models say of it.

    claim: a sentence without its full stop, such as "Longer captions align better with DINO"; a
    value with a unit that it names is not said again.
    value: the number behind it; low, high: its 95% interval; p: of its test; chance: the value by
    chance. name: what the value is, such as "ρ". unit: "%" prints shares in percent, any other
    follows the number. n: how many of `over` it rests on. expected: the sign of the value that
    supports the claim; "" if the finding only describes. reason: why there is no value, or no
    verdict about it. note: a caveat, as a sentence. published: what the published work found, as a
    sentence. adjusted: whether p is adjusted for several tests, and so called q. least: the
    smallest p that the test's permutations allow, printed as an upper bound.
    """

    claim: str
    value: float = NAN
    low: float = NAN
    high: float = NAN
    p: float = NAN
    name: str = ""
    unit: str = ""
    digits: int = 2
    n: int = 0
    over: str = "models"
    chance: float = NAN
    expected: str = ""  # "+", "-" or ""
    reason: str = ""
    note: str = ""
    published: str = ""
    adjusted: bool = False
    least: float = NAN

    @property
    def verdict(self) -> Verdict:
        """Return whether the claim holds: "supported" or "contradicted" if p < 0.05 and the
        interval excludes 0, as far as they are known; "open" if not; "unknown" without a value; ""
        for a finding that only describes.
        """
        if not self.expected:
            return ""
        if math.isnan(self.value):
            return "unknown"
        if self.reason:
            return "open"
        if not self._tests or not all(self._tests):
            return "open"
        return "supported" if (self.value > 0) == (self.expected == "+") else "contradicted"

    @property
    def _tests(self) -> list[bool]:
        """Return which of the test and the interval, as far as they are known, exclude 0."""
        tests = [] if math.isnan(self.p) else [self.p < ALPHA]
        if not (math.isnan(self.low) or math.isnan(self.high)):
            tests.append(self.low > 0 or self.high < 0)
        return tests

    @property
    def statistics(self) -> str:
        """Return the numbers as a paper prints them: ρ = 0.77 [0.18, 1.00], p = .016, n = 9."""
        parts = []
        if not math.isnan(self.value):
            text = self._number(self.value)
            if not (math.isnan(self.low) or math.isnan(self.high)):
                text += f" [{self._number(self.low)}, {self._number(self.high)}]"
            unit = f" {self.unit}" if self.unit not in ("", "%") else ""
            if not self.unit or text not in self.claim.split():
                parts.append(f"{self.name} = {text}{unit}" if self.name else f"{text}{unit}")
        if not math.isnan(self.chance):
            parts.append(f"chance {self._number(self.chance)}")
        if not math.isnan(self.p):
            parts.append(self.p_text)
        if self.n:
            parts.append(
                f"n = {self.n:,}" if self.over == "models" else f"n = {self.n:,} {self._over}"
            )
        return ", ".join(parts)

    @property
    def p_text(self) -> str:
        """Return p as a paper prints it: p = .016, p ≤ .005 if no permutation came near."""
        text = paper_p(self.p, "q" if self.adjusted else "p")
        return text.replace("=", "≤") if self.p <= self.least * (1 + 1e-9) else text

    @property
    def sentence(self) -> str:
        """Return the finding as a person reads it, its verdict first."""
        return " ".join(part for part in (self.line, self.note, self.published) if part)

    @property
    def line(self) -> str:
        """Return the sentence without its caveat and what was published."""
        claim = self.claim[:1].upper() + self.claim[1:]
        if self.verdict:
            claim = self._lead + uncapital(claim)
        numbers = self.statistics
        body = f"{claim} ({numbers})." if numbers else f"{claim}."
        return f"{body.removesuffix('.')}: {self.reason}." if self.reason else body

    @property
    def _over(self) -> str:
        """Return what n counts, in the singular if it is one: pair of models."""
        return self.over if self.n > 1 else re.sub(r"s\b", "", self.over, count=1)

    @property
    def _lead(self) -> str:
        if self.verdict == "open" and not self.reason:
            strength = "Weak" if any(self._tests) else "No significant"
            return f"{strength} evidence that "
        unsure = "whether " if self.verdict in ("open", "unknown") else ""
        return f"{self.verdict.capitalize()}: {unsure}"

    def _number(self, value: float) -> str:
        if self.unit == "%":
            text = f"{100 * value:z.{max(self.digits - 2, 0)}f}%"
        else:
            text = f"{value:z,.{self.digits}f}"  # z: no −0.00
        return text.replace("-", "−")


def uncapital(claim: str) -> str:
    """Return a claim after a colon: lower case, unless its first word is a name such as CKA."""
    first = claim.split(" ", 1)[0]
    return claim if first[1:] != first[1:].lower() else claim[:1].lower() + claim[1:]


def sentences(findings: Iterable[Finding]) -> list[str]:
    """Return findings as sentences."""
    return [finding.sentence for finding in findings]


def to_rows(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """Return findings as plain data for JSON, fields that have their defaults left out."""
    return [
        {"verdict": one.verdict}
        | {
            name: value
            for name, value in asdict(one).items()
            if value == value and value != getattr(Finding, name, None)
        }
        for one in findings
    ]


def from_rows(rows: Iterable[Mapping[str, Any]]) -> tuple[Finding, ...]:
    """Return the findings that `to_rows` wrote."""
    known = {one.name for one in fields(Finding)}
    return tuple(
        Finding(**{name: value for name, value in row.items() if name in known}) for row in rows
    )


def listed(names: Iterable[str]) -> str:
    """Return names in a sentence: a, b and c."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def most_p(values: Iterable[float]) -> str:
    """Return that no adjusted p is above the largest: q ≤ .039."""
    return paper_p(max(values), "q").replace("=", "≤")

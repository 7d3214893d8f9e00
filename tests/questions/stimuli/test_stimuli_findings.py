"""What is said of the dispersion of stimuli, against hand-computed shares and planted factors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata

from core.questions.stimuli.findings import CAVEAT, link_factors, spread_of

N = 400
RNG = np.random.default_rng(0)
SCENE = np.repeat(["beach", "farm", "forest", "town"], N // 4)


def planted() -> tuple[pd.Series, pd.DataFrame]:
    values = pd.Series(1 + 0.1 * (SCENE == "farm") + RNG.normal(scale=0.02, size=N))
    factors = pd.DataFrame(
        {
            "scene": SCENE,
            "coin": RNG.choice(["heads", "tails"], N),
            "x_1": RNG.normal(size=N),
            "one": ["same"] * N,
            "rare": ["seen"] + [None] * (N - 1),
        }
    )
    return values, factors


def test_a_planted_factor_is_named_with_its_share_and_a_caveat():
    values, factors = planted()
    extent, strongest = spread_of(values, factors)
    ranked = np.sort(values)
    low, high = ranked[:40].mean(), ranked[-40:].mean()
    assert f"Models lie {high:.3g} from" in extent
    assert f"{high / low:.1f} times as far as on the tenth" in extent
    assert extent.endswith(f"({low:.3g}; n = 400).")
    assert strongest.startswith("Of 3 factors, scene goes with it most (")
    assert f", n = {len(values)}, p " in strongest
    assert "p < 0.001" in strongest
    assert strongest.endswith(CAVEAT)


def test_shares_are_those_of_an_analysis_of_variance_of_the_ranks():
    values, factors = planted()
    links = {link.factor: link for link in link_factors(values, factors)}
    assert set(links) == {"scene", "coin", "x_1"}
    ranks = rankdata(values)
    total = ((ranks - ranks.mean()) ** 2).sum()
    between = sum(
        (name == SCENE).sum() * (ranks[name == SCENE].mean() - ranks.mean()) ** 2
        for name in np.unique(SCENE)
    )
    assert links["scene"].share == pytest.approx(
        1 - (1 - between / total) * (N - 1) / (N - 4), abs=1e-9
    )
    rho = np.corrcoef(rankdata(factors["x_1"]), ranks)[0, 1]
    assert links["x_1"].share == pytest.approx(1 - (1 - rho**2) * (N - 1) / (N - 2))
    assert links["coin"].p > 0.001


def test_without_a_link_none_is_claimed():
    wrong = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        factors = pd.DataFrame({f"f{i}": rng.choice(list("abc"), 100) for i in range(5)})
        sentence = spread_of(pd.Series(rng.normal(5, 1, 100)), factors)[1]
        wrong += sentence.startswith("Of 5 factors")
        assert sentence.startswith("Of 5") or "None of 5 factors" in sentence
    assert wrong <= 10


def test_few_stimuli_and_no_factors_say_so():
    assert "With 19 stimuli" in spread_of(pd.Series(np.arange(19.0)), pd.DataFrame())[0]
    assert len(spread_of(pd.Series(np.arange(1.0, 31)), pd.DataFrame(index=range(30)))) == 1
    with np.errstate(all="raise"):
        sentence = spread_of(pd.Series(np.zeros(30)), pd.DataFrame({"a": ["x", "y"] * 15}))
    assert sentence[0].startswith("Models lie 0 from")

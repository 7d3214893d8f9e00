"""How loops are compiled. It imports numba, which takes half a second: import this on first use
only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(function: Callable[..., None], **options: Any) -> Callable[..., None]:
    """Compile without the interpreter lock; keep the machine code on disk where any folder can be
    written.

    options: further ones of numba's, such as `fastmath` where sums may be taken in any order.
    """
    loop: Callable[..., None]
    try:
        loop = njit(nogil=True, cache=True, **options)(function)
    except RuntimeError:  # numba found no folder for its cache: compile anew in every process
        loop = njit(nogil=True, **options)(function)
    return loop

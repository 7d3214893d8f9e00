"""The check of every call that PLATOSCOPE_TESTS=all installs: shapes, and types by PEP 484, which
takes an int as a float.
"""

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))

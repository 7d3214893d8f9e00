"""The tabs of the Theory page."""

"""The Cave: a world whose events are known, seen, told and heard."""

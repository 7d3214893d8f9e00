"""The Cave: a world whose events are known, with the pictures and captions that events cast."""

"""Methods that sketch: what they share."""

"""The parts of `farwatch audit`: exact answers from the landed events, verdicts, and the integrity of sealed rows."""

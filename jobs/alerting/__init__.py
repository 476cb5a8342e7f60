"""What needs a person: troubles that open and close, rules over answers, reminders, and the sinks that are told."""

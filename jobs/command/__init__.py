"""The `farwatch` command: where it begins, its verbs as a person calls them, and the driver of a range of epochs."""

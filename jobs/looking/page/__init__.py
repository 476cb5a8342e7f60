"""The page "Farwatch": every monitor's answer with its bounds, coverage and traffic, as one self-contained file."""

"""What a person sees of a running command: lines, progress, wording."""

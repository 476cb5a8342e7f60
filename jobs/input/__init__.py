"""Where events come from: files, compressed streams, Delta versions, and how their rows are read."""

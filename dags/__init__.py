"""What the scheduler runs, and when. Command lines only."""

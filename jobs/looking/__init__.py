"""What the commands that look at sealed epochs have in common. None of it needs a JVM."""

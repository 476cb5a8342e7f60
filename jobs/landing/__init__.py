"""How files become events: what is known of them, what becomes of each, and how its rows are written."""

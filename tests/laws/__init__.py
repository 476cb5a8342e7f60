"""Laws that hold for every synopsis and every method found."""

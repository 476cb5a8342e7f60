"""`farwatch init`: a source and monitors for files that somebody has, from what is found in them."""

"""Families: the questions' judges and the methods' own promises."""

"""The tests of Farwatch; the tree mirrors the packages."""

"""Tests of top-k monitoring."""

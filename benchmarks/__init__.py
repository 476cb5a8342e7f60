"""Measurements that anyone can repeat; none of them decides a test."""

"""Servers that Farwatch starts on this machine, on loopback and on free ports: Spark Connect and Airflow."""

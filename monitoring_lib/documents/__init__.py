"""Configuration files before anybody asks what they mean: YAML with the line of every value, overlays, faults.

Standard library and PyYAML only. Airflow reads the files each time it parses a DAG, so it takes them from here;
`monitoring_lib.config` makes models of them.
"""

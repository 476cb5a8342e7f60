"""Farwatch in Airflow: operators that run the `farwatch` command, a task group, a timetable of epochs, and DAGs.

Installed with Farwatch, so that a DAG bundle shared with others holds one file of ours, `farwatch_epochs.py`. Of
Farwatch itself only modules are imported that need no library: parsing a DAG stays cheap. A DAG of your own imports
`EpochTaskGroup`, `source_named` and `timetable_of` from `farwatch_airflow.groups`, and `asset_of` from
`farwatch_airflow.steps`.
"""

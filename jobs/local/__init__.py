"""Servers on this machine: Airflow, Spark Connect, a stand-by, the demo. None of it is a job."""

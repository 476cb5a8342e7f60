"""The library of Farwatch: synopses, protocols and the plain data they exchange.

Knows no Spark, no Airflow, no Delta, and no disk but the configuration files.
"""

__version__ = "0.1.0"

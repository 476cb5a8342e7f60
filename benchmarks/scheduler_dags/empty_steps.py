"""An Airflow DAG of eight tasks that do nothing: what a chain of eight costs before anything is done in it."""

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, chain

with DAG("empty-steps", schedule=None, max_active_runs=1):
    # Airflow's EmptyOperator would not do: the scheduler marks it as done without ever starting a task.
    chain(*(BashOperator(task_id=f"step-{number}", bash_command=":") for number in range(1, 9)))

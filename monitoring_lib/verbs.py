"""The steps of an epoch, in order: each is a verb of the `farwatch` command, a module of jobs, a task in Airflow.

Standard library only. The command, its stand-by, the driver of a range and the DAGs all take the list from here.
"""

MEANINGS = {
    "land": "New files become events, each row under its own epoch; faulty rows go to quarantine.",
    "gate": "Checks that the epoch before is sealed (if not: exit code 4), and which sites are fit to take part.",
    "summarise": "Spark makes counts and sketches of every site and epoch, for every monitor, where the data is.",
    "observe": "Each site takes in its epoch and sends what its protocol asks for.",
    "resolve": "The coordinator reads the messages, asks and answers, until no node has a message left to send.",
    "validate": "Checks output expectations and protocol invariants, on exactly what would be sealed.",
    "seal": "One atomic commit publishes the epoch; then its answers go to the table `answers`.",
    "alert": "Runs whatever happened before: tells the sinks what needs a person, once.",
}
VERBS = tuple(MEANINGS)

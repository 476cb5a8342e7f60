"""`farwatch simulate`: a trace through a monitor's methods in this process, or a trace made up."""

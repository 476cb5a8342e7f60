"""The eight steps of an epoch, one module each, as `monitoring_lib.verbs` lists them. No step imports another."""

"""The eight steps of an epoch, as `monitoring_lib.verbs` lists them, audit and maintain. None imports another."""

"""From a config to the hashed plan files of a run directory."""

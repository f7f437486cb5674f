"""From a case to the exact request text. Gold cannot be reached from here."""

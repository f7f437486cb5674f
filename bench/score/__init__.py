"""From stored evidence and gold to one outcome per planned trial."""

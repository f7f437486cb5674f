"""A small Responses-API client: one call is one HTTP attempt. Knows nothing of syntax, prompts or experiments."""

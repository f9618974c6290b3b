"""What a person or an agent can do: one function each."""

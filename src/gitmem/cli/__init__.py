"""The command line: talks to people and programs; no rules inside."""

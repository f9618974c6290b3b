"""Pure rules: no files, no git, no clock, no screen. Standard library only."""

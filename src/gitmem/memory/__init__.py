"""What an agent is given and what is found again: access, snapshot, recall, skills."""

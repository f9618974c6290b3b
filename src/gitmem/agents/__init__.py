"""Agent programs: one small adapter each, over one spawner and one stream reader."""

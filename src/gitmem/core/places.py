"""The names of a workspace's folders and files. Nothing is imported here: the earliest step needs it."""

CONFIG_FILE = "gitmem.yaml"
CONTEXT_FILE = "context.md"
POLICY_FILE = "policy.yaml"
LIBRARIES_FILE = "libraries.yaml"

# The folders that hold records; everything else in a workspace is the user's own.
RECORD_FOLDERS = ("issues", "comments", "skills", "agents", "members", "queue", "runs", "knowledge")

# Where an uncommitted file changes what a reader sees.
WATCHED = (*RECORD_FOLDERS, CONFIG_FILE, CONTEXT_FILE, POLICY_FILE, LIBRARIES_FILE)

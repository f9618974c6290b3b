"""What `gitmem help TOPIC` prints; docs/commands.md holds the same texts."""

from __future__ import annotations

ENVIRONMENT = """\
Environment

Every option has a twin in the environment; the option wins.

  GITMEM_DIR, GITMEM_AS, GITMEM_JSON, GITMEM_QUIET, GITMEM_VERBOSE, GITMEM_NO_COLOR, GITMEM_NO_INPUT
                        the options before the command: -C, --as, --json, -q, -v, --no-color, --no-input
  GITMEM_<COMMAND>_<OPTION>
                        an option of one command: GITMEM_ISSUE_LIST_LIMIT=50 is `gitmem issue list --limit 50`
  GITMEM_AGENT          set in a run: commands act as this agent and see what it may see, unless --as is given
  GITMEM_TRACE          the trace id (32 hex digits) that changes are recorded under; else a new one
  GITMEM_RUNS           where run directories are made; else $XDG_STATE_HOME/gitmem
  NO_COLOR              any value switches colour off, as does TERM=dumb
  VISUAL, EDITOR        the editor for a body that was not given, on a terminal only
  XDG_CONFIG_HOME, XDG_STATE_HOME
                        where the user configuration and reports of bugs are kept
"""

EXIT_CODES = """\
Exit codes

    0  done; also: nothing found, an empty queue
    1  an expected failure: not found, an illegal move, a run that failed
    2  usage: an unknown command or option, a missing or malformed value
    3  a bug in gitmem; the path of the report is printed
   10  not in a workspace
   11  locked: somebody else holds what is needed
   12  invalid documents
   13  conflict: someone changed it first
   14  not permitted
  130  interrupted

More may come; treat any code that is not 0 as a failure.
"""

FORMATTING = """\
Formatting

Data goes to stdout, words to stderr. On a terminal data is laid out for people. Elsewhere it is
tab-separated, one record a line, without a header and never cut; line ends and tabs inside a
value become spaces, so take bodies from --json.

With --json there is one JSON value on stdout: an object for one record, an array for many; one
object per line with a `type` where records come over time. Keys are snake_case, times are UTC
ISO-8601, ids are complete. An error is one object on stderr:

  {"error": {"kind": "not_found", "message": "...", "hint": "...", "exit_code": 1}}

Commands that write print the id first, then the commit.
"""

TOPICS = {"environment": ENVIRONMENT, "exit-codes": EXIT_CODES, "formatting": FORMATTING}

"""What is known of words beforehand, so that recall works in a workspace of one skill as in one of thousands.

The lists are English, the language of most issues; words of other languages count as rare,
which is right for names and identifiers and harmless otherwise.
"""

from __future__ import annotations

from gitmem.store.search_terms import STOP_WORDS


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Function words say nothing about a topic: those that the index drops, and more.
STOP = STOP_WORDS | _set("""
above against although always below cannot done either else etc even ever every get gets getting give
given go goes going got however instead let likely lot made make makes making many may might much must
near needed never nothing often one onto others per perhaps put quite rather really s see seem seems seen
since something still t take takes thing things though three thus till together two upon via wants way
well whatever whenever whether whole whose within without yes yet
""")

# Words of nearly every issue of a software team: they count, but little.
GENERIC = _set("""
add added adding allow api apis app application ask asked asks automatically available bad base basic
behavior behaviour better break breaks broken bug build call called case cause change changed changes
check class clean code com command common complete config configuration correct correctly create created
current currently data day default describe description develop developer different doc docs document
documentation easy enable ensure environment error errors event example exist existing expect expected
explain fail failed failing fails failure feature field fields file files find first fix fixed fixes
folder follow following found full function good handle help hour html http https idea implement improve
include information input install instance issue item job json keep kind know last later latest line list
local log logic logs machine main manage message method minute missing mode module move name new next
note number object old open option order org output package page part path people place possible print
printed problem process product production program project proper properly provide public question reason
remove repo report repository request require required result return right root run running runs save
script seconds send server service set setting setup show simple slow small software source src start
state status step steps stop support sure system task team test tests text think tool tools try turn type
understand update updated upgrade url usage use used user users uses using value version wait warning web
week with work working works write wrong yaml yml
""")

# Words that a description may consist of and still say nothing.
HOLLOW = STOP | _set("""
description general help helper helping helps misc miscellaneous skill skills stuff todo tool use used
useful using utility various
""")

# Each line: words that issues use for one another. A match through a group counts less than the word itself.
SYNONYMS = tuple(
    tuple(line.split())
    for line in """
flaky intermittent unstable sporadic sometimes occasional random nondeterministic
login signin authenticate authentication auth logon credentials
logout signout
test spec suite
crash panic segfault abort die
slow latency performance sluggish speed slowness lag
hang freeze stuck deadlock unresponsive
delete remove drop purge erase
certificate cert certs tls ssl https x509
rotate renew renewal refresh replace
expire expired expiry expiration expiring
deploy deployment rollout release ship publish
rollback revert undo
database db postgres postgresql mysql sqlite
migration migrate schema
query sql
cache caching cached memoize
container docker image layer
kubernetes k8s cluster pod helm
pipeline ci workflow actions
dependency dependencies library package
upgrade bump update
timeout deadline
retry retries backoff reattempt
email mail smtp
payment billing invoice checkout charge
picture image photo thumbnail avatar png jpeg webp
upload attach attachment
download fetch
translate translation i18n localization locale language
timezone utc dst
clock time date
endpoint route api
webhook callback hook
memory oom heap leak ram
disk storage space quota device volume
network connection socket
password passphrase secret
permission permissions access authorization rights forbidden
encrypt encryption cipher
log logging logs journal
metric metrics monitoring telemetry prometheus grafana
alert alarm notify notification page
backup restore snapshot dump
queue broker kafka rabbitmq worker
schedule cron scheduled nightly
csv spreadsheet excel export
duplicate duplicated twice double dedupe
validate validation sanitize
lint linter format formatter
typo spelling misspelled
button click
menu navigation sidebar
css style stylesheet theme layout
mobile phone android ios
browser chrome firefox safari
search lookup find
sort order ordering
paginate pagination page
doc docs documentation readme
""".strip().splitlines()
)

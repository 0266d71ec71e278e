#!/bin/sh
# demo.sh: shows on one machine that nothing is lost if one of three monitors dies. It starts PostgreSQL in a
# temporary directory, three monitors with one state, and lets each of twelve checks fail and recover while it
# kills a monitor. It needs Debian's package postgresql, takes half a minute, and leaves nothing behind.
# MONITOR: the command to run. Default: monitor
set -eu
here=$(cd "$(dirname "$0")" && pwd)
monitor=${MONITOR:-monitor}
checks=12

fail() { echo "demo.sh: $*" >&2; exit 1; }

set -- /usr/lib/postgresql/*/bin
[ -x "$1/initdb" ] || fail "PostgreSQL is missing; install it: apt-get install postgresql"
bin=$1

DEMO_DIRECTORY=$(mktemp -d -t monitor-demo-XXXXXX)
export DEMO_DIRECTORY
mkdir "$DEMO_DIRECTORY/files" "$DEMO_DIRECTORY/data"
: > "$DEMO_DIRECTORY/received"

# PostgreSQL refuses to run as root.
as_owner() { "$@"; }
if [ "$(id -u)" = 0 ]; then
  chown postgres "$DEMO_DIRECTORY" "$DEMO_DIRECTORY/data"
  as_owner() { setpriv --reuid=postgres --regid=postgres --init-groups -- "$@"; }
fi

one='' two='' three=''
end() {
  for process in $one $two $three; do kill "$process" 2> /dev/null || true; done
  wait
  as_owner "$bin/pg_ctl" --silent --mode=immediate --pgdata="$DEMO_DIRECTORY/data" stop || true
  rm -rf "$DEMO_DIRECTORY"
}
trap end EXIT
trap 'exit 130' INT TERM

cd /
as_owner "$bin/initdb" --username=monitor --auth=trust --no-sync --pgdata="$DEMO_DIRECTORY/data" \
  > "$DEMO_DIRECTORY/log"
as_owner "$bin/pg_ctl" --silent --wait --pgdata="$DEMO_DIRECTORY/data" --log="$DEMO_DIRECTORY/data/log" \
  --options="-c listen_addresses='' -c unix_socket_directories='$DEMO_DIRECTORY'" start
echo "PostgreSQL runs in $DEMO_DIRECTORY"

# start NAME
start() {
  $monitor check --config "$here/monitor.jsonc" --member "$1" > /dev/null 2> "$DEMO_DIRECTORY/log.$1" &
}
members() { $monitor members --config "$here/monitor.jsonc" 2>> "$DEMO_DIRECTORY/log"; }
# wait_for COUNT EVENT: waits until so many checks were notified of an event; counts an id once.
wait_for() {
  tries=0
  while [ "$(sort -u "$DEMO_DIRECTORY/received" | grep -c " $2 ")" -lt "$1" ]; do
    tries=$((tries + 1))
    [ $tries -lt 600 ] || { cat "$DEMO_DIRECTORY"/log* >&2; fail "fewer than $1 notifications of a $2"; }
    sleep 0.1
  done
}
break_files() { rm -f "$DEMO_DIRECTORY"/files/*; }
repair_files() { for number in $(seq $checks); do : > "$DEMO_DIRECTORY/files/$number"; done; }

repair_files
start fra-1; one=$!
start fra-2; two=$!
start nyc-1; three=$!
tries=0
while [ "$(members | grep -c 'live, [1-9]')" -lt 3 ]; do
  tries=$((tries + 1))
  [ $tries -lt 60 ] || { cat "$DEMO_DIRECTORY"/log* >&2; members >&2; fail "the monitors do not find each other"; }
  sleep 0.2
done
echo "Three monitors share $checks checks:"
members

break_files
wait_for $checks problem
echo "Each check failed; each problem was sent."

repair_files
kill -9 "$two"
wait "$two" 2> /dev/null || true
two=''
echo "Each check is well again, and monitor fra-2 was killed at this moment."
wait_for $checks recovery
break_files
wait_for $((2 * checks)) problem
repair_files
wait_for $((2 * checks)) recovery
members

# A message that its sender could not note as sent has the same id when it is sent again.
sent=$(sort -u "$DEMO_DIRECTORY/received" | wc -l)
wrong=$(sort -u "$DEMO_DIRECTORY/received" | cut -d ' ' -f 2- | sort | uniq -c | grep -cv '^ *2 ' || true)
[ "$sent" -eq $((4 * checks)) ] && [ "$wrong" -eq 0 ] || fail "$sent notifications, expected $((4 * checks))"
echo "Nothing is lost: each of $checks checks failed twice, with two problems and two recoveries sent."

#!/bin/sh
# Tries the running monitor on a disk that is really full: a 1 MB tmpfs in a mount namespace of its own, which goes
# with the last process in it. Needs to be root, or a system that lets users make namespaces.
set -eu

if [ "${1-}" != "--inside" ]; then
  if [ "$(id -u)" = 0 ]; then
    exec unshare --mount -- "$0" --inside
  fi
  exec unshare --map-root-user --mount -- "$0" --inside
fi

directory=$(mktemp -d)
trap 'umount "$directory" && rmdir "$directory"' EXIT
mount -t tmpfs -o size=1m monitor-full-disk "$directory"
project="$(dirname "$0")/../.."
deno run --quiet --config="$project/deno.json" --lock="$project/deno.lock" --frozen --allow-all "$(dirname "$0")/full_disk.ts" "$directory"

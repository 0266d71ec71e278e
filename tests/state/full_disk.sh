#!/bin/sh
# Tries the kept state on a disk that is really full: a 2 MB tmpfs in a mount namespace of its own, which goes
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
mount -t tmpfs -o size=2m monitor-full-disk "$directory"
project="$(dirname "$0")/../.."
deno run --config="$project/deno.json" --lock="$project/deno.lock" --frozen --allow-read --allow-write="$directory" --allow-sys=uid "$(dirname "$0")/full_disk.ts" "$directory"

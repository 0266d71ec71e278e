#!/usr/bin/env bash
# Builds the container of a release's archive and runs it, without a container engine: buildah in a chroot, upon a Debian
# that debootstrap makes. For root on Debian, with `apt-get install buildah debootstrap`; it takes some minutes, so that
# it is no part of the gate: `tests/packages/container.sh ARCHIVE.tar.gz`
set -euo pipefail
archive="$(readlink -f "$1")"
fail() { echo "container.sh: $*" >&2; exit 1; }

work="$(mktemp -d)"
build() { buildah --root "$work/store" --runroot "$work/run" --storage-driver vfs "$@"; }
cleanup() {
  build rm --all >/dev/null 2>&1 || true
  build umount --all >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap cleanup EXIT

debootstrap --variant=minbase stable "$work/debian" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" >"$work/log" 2>&1 ||
  fail "debootstrap: $(tail -n 3 "$work/log")"
base="$(build from scratch)"
directory="$(build mount "$base")"
tar --create --directory="$work/debian" --exclude='./dev/*' --exclude='./proc/*' --exclude='./sys/*' . |
  tar --extract --directory="$directory"
build umount "$base" >/dev/null
build commit --quiet "$base" docker.io/library/debian:stable-slim >/dev/null

mkdir "$work/release"
tar --extract --file "$archive" --strip-components 1 --directory "$work/release"
(cd "$work/release" && build bud --isolation chroot --pull-never --network host --tag monitor \
  --file examples/container/Containerfile .) >"$work/log" 2>&1 || fail "build: $(tail -n 20 "$work/log")"

container="$(build from --pull-never localhost/monitor:latest)"
cat >"$work/monitor.jsonc" <<'J'
{
  "defaults": {},
  "checks": {
    "plugin": { "kind": "script", "parameters": { "path": "/usr/lib/nagios/plugins/check_dummy", "arguments": ["1", "hot"] } }
  }
}
J
build copy --quiet "$container" "$work/monitor.jsonc" /etc/monitor/monitor.jsonc >/dev/null
inside() { build run --isolation chroot "$container" -- "$@"; }
inside id -un | grep -qx monitor || fail "it does not run as the user monitor"
inside /usr/bin/tini -s -- /usr/local/bin/monitor check --once >"$work/log" 2>&1 && code=0 || code=$?
[ "$code" = 1 ] || fail "check --once exits $code: $(cat "$work/log")"
inside /bin/sh -c 'ls /var/lib/monitor' | grep -q sqlite || fail "it keeps no state in /var/lib/monitor"
inside /bin/sh -c 'timeout --signal TERM 5 /usr/bin/tini -s -- /usr/local/bin/monitor check' >"$work/log" 2>&1 || true
grep -q 'stopping after SIGTERM' "$work/log" || fail "it does not stop: $(cat "$work/log")"
echo "the container is built, runs as its user, keeps its state and stops"

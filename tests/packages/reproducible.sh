#!/usr/bin/env bash
# Builds the executable and the packages twice, in directories of different names and one after the other, and compares them
# byte for byte: `tests/packages/reproducible.sh`, with DENORT_BIN where Deno's own download cannot be reached.
set -euo pipefail
cd "$(dirname "$0")/../.."

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 1750000000)}"
places=("$work/one" "$work/another/place with a longer name")
for place in "${places[@]}"; do
  mkdir -p "$place"
  tar --create --exclude=./dist --exclude=./.git . | tar --extract --directory="$place"
  # Where the packages of npm lie, what the clock shows and who writes must not matter either.
  (
    cd "$place"
    umask "$([ "$place" = "$work/one" ] && echo 022 || echo 077)"
    TZ="$([ "$place" = "$work/one" ] && echo UTC || echo Asia/Kolkata)" DENO_DIR="$place/deno" deno task --quiet compile
    deno task --quiet package
  ) >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
done
cmp "${places[0]}/dist/monitor" "${places[1]}/dist/monitor"
diff "${places[0]}/dist/SHA256SUMS" "${places[1]}/dist/SHA256SUMS"
diff --recursive "${places[0]}/dist/packages" "${places[1]}/dist/packages"
(cd "${places[1]}/dist" && sha256sum --check --quiet --strict SHA256SUMS)
(cd "${places[1]}/dist/packages" && sha256sum --check --quiet --strict SHA256SUMS)
echo "two builds in two places are the same"

#!/bin/sh
# Installs monitor: downloads the archive for this machine, compares its checksum, and copies the executable.
#
#     curl -fsSL https://github.com/check-monitor/monitor/releases/latest/download/install.sh | sh
#
# MONITOR_INSTALL_DIR  where the executable goes; default: /usr/local/bin as root, else ~/.local/bin
# MONITOR_VERSION      a version such as 0.1.0; default: the latest
# MONITOR_DOWNLOAD_URL where the files are; default: the release of that version
set -eu

url=https://github.com/check-monitor/monitor
if [ -n "${MONITOR_DOWNLOAD_URL:-}" ]; then
  files=$MONITOR_DOWNLOAD_URL
elif [ -n "${MONITOR_VERSION:-}" ]; then
  files=$url/releases/download/v$MONITOR_VERSION
else
  files=$url/releases/latest/download
fi

fail() {
  echo "install.sh: error: $*" >&2
  exit 1
}

case "$(uname -s)" in
  Linux) system=linux ;;
  Darwin) system=darwin ;;
  *) fail "no executable for $(uname -s): see $url/releases" ;;
esac
case "$(uname -m)" in
  x86_64 | amd64) machine=amd64 ;;
  aarch64 | arm64) machine=arm64 ;;
  *) fail "no executable for $(uname -m): see $url/releases" ;;
esac
name=monitor_${system}_$machine

if [ -n "${MONITOR_INSTALL_DIR:-}" ]; then
  directory=$MONITOR_INSTALL_DIR
elif [ "$(id -u)" = 0 ]; then
  directory=/usr/local/bin
else
  directory=$HOME/.local/bin
fi

if command -v curl >/dev/null 2>&1; then
  download() { curl --fail --silent --show-error --location --output "$2" "$1"; }
elif command -v wget >/dev/null 2>&1; then
  download() { wget --quiet --output-document="$2" "$1"; }
else
  fail "needs curl or wget"
fi
if command -v sha256sum >/dev/null 2>&1; then
  checksum() { sha256sum "$1"; }
else
  checksum() { shasum -a 256 "$1"; }
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
download "$files/$name.tar.gz" "$work/$name.tar.gz" || fail "cannot download $files/$name.tar.gz"
download "$files/SHA256SUMS" "$work/SHA256SUMS" || fail "cannot download $files/SHA256SUMS"
expected=$(awk -v name="$name.tar.gz" '$2 == name { print $1 }' "$work/SHA256SUMS")
actual=$(checksum "$work/$name.tar.gz" | awk '{ print $1 }')
[ -n "$expected" ] || fail "SHA256SUMS has no checksum of $name.tar.gz"
[ "$actual" = "$expected" ] || fail "checksum of $name.tar.gz is $actual, expected $expected"

tar -xzf "$work/$name.tar.gz" -C "$work"
mkdir -p "$directory"
# A running monitor keeps the old file: the new one takes its name.
cp "$work/$name/monitor" "$directory/.monitor.new"
chmod 755 "$directory/.monitor.new"
mv "$directory/.monitor.new" "$directory/monitor"
echo "installed $("$directory/monitor" --version | head -n 1) as $directory/monitor"
case ":$PATH:" in
  *":$directory:"*) ;;
  *) echo "add it to PATH: export PATH=\"$directory:\$PATH\"" ;;
esac

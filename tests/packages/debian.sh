#!/usr/bin/env bash
# Installs the Debian package for real, uses what it brought, and purges it: nothing may be left behind.
# For root on Debian, on a machine that has no monitor: `tests/packages/debian.sh FILE.deb`
set -euo pipefail
package="$(readlink -f "$1")"
here="$(cd "$(dirname "$0")" && pwd)"

fail() { echo "debian.sh: $*" >&2; exit 1; }
if getent passwd monitor >/dev/null || [ -e /etc/monitor ] || dpkg -s monitor >/dev/null 2>&1; then
  fail "there is a monitor on this machine already"
fi

work="$(mktemp -d)"
cleanup() {
  dpkg --purge monitor >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap cleanup EXIT

everything() {
  find /etc /lib/ /usr /var/lib -xdev -path /var/lib/dpkg -prune -o -path /usr/local -prune -o -print | sort
  getent passwd | sort
  getent group | sort
}
everything >"$work/before"

lintian --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog --fail-on error,warning "$package" \
  2>"$work/lintian" || fail "lintian: $(cat "$work/lintian")"
[ "$(dpkg-deb --field "$package" Depends | tr ',' '\n' | wc -l)" -gt 1 ] || fail "it depends on nothing"

timeout 120 dpkg --install "$package" >"$work/log" 2>&1 || fail "dpkg --install: $(cat "$work/log")"
[ "$(stat -c '%U %a' /var/lib/monitor)" = "monitor 700" ] || fail "the directory of the state is not the monitor's own"

monitor --version | head -n 1 | grep -qx 'monitor [0-9.]*' || fail "monitor --version"
monitor licenses | cmp -s - /usr/share/doc/monitor/copyright || fail "the copyright file is not what monitor prints"
example=/usr/share/doc/monitor/examples/monitor.jsonc
monitor validate -c "$example" >"$work/log" 2>&1 || fail "monitor validate: $(cat "$work/log")"

# Some images of Debian leave manual pages out when they install packages.
if [ -e /usr/share/man/man1/monitor.1.gz ]; then
  [ "$(man -w monitor)" = /usr/share/man/man1/monitor.1.gz ] || fail "man -w monitor"
  LC_ALL=C.UTF-8 MANWIDTH=100 man --warnings monitor >"$work/page" 2>"$work/warnings" || fail "man monitor"
  [ ! -s "$work/warnings" ] || fail "man --warnings: $(cat "$work/warnings")"
  grep -q 'EXIT STATUS' "$work/page" || fail "the manual page has no exit status"
fi

# Each shell finds the completions by itself and offers the names of a config.
cat >"$work/monitor.json" <<'J'
{ "defaults": {}, "checks": { "disk: root": { "kind": "test", "parameters": { "condition": "ok" } } } }
J
cd "$work"
bash --norc -c '
  . /usr/share/bash-completion/bash_completion
  _completion_loader monitor
  COMP_LINE="monitor explain di" COMP_POINT=18
  _monitor monitor di explain
  printf "%s\n" "${COMPREPLY[@]}"
' >"$work/bash" 2>&1 || true
[ "$(cat "$work/bash")" = 'disk:\ root' ] || fail "bash offers: $(cat "$work/bash")"
HOME="$work" fish -c 'complete -C "monitor explain di"' >"$work/fish"
[ "$(cut -f 1 "$work/fish")" = 'disk: root' ] || fail "fish offers: $(cat "$work/fish")"
echo '["autoload -Uz compinit; compinit -u -D\r", "monitor explain di\t\r", "exit\r"]' |
  HOME="$work" PS1='READY>' LC_ALL=C.UTF-8 TERM=xterm /usr/bin/python3 "$here/../support/terminal.py" 'READY>' zsh -f -i \
    >"$work/zsh"
grep -q 'kind *"test"' "$work/zsh" || fail "zsh: $(cat "$work/zsh")"

for unit in monitor.service monitor-due.service monitor-due.timer; do
  path="$(dpkg --listfiles monitor | grep "/$unit\$")"
  systemd-analyze verify --man=no "$path" 2>"$work/log" || fail "$unit: $(cat "$work/log")"
  [ ! -s "$work/log" ] || fail "$unit: $(cat "$work/log")"
done
[ ! -e /etc/systemd/system/multi-user.target.wants/monitor.service ] || fail "the service is enabled"

# What the service would run, as its user, in its directory.
setpriv --reuid=monitor --regid=monitor --clear-groups env -i STATE_DIRECTORY=/var/lib/monitor \
  /usr/bin/monitor check --once -c "$work/../$(basename "$work")/monitor.json" >"$work/log" 2>&1 && code=0 || code=$?
[ "$code" = 78 ] || fail "the user monitor may read what is root's alone"
install -m 640 -g monitor "$work/monitor.json" /etc/monitor/monitor.json
(cd / && setpriv --reuid=monitor --regid=monitor --clear-groups env -i STATE_DIRECTORY=/var/lib/monitor \
  /usr/bin/monitor check --once) >"$work/log" 2>&1 || fail "monitor check --once: $(cat "$work/log")"
[ -e /var/lib/monitor/monitor.sqlite ] || [ -n "$(ls /var/lib/monitor)" ] || fail "no state was kept"
rm /etc/monitor/monitor.json

timeout 120 dpkg --purge monitor >"$work/log" 2>&1 || fail "dpkg --purge: $(cat "$work/log")"
everything >"$work/after"
diff "$work/before" "$work/after" >"$work/log" || fail "left behind: $(cat "$work/log")"
echo "the Debian package is installed, works and leaves nothing behind"

#!/usr/bin/env bash
# Makes a program for MONITOR_PROGRAM that runs an executable as barely as can be, and prints its path:
# `tests/packages/bare_program.sh EXECUTABLE FOLDER`, as root.
#
# It runs as a user without rights, who owns nothing but the empty home that the caller names in HOME; without a
# capability; with nothing in the environment but that home, a PATH on which there is no Deno and no Node, and what the
# caller sets. The working directory is another user's, for reading. One that everybody may write to is given to that
# user, with its files.
set -euo pipefail
executable="$(readlink -f "$1")"
directory="$(readlink -f "$2")"
nobody=65534

mkdir -p "$directory/bin"
chmod 755 "$directory" "$directory/bin"
install -m 755 "$executable" "$directory/monitor"
for name in sh basename cat date dirname echo env false grep head kill ls mkdir printf rm sed sleep tail touch true; do
  ln -sf "/usr/bin/$name" "$directory/bin/$name"
done
for name in deno node npm npx; do
  if PATH="$directory/bin" command -v "$name" >/dev/null; then echo "$name is on the bare PATH" >&2; exit 1; fi
done

cat >"$directory/bare_monitor" <<W
#!/bin/sh
/usr/bin/chown $nobody:$nobody "\$HOME"
[ "\$(/usr/bin/stat --format %a .)" != 777 ] || /usr/bin/chown -R $nobody:$nobody .
exec /usr/bin/setpriv --reuid=$nobody --regid=$nobody --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all \\
  /usr/bin/env -u PWD -u OLDPWD -u SHLVL -u _ PATH="$directory/bin" "$directory/monitor" "\$@"
W
chmod 755 "$directory/bare_monitor"
echo "$directory/bare_monitor"

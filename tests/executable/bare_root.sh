#!/usr/bin/env bash
# The executable on a root that holds nothing but itself, the libraries it is linked to, and the few programs that
# the example config's script calls (busybox): no Node, no Deno, no certificates, no home, no network files.
# It must run the example config, and make a request over TLS fail for the right reason.
#
#     tests/executable/bare_root.sh dist/monitor
#
# Needs root (for chroot, mount and mknod), busybox-static and python3.
set -euo pipefail
cd "$(dirname "$0")/../.."
program="$1"

work="$(mktemp -d)"
root="$work/root"
server=""
finish() {
  if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi
  # Never remove what is still mounted.
  if mountpoint -q "$root/proc"; then umount "$root/proc"; fi
  if mountpoint -q "$root"; then umount "$root"; fi
  rm -rf --one-file-system "$work"
}
trap finish EXIT

mkdir "$root"
# A file system of its own, so that the example can say how full it is.
mount -t tmpfs -o size=300m tmpfs "$root"
mkdir -p "$root/bin" "$root/dev" "$root/example" "$root/proc"
# Where it finds itself: an executable reads its own program by /proc/self/exe.
mount -t proc proc "$root/proc"
cp "$program" "$root/bin/monitor"
# Of the loader's list only what names a file: the kernel's own part has none.
ldd "$program" | grep -o '/[^ ]*' | while read -r library; do
  mkdir -p "$root$(dirname "$library")"
  cp -L "$library" "$root$library"
done
cp "$(command -v busybox)" "$root/bin/busybox"
for name in sh df awk; do ln -s busybox "$root/bin/$name"; done
mknod -m 666 "$root/dev/null" c 1 3
cp examples/this_machine/* "$root/example/"
touch "$root/example/heartbeat"

# What the example asks for; it says on which port it listens.
cat > "$work/server.py" <<'PYTHON'
import http.server, sys

class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"all is well\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Page)
print(server.server_port, flush=True)
server.serve_forever()
PYTHON
mkfifo "$work/port"
python3 "$work/server.py" > "$work/port" &
server=$!
read -r port < "$work/port"

chroot_program="$(PATH="$PATH:/usr/sbin" command -v chroot)"
inside() { env -i PATH=/bin EXAMPLE_DIRECTORY=/example EXAMPLE_PORT="$port" "$chroot_program" "$root" "$@"; }
expect() {
  local code="$1" pattern="$2" seen=0 output
  shift 2
  output="$(inside "$@" 2>&1)" || seen=$?
  if [ "$seen" != "$code" ] || ! grep -q "$pattern" <<<"$output"; then
    printf 'bare root: %s\nended with %s, expected %s and "%s"\n%s\n' "$*" "$seen" "$code" "$pattern" "$output" >&2
    exit 1
  fi
}

expect 0 'monitor ' /bin/monitor --version
expect 0 '3 checks: 3 ok' /bin/monitor check --once --state none --config /example/monitor.jsonc
# Kept state, in a directory that it makes itself.
expect 0 '3 checks: 3 ok' /bin/monitor check --once --state /var/state.sqlite --config /example/monitor.jsonc
expect 0 'server' /bin/monitor status --state /var/state.sqlite --config /example/monitor.jsonc
# Without certificates a request over TLS still works as far as the handshake: it carries its own roots.
printf '{ "defaults": { "threshold": 1 }, "checks": { "tls": { "kind": "http_request", "parameters": {
  "request": { "target": "https://127.0.0.1:%s/" }, "response": { "status_code": 200 } } } } }' "$port" \
  > "$root/example/tls.json"
expect 2 'TLS handshake with' /bin/monitor check --once --state none --config /example/tls.json
echo "bare root: all passed"

#!/usr/bin/env bash
# A real mail server (Debian's postfix) takes a report and delivers it to a local mailbox, and a check speaks SMTP with it.
#
#   tests/life/real_mail_server.sh PROGRAM [ARGUMENT…]     the program under test, such as dist/monitor
#
# Needs root: postfix runs with a configuration and directories of its own below a temporary directory, on a loopback port.
set -euo pipefail
[ "$#" -gt 0 ] || { echo "usage: $0 PROGRAM [ARGUMENT…]" >&2; exit 64; }
command -v postfix >/dev/null || { echo "$0: postfix is not installed: apt-get install postfix" >&2; exit 1; }

work="$(mktemp -d)"
chmod 755 "$work"
mkdir "$work/etc" "$work/queue" "$work/data" "$work/mail"
cleanup() {
  postfix -c "$work/etc" stop >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap cleanup EXIT

port="$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')"
cp -r /etc/postfix/. "$work/etc/"
cat > "$work/etc/main.cf" <<CONF
compatibility_level = 3.6
queue_directory = $work/queue
data_directory = $work/data
mail_spool_directory = $work/mail
maillog_file = $work/maillog
maillog_file_prefixes = $work
myhostname = localhost
mydestination = localhost
mynetworks = 127.0.0.0/8
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
default_transport = error: no mail leaves this machine
alias_maps =
alias_database =
local_recipient_maps =
CONF
sed -e "s/^smtp  *inet .*/127.0.0.1:$port inet n - n - - smtpd/" -e 's/^\(pickup\|cleanup\|qmgr\|.*unix.*\) y /\1 n /' \
  /usr/share/postfix/master.cf.dist | sed -E 's/^([a-z]+ +unix +[-yn]+ +[-yn]+ +)y/\1n/' > "$work/etc/master.cf"
grep -q '^postlog' "$work/etc/master.cf" || echo 'postlog unix-dgram n - n - 1 postlogd' >> "$work/etc/master.cf"
chown postfix "$work/data" "$work/mail"
chmod 1777 "$work/mail"
useradd --system --no-create-home monitor-mailbox 2>/dev/null || true
postfix -c "$work/etc" start >/dev/null 2>"$work/start" || { cat "$work/start" >&2; exit 1; }

cat > "$work/monitor.json" <<CONF
{
  "defaults": {
    "threshold": 1,
    "notifications": [{
      "kind": "email",
      "parameters": {
        "access": { "host": "127.0.0.1", "port": $port, "username": "", "password": "" },
        "sender": "monitor@localhost",
        "receivers": ["monitor-mailbox@localhost"],
        "tags": ["trial"]
      }
    }]
  },
  "checks": {
    "web": { "title": "Webseite für alle", "kind": "test", "parameters": { "condition": "critical", "output": "down – 停止" } },
    "mail": {
      "kind": "tcp_connect",
      "parameters": { "host": "127.0.0.1", "port": $port, "protocol": "smtp" }
    }
  }
}
CONF
code=0
"$@" check --once --config "$work/monitor.json" --state "$work/state.sqlite" > "$work/out" 2> "$work/err" || code=$?
if [ "$code" -ne 2 ] || [ -s "$work/err" ]; then
  echo "$0: monitor exited with $code, expected 2 and nothing on stderr:" >&2
  cat "$work/err" >&2
  exit 1
fi
grep -q '^OK .*mail' "$work/out" || { echo "$0: the check of the mail server is not ok:" >&2; cat "$work/out" >&2; exit 1; }
# Postfix delivers on its own time; its queue says when it is done.
for _ in $(seq 100); do
  [ -s "$work/mail/monitor-mailbox" ] && break
  postfix -c "$work/etc" flush >/dev/null 2>&1 || true
  sleep 0.1
done
python3 - "$work/mail/monitor-mailbox" <<'PY'
import mailbox, sys
from email.header import decode_header, make_header
mails = list(mailbox.mbox(sys.argv[1]))
assert len(mails) == 1, f"{len(mails)} mails, expected 1"
mail = mails[0]
subject = str(make_header(decode_header(mail["Subject"])))
assert subject == "[trial] Webseite für alle is critical: down – 停止", subject
assert mail["Auto-Submitted"] == "auto-generated", mail["Auto-Submitted"]
assert mail["Message-ID"] and mail["Date"], "no id or date"
body = mail.get_payload(decode=True).decode("utf-8")
assert "down – 停止" in body, body
print("a real mail server delivered:", subject)
PY

import assert from "node:assert/strict";
import { type Proposal, PROPOSAL_SOURCES } from "../../src/discover/discovery.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { createCertificate } from "../support/certificates.ts";
import { type FakeMachine, printing, withMachine } from "../support/fake_machine.ts";

/** Returns the proposals of a source on a machine: words and reasons; and its unreadable sources. */
function found(source: keyof typeof PROPOSAL_SOURCES, machine: FakeMachine) {
  return withMachine(machine, async ({ root, bin }) => {
    const system = createMemorySystem({ environment: { PATH: bin } });
    const notes: string[] = [];
    const deny = (what: string): void => void notes.push(`${what}: denied`);
    const proposals: readonly Proposal[] = await PROPOSAL_SOURCES[source]({
      system,
      root,
      deny,
      note: (text) => void notes.push(text),
    });
    return { proposed: proposals.map(({ words, reason }) => `${words.join(" ")}: ${reason}`), notes };
  });
}

Deno.test("listening ports: each port with a recognizable protocol is proposed once", async () => {
  const ss = printing(`LISTEN 0 128        0.0.0.0:22     0.0.0.0:*  users:(("sshd",pid=1,fd=3))
LISTEN 0 128           [::]:22        [::]:*  users:(("sshd",pid=1,fd=4))
LISTEN 0 4096 127.0.0.53%lo:53     0.0.0.0:*
LISTEN 0 511      192.0.2.7:80     0.0.0.0:*  users:(("nginx",pid=7,fd=6),("nginx",pid=8,fd=6))
LISTEN 0 511              *:443          *:*  users:(("nginx",pid=7,fd=7))
LISTEN 0 4096         [::1]:631       [::]:*
LISTEN 0 100 [::ffff:127.0.0.1]:8080     *:*  users:(("java",pid=9,fd=9))
LISTEN 0 100      127.0.0.1:9797   0.0.0.0:*  users:(("monitor",pid=3,fd=9))
LISTEN 0 100        0.0.0.0:40001  0.0.0.0:*  users:(("rpc.statd",pid=3,fd=9))`);
  assert.deepEqual(await found("ports", { commands: { ss } }), {
    proposed: [
      "ssh://127.0.0.1:22: sshd listens to port 22",
      "127.0.0.53:53: port 53 is open at 127.0.0.53",
      "192.0.2.7:80: nginx listens to port 80 at 192.0.2.7",
      "127.0.0.1:443: nginx listens to port 443",
      "[::1]:631: port 631 is open at ::1",
      "127.0.0.1:8080: java listens to port 8080 at 127.0.0.1",
    ],
    notes: [],
  });
});

Deno.test("listening ports: the tables of the kernel replace ss", async () => {
  const head = "  sl  local_address rem_address   st tx_queue rx_queue\n";
  const files = {
    "/proc/net/tcp": `${head}   0: 0100007F:1538 00000000:0000 0A 00000000:00000000
   1: 00000000:0016 00000000:0000 0A 00000000:00000000
   2: 0100007F:A000 0100007F:1538 01 00000000:00000000\n`,
    "/proc/net/tcp6":
      `${head}   0: 00000000000000000000000001000000:0277 00000000000000000000000000000000:0000 0A 0\n`,
  };
  assert.deepEqual(await found("ports", { files }), {
    proposed: [
      "ssh://127.0.0.1:22: port 22 is open",
      "[::1]:631: port 631 is open at ::1",
      "127.0.0.1:5432: port 5432 is open at 127.0.0.1",
    ],
    notes: [],
  });
  assert.deepEqual(await found("ports", {}), {
    proposed: [],
    notes: ["listening ports: ss is not installed"],
  });
});

Deno.test("systemd units: failed units and enabled services that run are proposed", async () => {
  const systemctl = `case "$*" in
*list-unit-files*) cat <<'END'
getty@.service enabled enabled
ssh.service enabled enabled
networking.service enabled enabled
END
;;
*list-units*) cat <<'END'
ssh.service loaded active running OpenBSD Secure Shell server
getty@tty1.service loaded active running Getty on tty1
networking.service loaded active exited Raise network interfaces
dbus.service loaded active running D-Bus System Message Bus
backup.service loaded failed failed Nightly backup
fstrim.timer loaded failed failed Discard unused blocks
missing.service not-found inactive dead missing.service
END
;;
esac`;
  assert.deepEqual(await found("units", { commands: { systemctl } }), {
    proposed: [
      "ssh.service: enabled service that runs",
      "getty@tty1.service: enabled service that runs",
      "backup.service: unit that failed",
      "fstrim.timer: unit that failed",
    ],
    notes: [],
  });
});

Deno.test("a missing or failing command is noted", async () => {
  assert.deepEqual((await found("units", {})).notes, ["systemd units: systemctl is not installed"]);
  const systemctl = "echo 'not booted with systemd' >&2; exit 1";
  assert.deepEqual((await found("units", { commands: { systemctl } })).notes, [
    "systemd units: systemctl failed: not booted with systemd",
  ]);
  assert.deepEqual((await found("fileSystems", {})).notes, ["file systems: df is not installed"]);
});

Deno.test("file systems: each disk is proposed once, at its first place", async () => {
  const df = printing(`Filesystem     Type     1024-blocks     Used Available Capacity Mounted on
devtmpfs       devtmpfs     1000000        0   1000000       0% /dev
/dev/vda1      ext4       100000000 42000000  58000000      42% /
/dev/vda1      ext4       100000000 42000000  58000000      42% /srv/bind
/dev/vdb       xfs        100000000 42000000  58000000       7% /var/my data
tmpfs          tmpfs        1000000        0   1000000       1% /run
/dev/loop1     squashfs      100000   100000         0     100% /snap/core/1
/dev/vdc       ext4       100000000 42000000  58000000       7% /etc/hosts
shm            tmpfs          65536        0     65536       0% /dev/shm`);
  assert.deepEqual((await found("fileSystems", { commands: { df } })).proposed, [
    "/: root file system (ext4), 42% used",
    "/var/my data: file system (xfs), 7% used",
  ]);
});

Deno.test("file systems: the root of a container is proposed", async () => {
  const df = printing(`Filesystem Type 1024-blocks Used Available Capacity Mounted on
overlay overlay 100 42 58 42% /`);
  const { proposed } = await found("fileSystems", { commands: { df: `${df}\nexit 1` } });
  assert.deepEqual(proposed, ["/: root file system (overlay), 42% used"]);
});

Deno.test("cron jobs: those of the system and of the user are proposed", async () => {
  const files = {
    "/etc/crontab": `SHELL=/bin/sh
# m h dom mon dow user command
17 * * * * root cd / && run-parts --report /etc/cron.hourly
5 4 * * 0 www-data /usr/bin/tidy --all
`,
    "/etc/cron.d/php": "09,39 * * * * root [ -x /usr/lib/php/sessionclean ] && /usr/lib/php/sessionclean\n",
    "/etc/cron.d/ignored.dpkg-old": "* * * * * root /bin/x\n",
    "/etc/cron.d/monitored": "0 1 * * * root /usr/bin/monitor beat backup -- /bin/backup\n",
  };
  const crontab = printing("@reboot /bin/start\n30 2 * * * $HOME/bin/sync.sh > /dev/null");
  assert.deepEqual(await found("cronJobs", { files, commands: { crontab } }), {
    proposed: [
      "job 5 4 * * 0 grace=2 hours: job that runs at 5 4 * * 0, in /etc/crontab",
      "job 09,39 * * * *: job that runs at 09,39 * * * *, in /etc/cron.d/php",
      "job 30 2 * * * grace=2 hours: job that runs at 30 2 * * *, in the crontab",
    ],
    notes: [],
  });
  const without = await found("cronJobs", {
    commands: { crontab: "echo 'no crontab for root' >&2; exit 1" },
  });
  assert.deepEqual(without, { proposed: [], notes: [] });
});

Deno.test("certificates: the first plain name of each certificate of a server is proposed once", async () => {
  const site = createCertificate({ hosts: ["*.example.org", "www.example.org"] }).cert;
  const files = {
    "/etc/letsencrypt/live/example.org/cert.pem": site,
    "/etc/letsencrypt/live/example.org/fullchain.pem": site,
    "/etc/letsencrypt/live/README": "text",
    "/etc/nginx/ssl/ca.crt": createCertificate({ hosts: ["ca.example.org"], isAuthority: true }).cert,
    "/etc/nginx/ssl/wild.pem": createCertificate({ hosts: ["*.example.net"] }).cert,
    "/etc/haproxy/certs/broken.pem": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
  };
  assert.deepEqual(await found("certificates", { files }), {
    proposed: [
      "tls_certificate www.example.org: certificate in /etc/letsencrypt/live/example.org/cert.pem",
      "domain_expiry example.org: domain of www.example.org",
    ],
    notes: [],
  });
  // Of more labels, the registered one is not certain; and no registry of .de is listed.
  for (const host of ["shop.example.org", "example.de"]) {
    const { proposed } = await found("certificates", {
      files: { "/etc/letsencrypt/live/x/cert.pem": createCertificate({ hosts: [host] }).cert },
    });
    assert.deepEqual(proposed, [`tls_certificate ${host}: certificate in /etc/letsencrypt/live/x/cert.pem`]);
  }
});

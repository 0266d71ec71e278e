/** Dialogs, clocks and health services of Debian's servers. */
import assert from "node:assert/strict";
import type { Check } from "../../src/domain/check.ts";
import { createFiles } from "../../src/system/files.ts";
import { createConnections } from "../../src/system/tcp/connections.ts";
import { createRealClock } from "../../testing/real_clock.ts";
import { tempDirectory } from "../../testing/builders.ts";
import { runChild, startChild, testWith, tool } from "../../testing/tools.ts";
import { createAuthority, createCertificate } from "../support/certificates.ts";
import { startFaultProxy } from "../support/fault_proxy.ts";
import { freePort } from "../support/http_servers.ts";
import { observeCheck } from "../support/observe_check.ts";

type Server = Pick<Check, "kind" | "parameters">;

async function seenOf(server: Server, timeoutMs?: number): Promise<string> {
  const clock = createRealClock();
  const system = { clock, connections: createConnections(clock), files: createFiles(clock) };
  const { condition, output } = await observeCheck(server, {
    system,
    ...timeoutMs !== undefined && { timeoutMs },
  });
  return `${condition}: ${output}`;
}

/** Starts a server, and waits until it responds. */
async function withServer(
  [command, args]: readonly [string, readonly string[]],
  probe: Server,
  use: (child: Deno.ChildProcess) => Promise<void>,
): Promise<void> {
  const child = startChild(command, args, { stdout: "null", stderr: "null" });
  try {
    // A datagram to a server that does not listen yet may be lost: ask again soon.
    let seen = await seenOf(probe, 500);
    for (let count = 0; !seen.startsWith("ok") && count < 400; count++) {
      await new Promise((resolve) => setTimeout(resolve, 25));
      seen = await seenOf(probe, 500);
    }
    assert.match(seen, /^ok/);
    await use(child);
  } finally {
    child.kill("SIGTERM");
    await child.status;
  }
}

const tcp = (parameters: object): Server => ({
  kind: "tcp_connect",
  parameters: { host: "localhost", everyAddress: false, tls: false, asWarning: false, ...parameters },
} as Server);

/** Writes a certificate for localhost, its key and its authority. */
async function writeCertificate(path: string): Promise<void> {
  const authority = createAuthority();
  const { cert, key } = createCertificate({ authority, toDay: 60 });
  await Deno.writeTextFile(`${path}/ca.pem`, authority.cert);
  await Deno.writeTextFile(`${path}/cert.pem`, cert);
  await Deno.writeTextFile(`${path}/key.pem`, key, { mode: 0o600 });
}

/** A connection that ends within the first line is not ok. */
async function assertCutIsCritical(port: number, protocol: string): Promise<void> {
  for (const position of [0, 5, 12]) {
    const fault = { kind: "cut", from: "server", position, bits: 0 } as const;
    await using proxy = startFaultProxy(port, fault);
    assert.match(
      await seenOf(tcp({ port: proxy.port, protocol })),
      /^critical: greeting: connection closed by the server/,
    );
  }
}

/** A server whose kernel still accepts the connection is not ok. */
async function assertHangIsCritical(child: Deno.ChildProcess, server: Server): Promise<void> {
  child.kill("SIGSTOP");
  try {
    assert.match(await seenOf(server, 2_000), /^critical: .*timeout/);
  } finally {
    child.kill("SIGCONT");
  }
}

testWith("dovecot", "dovecot-pop3", "root")(
  "tcp_connect logs in to a real Dovecot, by IMAP and TLS",
  async () => {
    await using temporary = await tempDirectory();
    const { path } = temporary;
    const [imap, pop3] = [freePort(), freePort()];
    await writeCertificate(path);
    const listener = (name: string, port: number): string =>
      `service ${name}-login {\n inet_listener ${name} {\n address = 127.0.0.1\n port = ${port}\n }\n` +
      ` inet_listener ${name}s {\n port = 0\n }\n}\n`;
    await Deno.writeTextFile(
      `${path}/dovecot.conf`,
      `base_dir = ${path}/run\nprotocols = imap pop3\nlog_path = ${path}/log\nssl = yes\n` +
        `ssl_cert = <${path}/cert.pem\nssl_key = <${path}/key.pem\ndisable_plaintext_auth = yes\n` +
        `mail_location = maildir:${path}/mail/%u\nfirst_valid_uid = 0\nauth_failure_delay = 0\n` +
        `service anvil {\n unix_listener anvil-auth-penalty {\n mode = 0\n }\n}\n` +
        `passdb {\n driver = static\n args = password=s3cret\n}\n` +
        `userdb {\n driver = static\n args = uid=0 gid=0 home=${path}/mail/%u\n}\n` +
        listener("imap", imap) + listener("pop3", pop3),
    );
    const own = { port: imap, protocol: "imap", caFile: `${path}/ca.pem` };
    const login = (password: string) => ({ username: "ada", password });
    await withServer([tool("dovecot"), ["-F", "-c", `${path}/dovecot.conf`]], tcp(own), async () => {
      assert.equal(
        await seenOf(tcp({ ...own, login: login("s3cret") })),
        "ok: connected, imap greeting, STARTTLS, user, login passed",
      );
      assert.match(
        await seenOf(tcp({ ...own, login: login("wrong") })),
        /^critical: login: server replied "a2 NO \[AUTHENTICATIONFAILED\]/,
      );
      assert.match(
        await seenOf(tcp({ ...own, caFile: undefined, startTls: true })),
        /^critical: .*not trusted/,
      );
      assert.equal(
        await seenOf(tcp({ ...own, port: pop3, protocol: "pop3", startTls: true })),
        "ok: connected, pop3 greeting, STARTTLS passed",
      );
      assert.match(
        await seenOf(tcp({ ...own, port: pop3, protocol: "pop3", login: login("wrong") })),
        /^critical: login: server replied "-ERR \[AUTH\]/,
      );
    });
  },
);

testWith("chronyd", "root")("ntp compares the clock with a real chronyd", async () => {
  await using temporary = await tempDirectory();
  const { path } = temporary;
  const port = freePort();
  await Deno.writeTextFile(
    `${path}/chrony.conf`,
    `local stratum 8\nallow 127.0.0.1\nport ${port}\ncmdport 0\nbindaddress 127.0.0.1\npidfile ${path}/pid\n`,
  );
  const ntp = (offset: object) =>
    ({ kind: "ntp", parameters: { host: "127.0.0.1", port, offset, asWarning: false } }) as Server;
  const far = ntp({ warningAboveMs: 60_000, criticalAboveMs: 60_000 });
  await withServer(
    [tool("chronyd"), ["-x", "-d", "-u", "root", "-f", `${path}/chrony.conf`]],
    far,
    async (child) => {
      assert.match(await seenOf(far), /^ok: offset .* \(stratum 8\)$/);
      await assertHangIsCritical(child, far);
    },
  );
});

testWith("ssh-keygen", "sshd", "root")(
  "tcp_connect reads the greeting of a real OpenSSH, and ends without an error in its log",
  async () => {
    await using temporary = await tempDirectory();
    const { path } = temporary;
    const port = freePort();
    await runChild(tool("ssh-keygen"), ["-q", "-t", "ed25519", "-N", "", "-f", `${path}/key`]);
    // Of sshd itself, for any configuration.
    await Deno.mkdir("/run/sshd", { recursive: true, mode: 0o755 });
    await Deno.writeTextFile(
      `${path}/sshd.conf`,
      `Port ${port}\nListenAddress 127.0.0.1\nHostKey ${path}/key\nPidFile none\nUsePAM no\n` +
        `MaxStartups 100\n`,
    );
    const own = tcp({ port, protocol: "ssh" });
    await withServer(
      [tool("sshd"), ["-D", "-E", `${path}/log`, "-f", `${path}/sshd.conf`]],
      own,
      async (child) => {
        assert.equal(await seenOf(own), "ok: connected, ssh greeting passed");
        assert.doesNotMatch(await Deno.readTextFile(`${path}/log`), /error|kex|banner/);
        await assertCutIsCritical(port, "ssh");
        await assertHangIsCritical(child, own);
      },
    );
  },
);

testWith("vsftpd", "root")("tcp_connect logs in to a real vsftpd, by TLS", async () => {
  await using temporary = await tempDirectory();
  const { path } = temporary;
  const port = freePort();
  await writeCertificate(path);
  await Deno.mkdir(`${path}/empty`);
  await Deno.writeTextFile(
    `${path}/vsftpd.conf`,
    `listen=YES\nlisten_ipv6=NO\nlisten_address=127.0.0.1\nlisten_port=${port}\nbackground=NO\n` +
      `anonymous_enable=YES\nlocal_enable=NO\nsecure_chroot_dir=${path}/empty\nssl_enable=YES\n` +
      `allow_anon_ssl=YES\nrsa_cert_file=${path}/cert.pem\nrsa_private_key_file=${path}/key.pem\n`,
  );
  const own = { port, protocol: "ftp", caFile: `${path}/ca.pem` };
  await withServer([tool("vsftpd"), [`${path}/vsftpd.conf`]], tcp(own), async () => {
    assert.equal(
      await seenOf(tcp({ ...own, login: { username: "anonymous", password: "ada@example.org" } })),
      "ok: connected, ftp greeting, STARTTLS, user, login passed",
    );
    assert.match(
      await seenOf(tcp({ ...own, login: { username: "root", password: "wrong" } })),
      /^critical: user: server replied "530 /,
    );
    assert.match(
      await seenOf(tcp({ ...own, caFile: undefined, startTls: true })),
      /^critical: .*not trusted/,
    );
    await assertCutIsCritical(port, "ftp");
  });
});

testWith("postfix", "postfix-master", "root")("tcp_connect starts TLS with a real Postfix", async () => {
  await using temporary = await tempDirectory();
  const { path } = temporary;
  await Deno.chmod(path, 0o755);
  const port = freePort();
  await writeCertificate(path);
  for (const name of ["etc", "queue", "data"]) await Deno.mkdir(`${path}/${name}`);
  for (const name of ["postfix-files", "dynamicmaps.cf"]) {
    await Deno.copyFile(`/etc/postfix/${name}`, `${path}/etc/${name}`);
  }
  await Deno.writeTextFile(
    `${path}/etc/main.cf`,
    `compatibility_level = 3.6\nqueue_directory = ${path}/queue\ndata_directory = ${path}/data\n` +
      `maillog_file = ${path}/log\nmaillog_file_prefixes = ${path}\nmyhostname = localhost\n` +
      `inet_interfaces = 127.0.0.1\ninet_protocols = ipv4\nalias_maps =\nalias_database =\n` +
      `smtpd_tls_cert_file = ${path}/cert.pem\nsmtpd_tls_key_file = ${path}/key.pem\n` +
      `smtpd_tls_security_level = may\nsmtpd_peername_lookup = no\n`,
  );
  await Deno.writeTextFile(
    `${path}/etc/master.cf`,
    `127.0.0.1:${port} inet n - n - - smtpd\nanvil unix - - n - 1 anvil\n` +
      `tlsmgr unix - - n 1000? 1 tlsmgr\nrewrite unix - - n - - trivial-rewrite\n` +
      `proxymap unix - - n - - proxymap\npostlog unix-dgram n - n - 1 postlogd\n`,
  );
  const [, uid] = /^postfix:x:(\d+):/m.exec(await Deno.readTextFile("/etc/passwd")) ?? [];
  await Deno.chown(`${path}/data`, Number(uid), null);
  // Makes the directories of the queue. The master alone is a child that ends by its id.
  await runChild(tool("postfix"), ["-c", `${path}/etc`, "check"]);
  const own = { port, protocol: "smtp", caFile: `${path}/ca.pem` };
  const master = [tool("postfix-master"), ["-s", "-c", `${path}/etc`]] as const;
  await withServer(master, tcp(own), async () => {
    assert.equal(
      await seenOf(tcp({ ...own, startTls: true })),
      "ok: connected, smtp greeting, hello, STARTTLS, hello with TLS passed",
    );
    assert.match(
      await seenOf(tcp({ ...own, caFile: undefined, startTls: true })),
      /^critical: .*not trusted/,
    );
    assert.match(
      await seenOf(tcp({ ...own, login: { username: "ada", password: "s3cret" } })),
      /^critical: login: server replied "503 /,
    );
    await assertCutIsCritical(port, "smtp");
  });
});

/** A health service of gRPC's own library; a service is its status, and another is unknown. */
const HEALTH_SERVICE = `
import sys, grpc
from concurrent import futures
BODIES = {b"": b"\\x08\\x01", b"shop": b"\\x08\\x02", b"flood": b"\\x0a" + b"x" * 1000000}
def check(request, context):
    name = request[2:]
    if name not in BODIES:
        context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
    return BODIES[name]
server = grpc.server(futures.ThreadPoolExecutor(max_workers=2))
method = grpc.unary_unary_rpc_method_handler(check)
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": method}),))
server.add_insecure_port("127.0.0.1:" + sys.argv[1])
server.start()
server.wait_for_termination()
`;

testWith("python3", "python3-grpcio")("grpc_health asks a real gRPC server, which then hangs", async () => {
  const port = freePort();
  const health = (service: string) =>
    ({
      kind: "grpc_health",
      parameters: { host: "127.0.0.1", port, service, tls: false, asWarning: false },
    }) as Server;
  await withServer(
    [tool("python3"), ["-c", HEALTH_SERVICE, String(port)]],
    health(""),
    async (child) => {
      assert.equal(await seenOf(health("")), "ok: server is SERVING");
      assert.equal(await seenOf(health("shop")), 'critical: service "shop" is NOT_SERVING');
      assert.equal(
        await seenOf(health("cart")),
        'critical: service "cart": gRPC status NOT_FOUND: "unknown service"',
      );
      assert.equal(
        await seenOf(health("flood")),
        "unknown: response is longer than the 48 KiB that are read",
      );
      await assertHangIsCritical(child, health(""));
    },
  );
});

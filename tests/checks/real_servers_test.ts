/** Dialogs and clocks with Debian's servers. */
import assert from "node:assert/strict";
import type { Check } from "../../src/domain/check.ts";
import { createFiles } from "../../src/system/files.ts";
import { createConnections } from "../../src/system/tcp/connections.ts";
import { createRealClock } from "../../testing/real_clock.ts";
import { tempDirectory } from "../../testing/builders.ts";
import { requiresTools, startChild, tool } from "../../testing/tools.ts";
import { createAuthority, createCertificate } from "../support/certificates.ts";
import { freePort } from "../support/http_servers.ts";
import { observeCheck } from "../support/observe_check.ts";

type Server = Pick<Check, "kind" | "parameters">;

async function seenOf(server: Server): Promise<string> {
  const clock = createRealClock();
  const system = { clock, connections: createConnections(clock), files: createFiles(clock) };
  const { condition, output } = await observeCheck(server, { system });
  return `${condition}: ${output}`;
}

/** Starts a server, and waits until it responds. */
async function withServer(
  [command, args]: readonly [string, readonly string[]],
  probe: Server,
  use: () => Promise<void>,
): Promise<void> {
  const child = startChild(command, args, { stdout: "null", stderr: "null" });
  try {
    let seen = await seenOf(probe);
    for (let count = 0; !seen.startsWith("ok") && count < 400; count++) {
      await new Promise((resolve) => setTimeout(resolve, 25));
      seen = await seenOf(probe);
    }
    assert.match(seen, /^ok/);
    await use();
  } finally {
    child.kill("SIGTERM");
    await child.status;
  }
}

const tcp = (parameters: object): Server => ({
  kind: "tcp_connect",
  parameters: { host: "localhost", everyAddress: false, tls: false, asWarning: false, ...parameters },
} as Server);

Deno.test({
  ...requiresTools("dovecot", "dovecot-pop3", "root"),
  name: "tcp_connect logs in to a real Dovecot, by IMAP and TLS",
  fn: async () => {
    await using temporary = await tempDirectory();
    const { path } = temporary;
    const [imap, pop3] = [freePort(), freePort()];
    const authority = createAuthority();
    const { cert, key } = createCertificate({ authority, toDay: 60 });
    await Deno.writeTextFile(`${path}/ca.pem`, authority.cert);
    await Deno.writeTextFile(`${path}/cert.pem`, cert);
    await Deno.writeTextFile(`${path}/key.pem`, key, { mode: 0o600 });
    const listener = (name: string, port: number): string =>
      `service ${name}-login {\n inet_listener ${name} {\n address = 127.0.0.1\n port = ${port}\n }\n` +
      ` inet_listener ${name}s {\n port = 0\n }\n}\n`;
    await Deno.writeTextFile(
      `${path}/dovecot.conf`,
      `base_dir = ${path}/run\nprotocols = imap pop3\nlog_path = ${path}/log\nssl = yes\n` +
        `ssl_cert = <${path}/cert.pem\nssl_key = <${path}/key.pem\ndisable_plaintext_auth = yes\n` +
        `mail_location = maildir:${path}/mail/%u\nfirst_valid_uid = 0\nauth_failure_delay = 0\n` +
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
});

Deno.test({
  ...requiresTools("chronyd", "root"),
  name: "ntp compares the clock with a real chronyd",
  fn: async () => {
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
      async () => {
        assert.match(await seenOf(far), /^ok: offset .* \(stratum 8\)$/);
      },
    );
  },
});

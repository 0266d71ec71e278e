/** The certificates that TLS trusts, by the environment. */
import assert from "node:assert/strict";
import { requiresTools } from "../../testing/tools.ts";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { type Authority, createAuthority, createCertificate } from "../support/certificates.ts";
import { startServer, type TestServer } from "../support/http_servers.ts";
import { type MailServer, startMailServer } from "../support/mail_server.ts";
import { flagsFor } from "../permissions/harness.ts";
import { type Harness, withHarness } from "./program.ts";

const test = concurrentTests("monitor: trusted certificates");

interface Row {
  readonly environment: Readonly<Record<string, string>>;
  /** Of the checks that use TLS; the one that does not is always ok. */
  readonly condition: string;
  readonly output: RegExp;
  /** The output of `monitor notify` for each channel. */
  readonly delivery: RegExp;
}

const UNTRUSTED = /certificate is not trusted \(unknown issuer\)/;

/** An empty variable is one that is not set. */
const UNSET = { DENO_TLS_CA_STORE: "" };

const ROWS: Readonly<Record<string, Row>> = {
  "the machine's CA certificates, if nothing is set": {
    environment: { ...UNSET, SSL_CERT_FILE: "./authority.pem" },
    condition: "ok",
    output: /^status is 200$|^connected with TLS$|^certificate expires in/,
    delivery: /accepted/,
  },
  "the built-in list only, if the user wants that": {
    environment: { DENO_TLS_CA_STORE: "mozilla", SSL_CERT_FILE: "./authority.pem" },
    condition: "critical",
    output: UNTRUSTED,
    delivery: UNTRUSTED,
  },
  "nothing, if the variable has an unknown value": {
    environment: { DENO_TLS_CA_STORE: "sytem" },
    condition: "unknown",
    output: /^DENO_TLS_CA_STORE has the unknown value "sytem", expected system or mozilla$/,
    delivery: /DENO_TLS_CA_STORE has the unknown value "sytem"/,
  },
  "nothing, if the machine's certificates cannot be loaded": {
    environment: { ...UNSET, SSL_CERT_FILE: "./missing.pem" },
    condition: "unknown",
    output:
      /^cannot load the certificates of this machine: No such file or directory \(without them: DENO_TLS_CA_STORE=mozilla\)$/,
    delivery: /cannot load the certificates of this machine/,
  },
};

test("monitor: TLS of checks, emails and webhooks trusts", async (_add, t) => {
  const authority = createAuthority();
  await using servers = await startServers(authority);
  for (const [name, row] of Object.entries(ROWS)) {
    await t.step({
      name,
      ...row.condition === "ok" ? {} : requiresTools("time"),
      fn: () =>
        withHarness(async (harness) => {
          writeConfig(harness, authority, servers);
          const { environment } = row;
          const checked = await harness.run(["check", "--once", "--state", "none", "--format", "json"], {
            environment,
          });
          for (const { name, condition, output } of checksOf(checked.stdout)) {
            const isPlain = name === "plain";
            assert.equal(condition, isPlain ? "ok" : row.condition, `${name}: ${output}`);
            if (!isPlain) assert.match(output, row.output, name);
          }
          assert.equal(checked.stderr, "");
          const notified = await harness.run(["notify"], { environment });
          assert.equal(notified.stdout.match(new RegExp(row.delivery, "g"))?.length, 2, notified.stdout);
        }),
    });
  }
});

test("monitor permissions: the variable of the trusted certificates is needed only for TLS", async () => {
  const authority = createAuthority();
  await using servers = await startServers(authority);
  await withHarness(async (harness) => {
    writeConfig(harness, authority, servers);
    const flags = async (...names: readonly string[]) =>
      (await harness.runHere(["permissions", "--format", "json", ...names])).stdout;
    harness.writeConfig({ plain: request(servers.plain.origin), tls: request(servers.secure.origin) }, {});
    assert.ok(!(await flags("plain")).includes("DENO_TLS_CA_STORE"));
    const requiredPermissions = await flags();
    assert.ok(requiredPermissions.includes("DENO_TLS_CA_STORE"));
    const { stdout } = await harness.run(["check", "--once", "--state", "none", "--format", "json"], {
      environment: { ...UNSET, SSL_CERT_FILE: "./authority.pem" },
      permissions: flagsFor(JSON.parse(requiredPermissions)),
    });
    assert.deepEqual(checksOf(stdout).map(({ condition }) => condition), ["ok", "ok"]);
  });
}, requiresTools("time"));

interface Servers extends AsyncDisposable {
  readonly plain: TestServer;
  readonly secure: TestServer;
  readonly mail: MailServer;
}

async function startServers(authority: Authority): Promise<Servers> {
  const certificate = createCertificate({ authority });
  const answer: Parameters<typeof startServer>[0] = async (visitor) => {
    await visitor.readHead();
    await visitor.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  };
  const servers = {
    plain: startServer(answer),
    secure: startServer(answer, { certificate }),
    mail: await startMailServer({ tls: { certificate, begin: "STARTTLS" }, password: "swordfish" }),
  };
  return {
    ...servers,
    async [Symbol.asyncDispose]() {
      for (const server of Object.values(servers)) await server[Symbol.asyncDispose]();
    },
  };
}

function writeConfig(harness: Harness, authority: Authority, { plain, secure, mail }: Servers): void {
  Deno.writeTextFileSync(`${harness.directory}/authority.pem`, authority.cert);
  const target = { host: "127.0.0.1", port: secure.port };
  harness.writeConfig({
    plain: request(plain.origin),
    request: request(secure.origin),
    connect: { kind: "tcp_connect", parameters: { ...target, tls: true } },
    certificate: {
      kind: "tls_certificate",
      parameters: { ...target, warning_before_expiry: "1 hour", critical_before_expiry: "1 minute" },
    },
  }, {
    defaults: {
      notifications: [
        { kind: "webhook", parameters: { target: secure.origin } },
        {
          kind: "email",
          parameters: {
            access: { host: "127.0.0.1", port: mail.port, username: "monitor", password: "swordfish" },
            sender: "a@b.example",
            receivers: ["a@b.example"],
          },
        },
      ],
    },
  });
  // A password in it is a warning otherwise.
  Deno.chmodSync(`${harness.directory}/monitor.json`, 0o600);
}

function request(target: string): unknown {
  return { kind: "http_request", parameters: { request: { target }, response: {} } };
}

interface PrintedCheck {
  readonly name: string;
  readonly condition: string;
  readonly output: string;
}

function checksOf(stdout: string): readonly PrintedCheck[] {
  return (JSON.parse(stdout) as { readonly checks: readonly PrintedCheck[] }).checks;
}

/**
 * A name with several IP addresses, of which a server has only the last one. Debian's libnss-wrapper provides such a
 * name to the system's functions, in separate processes.
 */
import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import type { OutgoingMail } from "../../src/domain/system.ts";
import { runArguments } from "../../testing/source.ts";
import { inTime } from "../life/in_time.ts";
import { type Certificate, createAuthority, createCertificate } from "../support/certificates.ts";
import {
  certificateCheck,
  type ConnectionCheck,
  observeInOwnProcess,
  tcpCheck,
} from "../support/connection_check.ts";
import { httpCheck } from "../support/http_check.ts";
import { response, startRefusing, startServer, type Visitor } from "../support/http_servers.ts";
import { startMailServer } from "../support/mail_server.ts";
import { makePipe } from "../support/make_pipe.ts";
import { fixture } from "../support/processes.ts";
import { requiresTools, runChild, startChild, tool } from "../../testing/tools.ts";
import { tempDirectory } from "../../testing/builders.ts";

const NAME = "three.example";
/** Servers listen on the last one. */
const ADDRESSES = ["127.0.0.7", "127.0.0.8", "127.0.0.1"] as const;

/** Creates an environment in which the name resolves, and a CA is trusted. */
async function withName(
  use: (environment: Readonly<Record<string, string>>, certificate: Certificate) => Promise<void>,
): Promise<void> {
  const authority = createAuthority();
  await using temporary = await tempDirectory();
  const directory = temporary.path;
  await Deno.writeTextFile(`${directory}/authority.pem`, authority.cert);
  await Deno.writeTextFile(`${directory}/hosts`, ADDRESSES.map((address) => `${address} ${NAME}\n`).join(""));
  const environment = {
    LD_PRELOAD: tool("nss_wrapper"),
    NSS_WRAPPER_HOSTS: `${directory}/hosts`,
    DENO_CERT: `${directory}/authority.pem`,
  };
  await use(environment, createCertificate({ authority, hosts: [NAME], toDay: 90 }));
}

/** Accepts all attempts to connect to an IP address and a port, and never responds. */
async function startMute(address: string, port: number): Promise<AsyncDisposable> {
  const child = startChild(tool("python3"), [fixture("full_backlog.py"), address, String(port)], {
    stdin: "piped",
    stdout: "piped",
  });
  const reader = child.stdout.getReader();
  const { value = new Uint8Array() } = await inTime("the full backlog", reader.read());
  assert.match(new TextDecoder().decode(value), /^full/);
  return {
    async [Symbol.asyncDispose]() {
      await child.stdin.close();
      await reader.cancel();
      await inTime("the end of the full backlog", child.status);
    },
  };
}

async function answer(visitor: Visitor): Promise<void> {
  await visitor.readSome();
  await visitor.send(response(200, {}, "pong"));
}

/** Checks of the server on one IP address of the name, or on every one. */
const CHECKS: Readonly<Record<string, (port: number, everyAddress: boolean) => ConnectionCheck>> = {
  "tcp_connect": (port, everyAddress) =>
    tcpCheck({ host: NAME, port, everyAddress, send: "ping", expect: "pong" }),
  "tcp_connect with TLS": (port, everyAddress) =>
    tcpCheck({ host: NAME, port, everyAddress, tls: true, send: "ping", expect: "pong" }),
  "tls_certificate": (port, everyAddress) => certificateCheck({ host: NAME, port, everyAddress }),
  "http_request": (port, everyAddress) =>
    httpCheck(`http://${NAME}:${port}/`, { bodyPart: "pong", request: { everyAddress } }),
};

/** The flags of a process that may connect to the name alone. */
const flagsFor = (port: number): readonly string[] => [
  "--allow-read",
  "--allow-env",
  "--allow-sys",
  `--allow-net=${NAME}:${port}`,
];

for (const [name, checkOf] of Object.entries(CHECKS)) {
  Deno.test({
    ...requiresTools("nss_wrapper"),
    name: `${name} tries all IP addresses of a name or names those that fail, with a permission for the name`,
    fn: () =>
      withName(async (environment, certificate) => {
        await using server = startServer(answer, /tls/i.test(name) ? { certificate } : {});
        const { port } = server;
        const options = { flags: flagsFor(port), environment };
        const any = await observeInOwnProcess(checkOf(port, false), options);
        assert.equal(any.condition, "ok", JSON.stringify(any));
        const { condition, output, metrics } = await observeInOwnProcess(checkOf(port, true), options);
        const [first, second] = ADDRESSES.map((address) =>
          `${address}: connecting to ${address}:${port} failed: connection refused`
        );
        assert.equal(`${condition}: ${output}`, `critical: 2 of 3 addresses failed: ${first}; ${second}`);
        assert.deepEqual([metrics["addresses"], metrics["failed_addresses"]], [3, 2]);
      }),
  });
}

Deno.test({
  ...requiresTools("nss_wrapper", "python3"),
  name: "tcp_connect tries the next IP address if one does not respond",
  fn: () =>
    withName(async (environment, certificate) => {
      for (const tls of [false, true]) {
        await using server = startServer(answer, tls ? { certificate } : {});
        await using _mute = await startMute(ADDRESSES[0], server.port);
        const check = tcpCheck({ host: NAME, port: server.port, tls, send: "ping", expect: "pong" });
        const found = await observeInOwnProcess(check, { environment });
        assert.equal(found.condition, "ok", JSON.stringify(found));
      }
    }),
});

Deno.test({
  ...requiresTools("nss_wrapper"),
  name: "tcp_connect enforces its timeout while a name does not resolve",
  fn: async () => {
    await using temporary = await tempDirectory();
    // A look-up of the name waits until the pipe has a writer.
    const hosts = `${temporary.path}/hosts`;
    await makePipe(hosts);
    for (const tls of [false, true]) {
      const check = tcpCheck({ host: NAME, port: 9, tls }, 300);
      const environment = { LD_PRELOAD: tool("nss_wrapper"), NSS_WRAPPER_HOSTS: hosts };
      const found = await observeInOwnProcess(check, { environment });
      assert.equal(found.output, `timeout after 0.3 s while resolving the name or connecting to ${NAME}:9`);
      assert.ok((found.metrics["total_ms"] ?? Infinity) < 5000, JSON.stringify(found.metrics));
    }
  },
});

Deno.test({
  ...requiresTools("nss_wrapper"),
  name: "tcp_connect returns the reason if no IP address responds",
  fn: () =>
    withName(async (environment) => {
      using refusing = await startRefusing();
      const { port } = refusing;
      const check = tcpCheck({ host: NAME, port });
      const found = await observeInOwnProcess(check, { environment });
      assert.equal(found.output, `connecting to ${NAME}:${port} failed: connection refused`);
    }),
});

Deno.test({
  ...requiresTools("nss_wrapper"),
  name: "send() delivers to the first IP address of a name that accepts the email",
  fn: () =>
    withName(async (environment, certificate) => {
      await using server = await startMailServer({ tls: { certificate, begin: "STARTTLS" } });
      const mail: OutgoingMail = {
        host: NAME,
        port: server.port,
        username: "",
        password: "",
        sender: "monitor@example.org",
        receivers: ["admin@example.org"],
        subject: "CRITICAL: Website",
        text: "down\n",
        messageId: "<1@example.org>",
        references: [],
        headers: {},
        dateMs: 0,
      };
      const { code, stdout, stderr } = await runChild(Deno.execPath(), [
        ...runArguments(flagsFor(server.port)),
        fileURLToPath(new URL("../support/send_mail.ts", import.meta.url)),
        ...[JSON.stringify(mail), "required"],
      ], { env: environment });
      assert.equal(code, 0, stderr);
      const { steps, end } = JSON.parse(stdout);
      assert.deepEqual(steps, ["resolved", "connected", "TLS", "accepted"], JSON.stringify(end));
      assert.equal(server.mails.length, 1);
    }),
});

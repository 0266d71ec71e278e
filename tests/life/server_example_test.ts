/** The config of examples/server/, run against services of this machine. */
import assert from "node:assert/strict";
import { createAuthority, createCertificate } from "../support/certificates.ts";
import { dnsAddress, dnsReply, startDnsServer } from "../support/dns_server.ts";
import { freePort, startServer } from "../support/http_servers.ts";
import { POSTGRES, startPostgres } from "../support/postgres.ts";
import { requiresTools, startChild, tool } from "../../testing/tools.ts";
import { inTime } from "./in_time.ts";
import { withHarness } from "./program.ts";

const CONFIG = new URL("../../examples/server/monitor.jsonc", import.meta.url);

/** The server block of the website: a page, a health report in JSON, and a login that gives out a token. */
function nginxConfig(directory: string, port: number): string {
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${directory}/${name};`).join("\n");
  return `daemon off;
pid ${directory}/nginx.pid;
error_log stderr;
events {}
http {
  access_log off;
  default_type application/json;
  ${paths}
  server {
    listen 127.0.0.1:${port} ssl;
    ssl_certificate ${directory}/server.pem;
    ssl_certificate_key ${directory}/server.key;
    location = / { return 200 "Welcome"; }
    location = /health { return 200 '{"status": "up", "queue": 3}'; }
    location = /login { if ($request_method != POST) { return 405; } return 200 '{"token": "t-4711"}'; }
    location = /account {
      if ($http_authorization != "Bearer t-4711") { return 401; }
      return 200 '{"name": "monitor"}';
    }
  }
}
`;
}

async function untilListening(port: number): Promise<void> {
  for (;;) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return;
    } catch (error) {
      if (!(error instanceof Deno.errors.ConnectionRefused)) throw error;
    }
  }
}

Deno.test({
  ignore: POSTGRES.ignore || requiresTools("nginx", "ping", "kill").ignore,
  name: "examples/server: every check is ok against real services, with the printed permissions",
  fn: () =>
    withHarness(async (harness) => {
      const { directory } = harness;
      const authority = createAuthority();
      const certificate = createCertificate({ authority, toDay: 9 });
      const webPort = freePort();
      for (
        const [name, text] of Object.entries({
          "authority.pem": authority.cert,
          "server.pem": certificate.cert,
          "server.key": certificate.key,
          "latest.tar": "backup",
          "nginx.conf": nginxConfig(directory, webPort),
        })
      ) await Deno.writeTextFile(`${directory}/${name}`, text);
      // systemd does not run where the tests run: this prints what it would.
      harness.writeScript(
        "systemctl",
        "echo Id=nginx.service; echo ActiveState=active; echo SubState=running",
      );
      await using postgres = await startPostgres({ certificate });
      await using redis = startServer(async (visitor) => {
        await visitor.send("+PONG\r\n");
        await visitor.untilGone();
      });
      await using ssh = startServer(async (visitor) => {
        await visitor.send("SSH-2.0-OpenSSH_9.2\r\n");
        await visitor.untilGone();
      });
      await using dns = startDnsServer((query) => [dnsReply(query, [dnsAddress("192.0.2.10")])]);
      const nginx = startChild(tool("nginx"), [
        "-p",
        directory,
        "-e",
        "stderr",
        "-c",
        `${directory}/nginx.conf`,
      ], {
        stdin: "null",
        stdout: "null",
        stderr: "null",
      });
      try {
        await inTime("nginx to listen", untilListening(webPort));
        const replaced: readonly (readonly [string, string])[] = [
          ["https://www.example.org", `https://localhost:${webPort}`],
          ['"host": "www.example.org",\n        "port": 443', `"host": "localhost", "port": ${webPort}`],
          ["/etc/monitor/authority.pem", `${directory}/authority.pem`],
          ["/var/backups/latest.tar", `${directory}/latest.tar`],
          ["/run/nginx.pid", `${directory}/nginx.pid`],
          ['"unit": "nginx.service"', '"unit": "nginx.service", "command": "./systemctl"'],
          ['"server": "127.0.0.53"', `"server": "127.0.0.1:${dns.port}"`],
          ['"port": 22,', `"port": ${ssh.port},`],
          ['"port": 6379,', `"port": ${redis.port},`],
          ['"port": 5432 ', `"port": ${postgres.port} `],
          // A machine that runs tests may be busy.
          ['"warning_above": 2, "critical_above": 5', '"warning_above": 1000'],
        ];
        const text = replaced.reduce((config, [from, to]) => {
          assert.ok(config.includes(from), `the example has ${from}`);
          return config.replaceAll(from, to);
        }, await Deno.readTextFile(CONFIG));
        await Deno.writeTextFile(`${directory}/monitor.json`, text);
        const environment = { SHOP_PASSWORD: "hidden" };
        const beat = await harness.run(["beat", "nightly", "--", "true"], { environment });
        assert.equal(beat.code, 0, beat.stderr);
        const printed = await harness.run(["permissions"], { environment });
        const [, ...permissions] = printed.stdout.trim().split(" ");
        const { code, stdout, stderr } = await harness.run(["check", "--once"], { environment, permissions });
        assert.match(stdout, /^16 checks: 16 ok in /m, stdout + stderr);
        assert.equal(code, 0);
        assert.equal(stderr, "");
      } finally {
        nginx.kill("SIGTERM");
        await inTime("the end of nginx", nginx.status);
      }
    }),
});

/** The config of examples/server/, run against services of this machine. */
import assert from "node:assert/strict";
import { createAuthority, createCertificate } from "../support/certificates.ts";
import { freePort } from "../support/http_servers.ts";
import { POSTGRES, startPostgres } from "../support/postgres.ts";
import { requiresTools, runChild, startChild, tool, type ToolName } from "../../testing/tools.ts";
import { inTime, untilListening } from "./in_time.ts";
import { withHarness } from "./program.ts";

const CONFIG = new URL("../../examples/server/monitor.jsonc", import.meta.url);

/** Returns the server block of the website: a page, a health status in JSON, and a login that returns a token. */
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

/** Starts a Debian service that listens until it is disposed of. */
async function startService(name: ToolName, port: number, args: readonly string[]): Promise<AsyncDisposable> {
  const child = startChild(tool(name), args, { stdin: "null", stdout: "null", stderr: "null" });
  const ended = child.status.then(({ code }) => assert.fail(`${name} ended with ${code}`));
  await inTime(`${name} to listen`, Promise.race([ended, untilListening(port)]));
  ended.catch(() => {});
  return {
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await inTime(`the end of ${name}`, child.status);
    },
  };
}

Deno.test({
  ignore: POSTGRES.ignore ||
    requiresTools("nginx", "ping", "kill", "redis-server", "dropbear", "dropbearkey", "dnsmasq").ignore,
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
      // systemd does not run during the tests: this prints its output.
      harness.writeScript(
        "systemctl",
        "echo Id=nginx.service; echo ActiveState=active; echo SubState=running; echo NRestarts=0",
      );
      await using postgres = await startPostgres({ certificate });
      const hostKey = `${directory}/host_key`;
      assert.equal((await runChild(tool("dropbearkey"), ["-t", "ed25519", "-f", hostKey])).code, 0);
      const [redisPort, sshPort, dnsPort] = [freePort(), freePort(), freePort()];
      await using _redis = await startService("redis-server", redisPort, [
        ...["--port", `${redisPort}`, "--bind", "127.0.0.1", "--save", "", "--dir", directory],
      ]);
      await using _ssh = await startService("dropbear", sshPort, [
        ...["-F", "-p", `127.0.0.1:${sshPort}`, "-r", hostKey, "-P", `${directory}/dropbear.pid`],
      ]);
      await using _dns = await startService("dnsmasq", dnsPort, [
        ...["--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--user="],
        ...["--pid-file=", "--listen-address=127.0.0.1", "--bind-interfaces", `--port=${dnsPort}`],
        "--address=/www.example.org/192.0.2.10",
      ]);
      await using _nginx = await startService("nginx", webPort, [
        ...["-p", directory, "-e", "stderr", "-c", `${directory}/nginx.conf`],
      ]);
      const replaced: readonly (readonly [string, string])[] = [
        ["https://www.example.org", `https://localhost:${webPort}`],
        ['"host": "www.example.org",\n        "port": 443', `"host": "localhost", "port": ${webPort}`],
        ["/etc/monitor/authority.pem", `${directory}/authority.pem`],
        ["/var/backups/latest.tar", `${directory}/latest.tar`],
        ["/run/nginx.pid", `${directory}/nginx.pid`],
        ['"unit": "nginx.service"', '"unit": "nginx.service", "command": "./systemctl"'],
        ['"server": "127.0.0.53"', `"server": "127.0.0.1:${dnsPort}"`],
        ['"port": 22,', `"port": ${sshPort},`],
        ['"port": 6379,', `"port": ${redisPort},`],
        ['"port": 5432 ', `"port": ${postgres.port} `],
        // A machine that runs tests may be busy.
        ['"warning_above": 2, "critical_above": 5', '"warning_above": 1000'],
        ['"warning_above": "500 ms"', '"warning_above": "100 s"'],
        [', "warning_duration": "2 seconds"', ""],
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
    }),
});

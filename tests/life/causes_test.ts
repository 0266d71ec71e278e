/** A laboratory of network namespaces: one fault each, which several checks notice, and one message that names it. */
import assert from "node:assert/strict";
import { createAuthority, createCertificate } from "../support/certificates.ts";
import { startChild, testWith, tool } from "../../testing/tools.ts";
import { collectLines } from "./lines.ts";
import { withHarness } from "./program.ts";
import { provided } from "../support/concurrent_tests.ts";

const NGINX = `
user root;
daemon off;
master_process off;
pid nginx.pid;
error_log stderr crit;
events { worker_connections 1024; }
http {
  access_log off;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  keepalive_timeout 0;
  # With a variable in its name, the file is read for each handshake.
  map $ssl_server_name $each { default ""; }
  server {
    listen 80;
    listen 8080;
    listen 443 ssl;
    ssl_certificate ../CERTIFICATE$each.pem;
    ssl_certificate_key ../CERTIFICATE$each.pem;
    location / { return 200 "well"; }
  }
}
`;

const NAMES = {
  "a1.test": "10.9.1.1",
  "a2.test": "10.9.1.2",
  "b1.test": "10.9.2.1",
  "b2.test": "10.9.2.2",
  "b3.test": "10.9.2.3",
};

const CHECKS = {
  ...get("a1", "http://10.9.1.1/"),
  ...get("a1 by name", "http://a1.test/"),
  ...get("a1 secure", "https://a1.test/"),
  "a1 port": { kind: "tcp_connect", timeout: "6 seconds", parameters: { host: "10.9.1.1", port: 8080 } },
  ...get("a2", "http://10.9.1.2/"),
  ...get("a2 secure", "https://a2.test/"),
  ...Object.assign(
    {},
    ...[1, 2, 3].map((number) => ({
      ...get(`b${number}`, `http://10.9.2.${number}/`),
      ...get(`b${number} secure`, `https://b${number}.test/`),
    })),
  ),
  space: { kind: "disk_space", parameters: { path: "data", free: { critical_below: "20 %" } } },
  ...Object.fromEntries(["orders", "users", "sessions"].map((name) => [
    name,
    { kind: "file", parameters: { path: `data/${name}`, size_min: 1 } },
  ])),
  config: { kind: "file", parameters: { path: "monitor.json", size_min: 1 } },
};

function get(name: string, target: string) {
  const tls = target.startsWith("https:") ? { tls: { ca_file: "ca.crt" } } : {};
  return {
    [name]: { kind: "http_request", timeout: "6 seconds", parameters: { request: { target, ...tls } } },
  };
}

interface Fault {
  readonly name: string;
  readonly begin: string;
  readonly end: string;
  /** The common cause. */
  readonly cause: RegExp;
  readonly checks: readonly string[];
}

const FAULTS: readonly Fault[] = [
  {
    name: "a host is down",
    begin: "ip -n h1-1 link set eth0 down",
    end: "ip -n h1-1 link set eth0 up",
    cause: /: all connect to 10\.9\.1\.1, and no healthy check does: /,
    checks: ["a1", "a1 by name", "a1 secure", "a1 port"],
  },
  {
    name: "a link is down",
    begin: "ip link set br2 down",
    end: "ip link set br2 up",
    cause: /: all connect to the network 10\.9\.2\.0\/24, and no healthy check does: /,
    checks: ["b1", "b2", "b3", "b1 secure", "b2 secure", "b3 secure"],
  },
  {
    name: "the resolver is down",
    begin: "ip -n h3-53 link set eth0 down",
    end: "ip -n h3-53 link set eth0 up",
    cause: /: all resolve names with the resolver 10\.9\.3\.53, and no healthy check does: /,
    checks: ["a1 by name", "a1 secure", "a2 secure", "b1 secure", "b2 secure", "b3 secure"],
  },
  {
    name: "a certificate was replaced by an expired one",
    begin: "cp expired.pem new.pem; mv new.pem net2.pem",
    end: "cp valid.pem new.pem; mv new.pem net2.pem",
    cause: /: all get the certificate with SHA-256 [\da-f]{16}…, and no healthy check does: /,
    checks: ["b1 secure", "b2 secure", "b3 secure"],
  },
  {
    name: "a disk is full",
    begin: "dd if=/dev/zero of=data/full 2> /dev/null || rewrite",
    end: "rm data/full; rewrite",
    cause: /: all use the file system of \/.*\/data, and no healthy check does: /,
    checks: ["space", "orders", "users", "sessions"],
  },
  {
    name: "a file system is gone",
    begin: "umount -l data",
    end: "mount -t tmpfs -o size=1m none data; rewrite",
    cause: /: all use the file system of \/.*\/data, and no healthy check does: /,
    checks: ["orders", "users", "sessions"],
  },
];

provided(withHarness, testWith("namespaces", "ip", "nginx", "dnsmasq", "time"))(
  "monitor check: each fault of a host, link, resolver, certificate or disk is one message that names it",
  async (harness) => {
    const { directory } = harness;
    const authority = createAuthority();
    const hosts = Object.keys(NAMES);
    const write = (name: string, text: string): void => Deno.writeTextFileSync(`${directory}/${name}`, text);
    const certificates = {
      net1: createCertificate({ authority, hosts }),
      valid: createCertificate({ authority, hosts }),
      expired: createCertificate({ authority, hosts, fromDay: -3, toDay: -2 }),
    };
    for (const [name, { cert, key }] of Object.entries({ ...certificates, net2: certificates.valid })) {
      write(`${name}.pem`, cert + key);
    }
    write("ca.crt", authority.cert);
    write("nginx.conf", NGINX);
    write("resolv.conf", "nameserver 10.9.3.53\noptions timeout:1 attempts:1\n");
    write(
      "dnsmasq.conf",
      [
        "no-resolv",
        "no-hosts",
        ...Object.entries(NAMES).map(([name, address]) => `address=/${name}/${address}`),
      ]
        .join("\n"),
    );
    harness.writeScript("send.sh", 'printf "%s\\n" "$MONITOR_EVENT $MONITOR_HEADLINE" >> messages');
    harness.writeConfig(CHECKS, {
      state: "state.sqlite",
      defaults: {
        threshold: 2,
        schedule: { regular_interval: 5, attentive_interval: 3 },
        notifications: ["chat"],
      },
      channels: { chat: { kind: "command", common_causes: true, parameters: { path: "./send.sh" } } },
    });
    const laboratory = await openLaboratory(directory);
    try {
      const shell = `exec ${tool("nsenter")} ${laboratory.options} --wd=${directory} -- "$@"`;
      const first = await harness.run(["check", "--once", "--retry-for", "2m"], { shell });
      assert.equal(first.code, 0, first.stdout + first.stderr);
      const program = harness.start(["check"], { shell });
      await program.stdout.next(" started: ");
      for (const { name, begin, end, cause, checks } of FAULTS) {
        await laboratory.run(begin);
        const problem = await laboratory.messages.next(/./);
        assert.match(problem, cause, `${name}: ${problem}`);
        const count = checks.length;
        assert.match(problem, new RegExp(`^problem ${count} checks `), `${name}: ${problem}`);
        await laboratory.run(end);
        const recovery = await laboratory.messages.next(/./);
        assert.match(
          recovery,
          new RegExp(`^recovery ${count} checks are .* again: `),
          `${name}: ${recovery}`,
        );
      }
      program.signal("SIGTERM");
      assert.equal((await program.end()).code, 0);
      await laboratory.run("echo end >> messages");
      assert.equal(await laboratory.messages.next(/./), "end", "no further message");
    } catch (error) {
      throw new Error(`messages:\n${laboratory.messages.text()}`, { cause: error });
    } finally {
      await laboratory.close();
    }
  },
);

/** Starts the machines; returns how to enter their namespaces, to change them, and the messages that arrive. */
async function openLaboratory(directory: string) {
  Deno.writeTextFileSync(`${directory}/messages`, "");
  const script = new URL("causes_lab.sh", import.meta.url).pathname;
  const child = startChild(tool("unshare"), ["-rnm", tool("bash"), script, directory], {
    env: { WEB_SERVER: tool("nginx"), NAME_SERVER: tool("dnsmasq") },
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  });
  const reader = startChild(tool("tail"), ["-f", "-n", "+1", `${directory}/messages`], { stdout: "piped" });
  const done = collectLines(child.stdout, () => "the laboratory");
  const messages = collectLines(reader.stdout, () => "messages");
  const input = child.stdin.getWriter();
  const run = async (command: string): Promise<void> => {
    await input.write(new TextEncoder().encode(`${command}\n`));
    await done.next("done");
  };
  await run("true");
  return {
    options: `--target=${child.pid} --user --net --mount --preserve-credentials`,
    run,
    messages,
    close: async () => {
      await input.close();
      await child.status;
      reader.kill("SIGTERM");
      await reader.status;
      await Promise.all([done.close(), messages.close()]);
    },
  };
}

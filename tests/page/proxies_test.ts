/**
 * The page and the endpoint of the real program behind Debian's nginx and Caddy, with the settings of the examples
 * and the guide.
 */
import assert from "node:assert/strict";
import { inTime, until, untilListening } from "../life/in_time.ts";
import { type Program, withHarness } from "../life/program.ts";
import { readPage } from "../docs/pages.ts";
import { concurrentTests, provided } from "../support/concurrent_tests.ts";
import { freePort } from "../support/http_servers.ts";
import { systemdAnalyze } from "../support/systemd_analyze.ts";
import { requiresTools, runChild, startChild, tool } from "../../testing/tools.ts";

const test = provided(withHarness, concurrentTests("proxies in front of the page"));

const EXAMPLES = new URL("../../examples/", import.meta.url);
const DIRECTORY = "/var/cache/monitor";
const LISTEN = "127.0.0.1:8090";
const LIVE_VIEW = readPage("docs/guides/live_view.md");

test(
  "examples/nginx: nginx takes the file, and serves the page that a running monitor renews",
  async (harness) => {
    // As root, nginx reads as another user, and so must be let in.
    Deno.chmodSync(harness.directory, 0o755);
    const pages = `${harness.directory}/pages`;
    Deno.mkdirSync(pages);
    harness.writeConfig({
      web: { kind: "test", parameters: { condition: "critical", output: "<out & of order>" } },
    }, { report: { path: "pages/index.html", interval: 1 } });
    const program = harness.start(["check"]);
    const page = `${pages}/index.html`;
    const changedMs = (): number => Deno.statSync(page).mtime?.getTime() ?? 0;
    await until(
      "the first page with a result",
      () =>
        [...Deno.readDirSync(pages)].some(({ name }) => name === "index.html") &&
        Deno.readTextFileSync(page).includes("of order"),
    );
    const port = freePort();
    const example = Deno.readTextFileSync(new URL("nginx/monitor.conf", EXAMPLES));
    assert.ok(example.includes(LISTEN) && example.includes(DIRECTORY), "it says what is replaced here");
    const site = example.replaceAll(LISTEN, `127.0.0.1:${port}`).replaceAll(DIRECTORY, pages);
    await withNginx({ directory: harness.directory, site, port }, async () => {
      const response = await fetch(`http://127.0.0.1:${port}/`);
      const text = await response.text();
      assert.equal(response.status, 200);
      assert.equal(response.headers.get("content-type"), "text/html; charset=utf-8");
      const policy = response.headers.get("content-security-policy") ?? "";
      assert.match(policy, /^default-src 'none'.* script-src 'unsafe-inline'/);
      assert.match(text, /<h3>web<\/h3>[^]*&lt;out &amp; of order&gt;[^]*<\/script>\n*$/);
      for (const path of ["index.html.tmp", "monitor.json", "../monitor.json"]) {
        assert.equal(await statusOf(port, path), 404, path);
      }
      const writtenMs = changedMs();
      await until("another page", () => changedMs() > writtenMs);
    });
    await stop(program);
  },
  requiresTools("nginx"),
);

test(
  "examples/nginx: monitor.service with its page.conf is one that systemd takes",
  async ({ directory }) => {
    const read = (path: string): string => Deno.readTextFileSync(new URL(path, EXAMPLES));
    const unit = read("systemd/monitor.service").replaceAll("/usr/local/bin/monitor", "/bin/true");
    await Deno.writeTextFile(`${directory}/monitor.service`, `${unit}\n${read("nginx/page.conf")}`);
    const { code, stderr } = await systemdAnalyze(["verify", `${directory}/monitor.service`]);
    assert.equal(code, 0, stderr);
  },
  requiresTools("systemd-analyze"),
);

test(
  "docs/guides/live_view.md: nginx in front of the endpoint serves it below a path, and passes check-ins on",
  async (harness) => {
    const key = "0123456789abcdef";
    harness.writeConfig({
      backup: { kind: "job", parameters: { expected_every: "1 day", ping_key: key } },
    }, { listen: { address: "127.0.0.1:0" } });
    const program = harness.start(["check", "--format", "ndjson"]);
    const address = await addressOf(program);
    const location = LIVE_VIEW.blocks.find(({ text }) => text.includes("proxy_pass"))?.text ?? "";
    const site = location.replace("127.0.0.1:9797", address).replace(/ *auth_request.*\n/, "");
    const port = freePort();
    const server = `server {\nlisten 127.0.0.1:${port};\n${site}\n}`;
    await withNginx({ directory: harness.directory, site: server, port }, async () => {
      const paths = ["", "live.js", "feed.atom", "api/v1/checks/backup", "badge/backup.svg", "healthz"];
      for (const path of paths) assert.equal(await statusOf(port, `monitor/${path}`), 200, path);
      const ping = { method: "POST", body: "no space" };
      assert.equal(await statusOf(port, `monitor/ping/${key}/3`, ping), 200);
      await program.stdout.event("result", (event) => String(event["output"]).endsWith("3: no space"));
    });
    await stop(program);
  },
  requiresTools("nginx"),
);

test(
  "docs/guides/act_from_the_phone.md: nginx in front passes the forms on, with the address of the person",
  async (harness) => {
    const token = "a-token-of-20-letters";
    const port = freePort();
    const origin = `http://127.0.0.1:${port}`;
    harness.writeConfig({ web: { kind: "test", parameters: { condition: "critical" } } }, {
      page: { url: `${origin}/monitor/` },
      listen: { address: "127.0.0.1:0", token, actions: true, trusted_proxies: ["127.0.0.1"] },
    });
    const program = harness.start(["check"]);
    const address = await addressOf(program);
    await program.stdout.next("web is critical");
    const { blocks } = readPage("docs/guides/act_from_the_phone.md");
    const site = (blocks.find(({ text }) => text.includes("proxy_pass"))?.text ?? "")
      .replace("127.0.0.1:9797", address);
    const server = `server {\nlisten 127.0.0.1:${port};\n${site}\n}`;
    await withNginx({ directory: harness.directory, site: server, port }, async () => {
      let cookie = "";
      const send = async (path: string, fields?: Readonly<Record<string, string>>): Promise<Response> => {
        const response = await fetch(`${origin}/monitor/${path}`, {
          redirect: "manual",
          headers: { cookie, origin, "x-forwarded-for": "203.0.113.1" },
          ...fields !== undefined && { method: "POST", body: new URLSearchParams(fields) },
        });
        cookie = response.headers.get("set-cookie")?.split(";")[0] ?? cookie;
        return response;
      };
      const signedIn = await send("sign-in", { by: "Ada", token });
      assert.deepEqual([signedIn.status, await signedIn.text()], [303, ""]);
      const page = await (await send("checks/web")).text();
      const [, form = ""] = /id=acknowledge>.*?name=token value="([^"]+)"/.exec(page) ?? [];
      const done = await send("act", { check: "web", token: form, do: "acknowledge" });
      assert.deepEqual([done.status, await done.text()], [303, ""]);
      const { silences } = JSON.parse(await (await send("api/v1/status")).text());
      // The test connects from the address of the proxy, and so counts as one.
      assert.equal(silences[0].by, "Ada from 203.0.113.1");
    });
    await stop(program);
  },
  requiresTools("nginx"),
);

test(
  "docs/guides/live_view.md: Caddy in front passes the token on, or lets single sign-on decide",
  async (harness) => {
    const checks = { web: { kind: "test", parameters: { condition: "ok" } } };
    const token = "a-token-of-20-letters";
    const start = (listen: Readonly<Record<string, unknown>>): Program => {
      harness.writeConfig(checks, { listen: { address: "127.0.0.1:0", ...listen } });
      return harness.start(["check", "--state", "none"]);
    };
    const withToken = start({ token });
    const tokenAddress = await addressOf(withToken);
    const open = start({});
    const openAddress = await addressOf(open);
    await using signOn = startSignOn();
    const ports = [freePort(), freePort()] as const;
    const [tokenSite = "", signOnSite = ""] = LIVE_VIEW.blocks.map(({ text }) => text)
      .filter((text) => text.includes("reverse_proxy"));
    const at = (site: string, port: number, address: string): string =>
      site.replace("monitor.example.org", `http://127.0.0.1:${port}`)
        .replaceAll("127.0.0.1:9797", address).replace("127.0.0.1:4180", signOn.address);
    const site = `${at(tokenSite, ports[0], tokenAddress)}\n${at(signOnSite, ports[1], openAddress)}`;
    await withCaddy({ directory: harness.directory, site, port: ports[0] }, async () => {
      const authorization = `Bearer ${token}`;
      assert.equal(await statusOf(ports[0], ""), 401);
      assert.equal(await statusOf(ports[0], "healthz"), 200);
      for (const path of ["", "live.js", "checks/web", "api/v1/checks/web"]) {
        assert.equal(await statusOf(ports[0], path, { headers: { authorization } }), 200, path);
        assert.equal(await statusOf(ports[1], path), 401, path);
        assert.equal(await statusOf(ports[1], path, { headers: { cookie: SIGNED_ON } }), 200, path);
      }
    });
    for (const program of [withToken, open]) await stop(program);
  },
  requiresTools("caddy"),
);

async function statusOf(port: number, path: string, init: RequestInit = {}): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/${path}`, init);
  await response.body?.cancel();
  return response.status;
}

/** Returns the address that a program listens at. */
async function addressOf(program: Program): Promise<string> {
  const line = await program.stderr.next("listening on http://");
  return /127[\d.:]+/.exec(line)?.[0] ?? assert.fail(line);
}

async function stop(program: Program): Promise<void> {
  program.signal("SIGTERM");
  const { code, stderr } = await program.end();
  assert.equal(code, 0, stderr);
}

const SIGNED_ON = "signed_on=1";

/** A proxy for single sign-on: it admits clients with its cookie. */
function startSignOn(): AsyncDisposable & { readonly address: string } {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    ({ url, headers }) => {
      const isSignedOn = new URL(url).pathname === "/oauth2/auth" && headers.get("cookie") === SIGNED_ON;
      return new Response(null, { status: isSignedOn ? 202 : 401 });
    },
  );
  return {
    address: `127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: () => inTime("the end of the single sign-on", server.shutdown()),
  };
}

/** Runs Caddy, which keeps its files in the directory. */
async function withCaddy({ directory, site, port }: ProxyOptions, use: () => Promise<void>): Promise<void> {
  Deno.writeTextFileSync(`${directory}/Caddyfile`, `{\nadmin off\n}\n${site}\n`);
  const env = { HOME: directory, XDG_CONFIG_HOME: directory, XDG_DATA_HOME: directory };
  await withProxy("caddy", { args: ["run", "--config", `${directory}/Caddyfile`], env, port }, use);
}

interface ProxyOptions {
  readonly directory: string;
  /** The servers, as the proxy reads them. */
  readonly site: string;
  readonly port: number;
}

async function withNginx({ directory, site, port }: ProxyOptions, use: () => Promise<void>): Promise<void> {
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${directory}/${name};`).join("\n");
  Deno.writeTextFileSync(
    `${directory}/nginx.conf`,
    `daemon off;\nmaster_process on;\npid ${directory}/nginx.pid;\nerror_log stderr;\nevents {}\nhttp {\ninclude /etc/nginx/mime.types;\naccess_log off;\n${paths}\n${site}\n}\n`,
  );
  const args = ["-p", directory, "-e", "stderr", "-c", `${directory}/nginx.conf`];
  const tested = await runChild(tool("nginx"), [...args, "-t"]);
  assert.equal(tested.code, 0, tested.stderr);
  await withProxy("nginx", { args, env: {}, port }, use);
}

async function withProxy(
  name: "nginx" | "caddy",
  { args, env, port }: {
    readonly args: readonly string[];
    readonly env: Readonly<Record<string, string>>;
    readonly port: number;
  },
  use: () => Promise<void>,
): Promise<void> {
  const proxy = startChild(tool(name), args, { env, stdin: "null", stdout: "null", stderr: "null" });
  try {
    await inTime(`${name} to listen`, untilListening(port));
    await use();
  } finally {
    proxy.kill("SIGTERM");
    await inTime(`the end of ${name}`, proxy.status);
  }
}

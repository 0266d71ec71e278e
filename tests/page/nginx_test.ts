/** The page of the real program, served by Debian's nginx as `examples/nginx` sets it up. */
import assert from "node:assert/strict";
import { inTime, until } from "../life/in_time.ts";
import { withHarness } from "../life/program.ts";
import { readPage } from "../docs/pages.ts";
import { freePort } from "../support/http_servers.ts";
import { systemdAnalyze } from "../support/systemd_analyze.ts";
import { requiresTools, runChild, startChild, tool } from "../../testing/tools.ts";

const EXAMPLES = new URL("../../examples/", import.meta.url);
const DIRECTORY = "/var/cache/monitor";
const LISTEN = "127.0.0.1:8090";
const LIVE_VIEW = readPage("docs/guides/live_view.md");

Deno.test({
  ...requiresTools("nginx"),
  name: "examples/nginx: nginx takes the file, and serves the page that a running monitor renews",
  fn: () =>
    withHarness(async (harness) => {
      // As root, nginx reads as another user, and so must be let in.
      Deno.chmodSync(harness.directory, 0o755);
      const pages = `${harness.directory}/pages`;
      Deno.mkdirSync(pages);
      harness.writeConfig({
        web: { kind: "test", parameters: { condition: "critical", output: "<out & of order>" } },
      }, {
        report: { path: "pages/index.html", interval: 1 },
      });
      const program = harness.start(["check"]);
      await until("the first page with a result", () => readText(`${pages}/index.html`).includes("of order"));
      const port = freePort();
      await withNginx({ directory: harness.directory, site: exampleSite(pages, port), port }, async () => {
        const get = (path: string, etag = ""): Promise<Response> =>
          fetch(`http://127.0.0.1:${port}${path}`, { headers: { "if-none-match": etag } });
        const response = await get("/");
        const text = await response.text();
        assert.equal(response.status, 200);
        assert.equal(response.headers.get("content-type"), "text/html; charset=utf-8");
        assert.match(response.headers.get("content-security-policy") ?? "", /^default-src 'none'/);
        assert.match(text, /<h3>web<\/h3>[^]*&lt;out &amp; of order&gt;[^]*<\/main>\n$/);
        for (const path of ["/index.html.tmp", "/monitor.json", "/../monitor.json"]) {
          const other = await get(path);
          await other.body?.cancel();
          assert.equal(other.status, 404, path);
        }
        const renewed = Deno.statSync(`${pages}/index.html`).mtime?.getTime() ?? 0;
        await until(
          "another page",
          () => (Deno.statSync(`${pages}/index.html`).mtime?.getTime() ?? 0) > renewed,
        );
      });
      program.signal("SIGTERM");
      const { code, stderr } = await program.end();
      assert.equal(code, 0, stderr);
    }),
});

Deno.test({
  ...requiresTools("systemd-analyze"),
  name: "examples/nginx: monitor.service with its page.conf is one that systemd takes",
  fn: () =>
    withHarness(async ({ directory }) => {
      const read = (path: string): string => Deno.readTextFileSync(new URL(path, EXAMPLES));
      const unit = read("systemd/monitor.service").replaceAll("/usr/local/bin/monitor", "/bin/true");
      await Deno.writeTextFile(`${directory}/monitor.service`, `${unit}\n${read("nginx/page.conf")}`);
      const { code, stderr } = await systemdAnalyze(["verify", `${directory}/monitor.service`]);
      assert.equal(code, 0, stderr);
    }),
});

Deno.test({
  ...requiresTools("nginx"),
  name:
    "docs/guides/live_view.md: nginx in front of the endpoint serves it below a path, and passes check-ins on",
  fn: () =>
    withHarness(async (harness) => {
      const key = "0123456789abcdef";
      harness.writeConfig({
        backup: { kind: "job", parameters: { expected_every: "1 day", ping_key: key } },
      }, { listen: { address: "127.0.0.1:0" } });
      const program = harness.start(["check", "--format", "ndjson"]);
      const line = await program.stderr.next("listening on http://");
      const address = /127[\d.:]+/.exec(line)?.[0] ?? assert.fail(line);
      const location = LIVE_VIEW.blocks.find(({ text }) => text.includes("proxy_pass"))?.text ?? "";
      const site = location.replace("127.0.0.1:9797", address).replace(/ *auth_request.*\n/, "");
      const port = freePort();
      const server = `server {\nlisten 127.0.0.1:${port};\n${site}\n}`;
      await withNginx({ directory: harness.directory, site: server, port }, async () => {
        const statusOf = async (path: string, init: RequestInit = {}): Promise<number> => {
          const response = await fetch(`http://127.0.0.1:${port}/monitor/${path}`, init);
          await response.body?.cancel();
          return response.status;
        };
        for (
          const path of ["", "live.js", "feed.atom", "api/v1/checks/backup", "badge/backup.svg", "healthz"]
        ) {
          assert.equal(await statusOf(path), 200, path);
        }
        assert.equal(await statusOf(`ping/${key}/3`, { method: "POST", body: "no space" }), 200);
        await program.stdout.event("result", (event) => String(event["output"]).endsWith("3: no space"));
      });
      program.signal("SIGTERM");
      assert.equal((await program.end()).code, 0);
    }),
});

interface NginxOptions {
  readonly directory: string;
  /** The servers, as nginx reads them. */
  readonly site: string;
  readonly port: number;
}

/** The server of the example, with another address and directory. */
function exampleSite(pages: string, port: number): string {
  const site = Deno.readTextFileSync(new URL("nginx/monitor.conf", EXAMPLES));
  assert.ok(site.includes(LISTEN) && site.includes(DIRECTORY), "the example says what is replaced here");
  return site.replaceAll(LISTEN, `127.0.0.1:${port}`).replaceAll(DIRECTORY, pages);
}

async function withNginx({ directory, site, port }: NginxOptions, use: () => Promise<void>): Promise<void> {
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${directory}/${name};`).join("\n");
  Deno.writeTextFileSync(
    `${directory}/nginx.conf`,
    `daemon off;\nmaster_process on;\npid ${directory}/nginx.pid;\nerror_log stderr;\nevents {}\nhttp {\ninclude /etc/nginx/mime.types;\naccess_log off;\n${paths}\n${site}\n}\n`,
  );
  const args = ["-p", directory, "-e", "stderr", "-c", `${directory}/nginx.conf`];
  const tested = await runChild(tool("nginx"), [...args, "-t"]);
  assert.equal(tested.code, 0, tested.stderr);
  const nginx = startChild(tool("nginx"), args, { stdin: "null", stdout: "null", stderr: "null" });
  try {
    await inTime("nginx to listen", untilListening(port));
    await use();
  } finally {
    nginx.kill("SIGTERM");
    await inTime("the end of nginx", nginx.status);
  }
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

function readText(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
}

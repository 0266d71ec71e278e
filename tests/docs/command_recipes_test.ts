/** The recipes of docs/recipes that are no requests to a provider, with Debian's replacements. */
import assert from "node:assert/strict";
import { requiresTools, runChild, tool } from "../../testing/tools.ts";
import { type Harness, withHarness } from "../life/program.ts";
import { CHANNEL_RECIPES, HOSTILE_OUTPUTS, writeHostileConfig } from "./channel_recipes.ts";
import { readPage } from "./pages.ts";

const NAMES = Object.keys(HOSTILE_OUTPUTS).sort();
const ENVIRONMENT = { GITHUB_TOKEN: "github-secret" };

/** Runs every check once; then they are `up`. */
async function runTwice(harness: Harness, between: () => Promise<void> = async () => {}): Promise<void> {
  const { directory } = harness;
  const environment = { ...ENVIRONMENT, PATH: `${directory}:/usr/local/bin:/usr/bin:/bin` };
  for (const isUp of [false, true]) {
    if (isUp) await Deno.writeTextFile(`${directory}/up`, "");
    const { stderr } = await harness.runHere(["check", "--once"], { environment });
    assert.equal(stderr, "");
    if (!isUp) await between();
  }
}

function recipe(name: string): string {
  const text = CHANNEL_RECIPES.get(name);
  assert.ok(text !== undefined);
  return text;
}

Deno.test({
  ...requiresTools("gammu-smsd-inject"),
  name: "docs/recipes: gammu queues a message for each problem and recovery",
  fn: () =>
    withHarness(async (harness) => {
      const { directory } = harness;
      const outbox = `${directory}/outbox/`;
      await Deno.mkdir(outbox);
      const config = `${directory}/smsdrc`;
      await Deno.writeTextFile(
        config,
        `[gammu]\ndevice = /dev/null\nconnection = at\n[smsd]\nservice = files\noutboxpath = ${outbox}\n`,
      );
      const local = recipe("modem").replace("gammu-smsd-inject", `${tool("gammu-smsd-inject")} -c ${config}`);
      await writeHostileConfig(harness, { modem: local });
      await runTwice(harness);
      const files = [...Deno.readDirSync(outbox)].map(({ name }) => name).filter((name) =>
        name.startsWith("OUT")
      );
      assert.equal(files.length, 2 * NAMES.length);
      assert.ok(files.every((name) => name.includes("+41790000001")));
    }),
});

Deno.test("docs/recipes: signal-cli is started with each problem and recovery as one argument", () =>
  withHarness(async (harness) => {
    harness.writeScript("signal-cli", 'printf "%s\\0" "$#" "$@" >>calls');
    await writeHostileConfig(harness, { signal: recipe("signal") });
    await runTwice(harness);
    const words = (await Deno.readTextFile(`${harness.directory}/calls`)).split("\0").slice(0, -1);
    const calls = Array.from(
      { length: words.length / 7 },
      (_, index) => words.slice(7 * index, 7 * index + 7),
    );
    assert.equal(calls.length, 2 * NAMES.length);
    for (const [count, ...args] of calls) {
      assert.equal(count, "6");
      assert.deepEqual(args.with(4, "text"), ["-a", "+41790000000", "send", "-m", "text", "+41790000001"]);
      assert.match(args[4] ?? "", / is (?:critical|ok again after )/);
    }
  }));

interface Issue {
  readonly number: number;
  readonly title: string;
  readonly body: string;
  readonly comments: string[];
  state: string;
}

Deno.test({
  ...requiresTools("curl", "jq"),
  name: "docs/recipes: the script opens an issue on GitHub, comments on it and closes it",
  fn: () =>
    withHarness(async (harness) => {
      const issues: Issue[] = [];
      await using server = startIssues(issues);
      const [script] = readPage("docs/recipes/tickets.md").blocks.filter(({ language }) => language === "sh");
      const local = script?.text.replace("https://api.github.com", `http://127.0.0.1:${server.port}`) ?? "";
      const path = `${harness.directory}/github_issue.sh`;
      await Deno.writeTextFile(path, local, { mode: 0o755 });
      assert.equal((await runChild(tool("sh"), ["-n", path])).code, 0);
      await writeHostileConfig(harness, { github_script: recipe("github_script") });
      const titles = NAMES.map((name) => `monitor: ${name}`);
      await runTwice(harness, async () => {
        await Promise.resolve();
        assert.deepEqual(issues.map(({ title }) => title).sort(), titles);
        assert.ok(issues.every(({ state, comments }) => state === "open" && comments.length === 0));
      });
      assert.deepEqual(issues.map(({ title }) => title).sort(), titles);
      assert.ok(issues.every(({ state, comments }) => state === "closed" && comments.length === 1));
      // Each line is code, in which GitHub finds no mentions.
      const texts = issues.flatMap(({ body, comments }) => [body, ...comments]);
      for (const line of texts.flatMap((text) => text.split(/\r\n|\r|\n/))) assert.match(line, /^ {4}/);
    }),
});

/** The four requests: https://docs.github.com/en/rest/issues, 2026-11-23. */
function startIssues(issues: Issue[]): AsyncDisposable & { readonly port: number } {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    assert.equal(request.headers.get("Authorization"), "Bearer github-secret");
    const { pathname, searchParams } = new URL(request.url);
    const [, number, comments] =
      /^\/repos\/example\/operations\/issues(?:\/(\d+)(\/comments)?)?$/.exec(pathname) ??
        [];
    const issue = issues.find((issue) => String(issue.number) === number);
    if (request.method === "GET") {
      assert.deepEqual(Object.fromEntries(searchParams), {
        labels: "monitor",
        state: "open",
        per_page: "100",
      });
      return Response.json(issues.filter(({ state }) => state === "open").slice(0, 100));
    }
    const { title = "", body = "", state = "" } = await request.json() as Readonly<Record<string, string>>;
    if (request.method === "PATCH" && issue !== undefined) issue.state = state;
    else if (request.method === "POST" && comments !== undefined) issue?.comments.push(body);
    else if (request.method === "POST" && number === undefined) {
      issues.push({ number: issues.length + 1, title, body, comments: [], state: "open" });
      return Response.json({}, { status: 201 });
    } else return new Response(null, { status: 404 });
    return Response.json({});
  });
  return { port: server.addr.port, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

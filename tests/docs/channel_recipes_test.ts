/**
 * The recipes of channels exactly as in the pages, in the real program: checks fail and recover, with outputs that
 * try to break out of their context. Loopback servers replace the receivers, and validate every request.
 */
import { type Harness, withHarness } from "../life/program.ts";
import { readPage, readPages } from "./pages.ts";
import { Ajv2020 } from "ajv/dist/2020.js";
import assert from "node:assert/strict";
import { type ArrivedRequest, type JsonSchema, type Provider, PROVIDERS } from "./providers.ts";
import { runChild, testWith, tool } from "../../testing/tools.ts";
import { provided } from "../support/concurrent_tests.ts";

/** Every channel of the recipes by its name, as it is written there: `"slack": { … }`. */
const CHANNEL_RECIPES: ReadonlyMap<string, string> = new Map(
  readPages().filter(({ path }) => path.startsWith("docs/recipes/"))
    .flatMap(({ blocks }) => blocks.filter(({ role }) => role === "named"))
    .map(({ text }) => [/^"(\w+)"/.exec(text)?.[1] ?? "", text]),
);

const encoder = new TextEncoder();

const MENTIONS = "@everyone @here @channel @all <!channel> <!here> <@U012AB3CD> <@&1> @room @user";

/** By the name of a check: an output of a target. */
const HOSTILE_OUTPUTS: Readonly<Record<string, Uint8Array>> = {
  empty: encoder.encode(""),
  quotes: encoder.encode('"}], "x": \'\\" </b>\n& <b> `` ```\r\n{{detail}}\r\r\n${env:HOME} $(id)'),
  mentions: encoder.encode(MENTIONS),
  long: encoder.encode("x".repeat(10_000)),
  long_markup: encoder.encode("<&@".repeat(3000)),
  emoji: encoder.encode("\u{1f600}".repeat(2500)),
  control: new Uint8Array([
    ...encoder.encode("a\u0000b\u0001\u001b[31mc\u007fd\u0085\u2028\u202e"),
    // No UTF-8.
    ...[0x61, 0xff, 0xfe, 0xc3, 0x28, 0xed, 0xa0, 0x80, 0x62],
  ]),
  'a name / with ?&#"<@> signs': encoder.encode("x"),
};

/** Writes a config whose checks print these outputs, and fail while there is no file `up`. */
async function writeHostileConfig(
  { directory, writeScript }: Pick<Harness, "directory" | "writeScript">,
  channels: Readonly<Record<string, string>>,
): Promise<void> {
  writeScript("print", 'cat "$1"; test -e up || exit 2');
  const checks: Record<string, unknown> = {};
  for (const [index, [name, output]] of Object.entries(HOSTILE_OUTPUTS).entries()) {
    await Deno.writeFile(`${directory}/output_${index}`, output);
    const parameters = { path: "./print", arguments: [`output_${index}`] };
    checks[name] = { kind: "script", description: MENTIONS, runbook: MENTIONS.repeat(20), parameters };
  }
  const names = JSON.stringify(Object.keys(channels));
  // Each output is to arrive as a message of its own.
  const unlimited = Object.values(channels).map((text) => text.replace('"20 per hour"', '"1000 per hour"'));
  await Deno.writeTextFile(
    `${directory}/monitor.json`,
    `{ "state": "state.sqlite", "page": { "url": "https://monitor.example.org/" },
       "listen": { "address": "127.0.0.1:9797", "token": "0123456789abcdef", "actions": true },
       "channels": { ${unlimited.join(",\n")} },
       "defaults": { "threshold": 1, "notifications": ${names} }, "checks": ${JSON.stringify(checks)} }`,
    { mode: 0o600 },
  );
}

/** Recipes that run a command; other tests run them. */
const COMMANDS: readonly string[] = ["signal", "modem", "github_script"];

Deno.test("docs/recipes has a channel for each provider, and a test for each channel", () => {
  assert.deepEqual([...CHANNEL_RECIPES.keys()].sort(), [...Object.keys(PROVIDERS), ...COMMANDS].sort());
});

Deno.test("docs/recipes: each webhook sends a request that its provider accepts, with any output", (t) =>
  withHarness(async (harness) => {
    await using servers = new AsyncDisposableStack();
    const receivers = Object.entries(PROVIDERS).map(([name, provider]) => {
      const receiver = startReceiver(name, provider);
      servers.use(receiver.server);
      return { name, provider, ...receiver };
    });
    const channels = Object.fromEntries(receivers.map(({ name, recipe }) => [name, recipe]));
    await writeHostileConfig(harness, channels);
    const environment = Object.assign({}, ...receivers.map((receiver) => receiver.environment));
    const runOnce = async (): Promise<void> => {
      const { stderr } = await harness.runHere(["check", "--once"], { environment });
      assert.equal(stderr, "");
    };
    await runOnce();
    const problems = new Map(receivers.map(({ name, arrived }) => [name, arrived.splice(0)]));
    await Deno.writeTextFile(`${harness.directory}/up`, "");
    await runOnce();
    for (const { name, provider, arrived } of receivers) {
      await t.step(name, () => assertAccepted(provider, problems.get(name) ?? [], arrived));
    }
  }));

interface Receiver {
  readonly server: AsyncDisposable;
  /** With the address of the server. */
  readonly recipe: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly arrived: ArrivedRequest[];
}

function startReceiver(name: string, { host, environment }: Provider): Receiver {
  const arrived: ArrivedRequest[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    const { method, headers, url } = request;
    const { pathname, search } = new URL(url);
    const text = await request.text();
    const isForm = headers.get("Content-Type") === "application/x-www-form-urlencoded";
    const body = isForm ? Object.fromEntries(new URLSearchParams(text)) : JSON.parse(text);
    arrived.push({ method, path: pathname + search, headers, body });
    return new Response();
  });
  const address = `127.0.0.1:${server.addr.port}`;
  const text = CHANNEL_RECIPES.get(name) ?? "";
  const recipe = host !== undefined
    ? text.replaceAll(host, address).replaceAll(/https:\/\/(?=[^"]*127\.0\.0\.1)/g, "http://")
    // The URL has a default.
    : text.includes('"url"')
    ? text
    : text.replace('"parameters": {', `$& "url": "http://${address}/",`);
  const local = Object.entries(environment).map(([variable, value]) => [
    variable,
    value.replace("ORIGIN", `http://${address}`),
  ]);
  return { server, recipe, environment: Object.fromEntries(local), arrived };
}

const ajv = new Ajv2020({ allErrors: true, strict: true, strictRequired: false });

function assertAccepted(
  provider: Provider,
  problems: readonly ArrivedRequest[],
  recoveries: readonly ArrivedRequest[],
): void {
  const count = Object.keys(HOSTILE_OUTPUTS).length;
  const { path, recoveryPath = path, schema, recoverySchema = schema, sendsRecoveries = true } = provider;
  assert.equal(problems.length, count);
  assert.equal(recoveries.length, sendsRecoveries ? count : 0);
  for (const request of problems) assertRequest(request, provider, { path, schema });
  for (const request of recoveries) {
    assertRequest(request, provider, { path: recoveryPath, schema: recoverySchema });
  }
  const { idOf, keyOf, pair } = provider;
  if (idOf !== undefined) assert.equal(new Set([...problems, ...recoveries].map(idOf)).size, 2 * count);
  if (keyOf === undefined) return;
  const recoveryOf = new Map(recoveries.map((recovery) => [keyOf(recovery), recovery]));
  assert.deepEqual(new Set(problems.map(keyOf)), new Set(recoveryOf.keys()));
  assert.equal(recoveryOf.size, count);
  if (pair === undefined) return;
  for (const problem of problems) {
    const recovery = recoveryOf.get(keyOf(problem));
    assert.partialDeepStrictEqual([problem.body, recovery?.body], pair);
  }
}

function assertRequest(
  request: ArrivedRequest,
  { method = "POST", contentType = "application/json", headers = {}, textOf, mention }: Provider,
  { path, schema }: { readonly path: RegExp; readonly schema: JsonSchema },
): void {
  assert.equal(request.method, method);
  assert.match(request.path, path);
  for (const [name, value] of Object.entries({ ...headers, "content-type": contentType })) {
    assert.equal(request.headers.get(name), value);
  }
  const isValid = ajv.validate(schema, request.body);
  assert.ok(isValid, `${ajv.errorsText()}: ${JSON.stringify(request.body).slice(0, 2000)}`);
  const text = textOf(request.body as never);
  assert.ok(text.length > 0 && text.isWellFormed());
  if (mention !== undefined) assert.doesNotMatch(text, mention);
}

// The recipes of docs/recipes that are no requests to a provider, with Debian's replacements.

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

provided(withHarness, testWith("gammu-smsd-inject"))(
  "docs/recipes: gammu queues a message for each problem and recovery",
  async (harness) => {
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
  },
);

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

provided(withHarness, testWith("curl", "jq"))(
  "docs/recipes: the script opens an issue on GitHub, comments on it and closes it",
  async (harness) => {
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
  },
);

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

/**
 * The recipes of channels exactly as in the pages, in the real program: checks fail and recover, with outputs that
 * try to break out of their context. Loopback servers replace the receivers, and validate every request.
 */
import { Ajv2020 } from "ajv/dist/2020.js";
import assert from "node:assert/strict";
import { withHarness } from "../life/program.ts";
import { CHANNEL_RECIPES, HOSTILE_OUTPUTS, writeHostileConfig } from "./channel_recipes.ts";
import { type ArrivedRequest, type JsonSchema, type Provider, PROVIDERS } from "./providers.ts";

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

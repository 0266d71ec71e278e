import assert from "node:assert/strict";
import { describe, load, problemsOf } from "../../testing/config_system.ts";
import { testRows } from "../support/rows.ts";

const KEY = "0123456789abcdef";
const REPORTED = { kind: "reported", parameters: {} };
const TEST = { kind: "test", parameters: {} };
const LISTEN = { address: "127.0.0.1:9797" };

const configWith = (agents: object, checks: object, others: object = {}): object => ({
  defaults: {},
  listen: LISTEN,
  agents,
  checks,
  ...others,
});

Deno.test("a check of an agent has its agent, and depends on the check about it", async () => {
  const { checks } = await load(configWith({
    nas: { key: KEY, checks: ["nas-*"] },
    shop: { key: `${KEY}2`, checks: ["tag:shop"], silent_after: "2 minutes" },
  }, {
    "nas-disk": { ...REPORTED, depends_on: ["web", "agent nas"] },
    till: { ...REPORTED, tags: ["shop"] },
    web: TEST,
    "agent shop": { ...REPORTED, title: "The shop" },
  }));
  assert.deepEqual(checks.map(({ name, agent, dependsOn, title }) => [name, agent, dependsOn, title]), [
    ["nas-disk", "nas", ["agent nas", "web"], undefined],
    ["till", "shop", ["agent shop"], undefined],
    ["web", undefined, [], undefined],
    ["agent shop", "shop", [], "The shop"],
    ["agent nas", "nas", [], undefined],
  ]);
});

const SHARED = { state: { postgres: { hosts: ["db"], database: "m", user: "m" } } };

Deno.test("errors in agents and their checks are found", async (t) => {
  const nas = { key: KEY, checks: ["disk"] };
  const disk = { disk: REPORTED };
  const rows: Readonly<Record<string, readonly [config: object, problems: readonly string[]]>> = {
    "no agent": [
      configWith({}, disk),
      ['checks.disk.kind: has no agent that reports it (name it in "checks" of one agent)'],
    ],
    "two agents": [
      configWith({ nas, other: { ...nas, key: `${KEY}2` } }, disk),
      ['checks.disk.kind: is reported by two agents, "nas" and "other" (name it in "checks" of one agent)'],
    ],
    "the same key": [
      configWith({ nas, other: { key: KEY, checks: ["web"] } }, { ...disk, web: REPORTED }),
      ['agents.other.key: is the key of the agent "nas" too'],
    ],
    "a check that runs here": [
      configWith({ nas: { key: KEY, checks: ["disk", "web"] } }, { ...disk, web: TEST }),
      ['agents.nas.checks[1]: is "web", expected the name of a check of the kind "reported"'],
    ],
    "another kind of the check about an agent": [
      configWith({ nas }, { ...disk, "agent nas": TEST }),
      ['checks["agent nas"].kind: is "test", expected "reported": this is the check about an agent'],
    ],
    "inverted where it does not run": [
      configWith({ nas }, { disk: { ...REPORTED, invert: true } }),
      [
        "checks.disk.invert: has no effect on a result that is reported: set it where the agent runs the check",
      ],
    ],
    "silent too soon": [
      configWith({ nas: { ...nas, silent_after: "1 minute" } }, disk),
      ["agents.nas.silent_after: is 1 min, expected at least 2 min"],
    ],
    "none with a state of several members": [
      configWith({ nas }, { ...disk, web: { ...TEST, locations: { from: ["fra", "nyc", "nas"] } } }, SHARED),
      [],
    ],
  };
  await testRows(t, rows, async ([config, problems]) => {
    assert.deepEqual(await problemsOf(config), problems);
  });
});

Deno.test("reports without TLS, and agents without an endpoint, are warned of", async () => {
  const warningsOf = async (config: object): Promise<readonly string[]> => {
    const { warnings, placed } = await load(config);
    return placed(warnings).map(describe).filter((text) => /report|agents/.test(text));
  };
  const to = (target: string): object => ({
    defaults: {},
    checks: { a: TEST },
    report_to: { target, key: "${env:K}" },
  });
  const options = { environment: { K: KEY } };
  const warnings = async (target: string): Promise<readonly string[]> => {
    const { warnings, placed } = await load(to(target), options);
    return placed(warnings).map(describe).filter((text) => text.startsWith("report_to"));
  };
  assert.deepEqual(await warnings("https://hub.example.org/"), []);
  assert.deepEqual(await warnings("http://127.0.0.1:9797/"), []);
  assert.deepEqual(await warnings("http://hub.example.org/"), [
    "report_to.target: is not encrypted: anyone on the way can read the key and the results; use https",
  ]);
  const { listen: _, ...without } = configWith({ nas: { key: KEY, checks: ["disk"] } }, {
    disk: REPORTED,
  }) as { listen: object };
  assert.equal(
    (await warningsOf(without)).some((text) =>
      text === 'agents.nas: nothing receives its reports: set "listen"'
    ),
    true,
  );
  // An endpoint that does not start has a warning of its own.
  const short = configWith({ nas: { key: KEY, checks: ["disk"] } }, { disk: REPORTED }, {
    listen: { ...LISTEN, token: "${env:TOKEN}" },
  });
  const loaded = await load(short, { environment: { TOKEN: "short" } });
  assert.deepEqual(
    loaded.placed(loaded.warnings).map(describe).filter((text) => /^(?:listen|agents)/.test(text)),
    ["listen.token: is too short, expected at least 16 characters; the HTTP endpoint does not start"],
  );
});

Deno.test("an agent whose key is missing here has none that matches, and its checks stay", async () => {
  const { agents, checks } = await load(
    configWith({ nas: { key: "${env:MISSING_KEY_OF_NAS}", checks: ["disk"] } }, { disk: REPORTED }),
  );
  assert.equal(agents["nas"]?.key, "");
  assert.deepEqual(checks.map(({ agent }) => agent), ["nas", "nas"]);
});

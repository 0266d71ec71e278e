import assert from "node:assert/strict";
import { domainExpiryKind } from "../../src/checks/domain_expiry.ts";
import type { CheckOf } from "../../src/domain/check.ts";
import type { DomainExpiryParameters } from "../../src/domain/generated/config.ts";
import { DAY_MS, HOUR_MS } from "../../src/shared/time_units.ts";
import { createRequests } from "../../src/system/http/requests.ts";
import { checkOf, contextOf } from "../../testing/builders.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { createRealClock } from "../../testing/real_clock.ts";
import { freePort, response, startServer, type Visitor } from "../support/http_servers.ts";
import { problemTexts } from "../support/observe_check.ts";
import { type Rows, testRows } from "../support/rows.ts";

const NOW_MS = Date.UTC(2026, 5, 1);

function domainCheck(
  parameters: Partial<DomainExpiryParameters> = {},
  { timeoutMs = 60_000, regularIntervalMs = 12 * HOUR_MS } = {},
): CheckOf<"domain_expiry"> {
  const limits = { warningBeforeExpiryMs: 30 * DAY_MS, criticalBeforeExpiryMs: 7 * DAY_MS };
  const check = checkOf("domain_expiry", { domain: "example.org", ...limits, ...parameters }, {
    name: "domain",
    timeoutMs,
  });
  return { ...check, schedule: { regularIntervalMs, attentiveIntervalMs: regularIntervalMs } };
}

async function observe(check: CheckOf<"domain_expiry">): Promise<string> {
  const real = createRealClock();
  const system = {
    ...createMemorySystem(),
    clock: { ...real, wallMs: () => NOW_MS },
    requests: createRequests({ clock: real }),
  };
  const { condition, output } = await domainExpiryKind.observe(
    check,
    contextOf({ system, signal: new AbortController().signal }),
  );
  return `${condition}: ${output}`;
}

/** Observes a registry that answers in a way; the port is `PORT`. */
async function seenOf(
  answer: (visitor: Visitor) => Promise<void>,
  parameters: Partial<DomainExpiryParameters> = {},
  timeoutMs?: number,
): Promise<string> {
  await using server = startServer(async (visitor) => {
    await visitor.readHead();
    await answer(visitor);
  });
  const check = domainCheck({ server: `${server.origin}/rdap/`, ...parameters }, { timeoutMs });
  return (await observe(check)).replaceAll(String(server.port), "PORT");
}

function answering(fields: object, status = 200): (visitor: Visitor) => Promise<void> {
  const body = JSON.stringify({ objectClassName: "domain", ldhName: "EXAMPLE.ORG.", ...fields });
  return (visitor) => visitor.send(response(status, { "Content-Type": "application/rdap+json" }, body));
}

const expiring = (days: number, rest: object = {}) =>
  answering({
    events: [
      { eventAction: "registration", eventDate: "2001-01-01T00:00:00Z" },
      { eventAction: "expiration", eventDate: new Date(NOW_MS + days * DAY_MS).toISOString() },
    ],
    ...rest,
  });
const NO_TEXT = { toString: 1, valueOf: 1 };
const HEAD_OF_100 = "HTTP/1.1 200 Test\r\nContent-Length: 100\r\n\r\n";
const REGISTRAR = {
  entities: [{ roles: ["registrar"], vcardArray: ["vcard", [["fn", {}, "text", 'Names "R" Us']]] }],
};
const NO_EXPIRY = "unknown: 127.0.0.1:PORT has no expiry of example.org: its registry publishes none";
const NO_DATA = "unknown: 127.0.0.1:PORT returned no data about example.org";

const flood = async (visitor: Visitor): Promise<void> => {
  await visitor.send("HTTP/1.1 200 Test\r\nConnection: close\r\n\r\n");
  for (;;) await visitor.send("x".repeat(100_000));
};
const hangInBody = async (visitor: Visitor): Promise<void> => {
  await visitor.send(`${HEAD_OF_100}{`);
  await visitor.untilGone();
};

const ANSWERS: Rows<[answer: (visitor: Visitor) => Promise<void>, expected: string, timeoutMs?: number]> = {
  "far away": [expiring(83), "ok: example.org expires in 83 d (2026-08-23)"],
  "with a registrar": [
    expiring(83, REGISTRAR),
    'ok: example.org expires in 83 d (2026-08-23), registered by "Names "R" Us"',
  ],
  soon: [expiring(29), "warning: example.org expires in 29 d (2026-06-30)"],
  "very soon": [expiring(6), "critical: example.org expires in 6 d (2026-06-07)"],
  past: [expiring(-2), "critical: example.org expired 2 d ago (2026-05-30)"],
  "on hold": [
    expiring(83, { status: ["active", "Client Hold"] }),
    'critical: example.org has the status "Client Hold" and expires in 83 d (2026-08-23)',
  ],
  "in redemption, without a date": [
    answering({ status: ["redemption period"] }),
    'critical: example.org has the status "redemption period"',
  ],
  "without a date": [
    answering({ events: [{ eventAction: "last changed", eventDate: "2026-01-01" }] }),
    NO_EXPIRY,
  ],
  "a date that is none": [
    answering({ events: [{ eventAction: "expiration", eventDate: "soon" }] }),
    NO_EXPIRY,
  ],
  "hostile fields": [
    answering({ events: { length: 1 }, status: 7, entities: [null, { roles: "x" }] }),
    NO_EXPIRY,
  ],
  "values that have no text": [
    answering({ events: [{ eventAction: "expiration", eventDate: NO_TEXT }], status: [NO_TEXT] }),
    NO_EXPIRY,
  ],
  "not registered": [
    answering({}, 404),
    "critical: example.org is not registered: 127.0.0.1:PORT returned status 404",
  ],
  "too many queries": [answering({}, 429), "unknown: 127.0.0.1:PORT returned status 429, too many queries"],
  "another domain": [expiring(83, { ldhName: "example.com" }), NO_DATA],
  "no JSON": [(visitor) => visitor.send(response(200, {}, "<html>")), NO_DATA],
  "a flood": [flood, "unknown: the response of 127.0.0.1:PORT is too long"],
  "an end in between": [
    (visitor) => visitor.send(`${HEAD_OF_100}{`),
    "unknown: reading the response of 127.0.0.1:PORT failed: ",
  ],
  "a hanging server": [
    (visitor) => visitor.untilGone(),
    "unknown: no response from 127.0.0.1:PORT within 0.05 s",
    50,
  ],
  "a hanging body": [hangInBody, "unknown: no response from 127.0.0.1:PORT within 0.1 s", 100],
};

Deno.test("observeDomainExpiry() compares the expiry that the registry has, and never guesses one", async (t) => {
  await testRows(t, ANSWERS, async ([answer, expected, timeoutMs]) => {
    // On a slow machine the time of a hanging body is up before its head.
    const text = (await seenOf(answer, {}, timeoutMs)).replace("no whole", "no");
    assert.equal(text.slice(0, expected.length), expected, text);
  });
  await t.step("no server", async () => {
    const server = `http://127.0.0.1:${freePort()}/`;
    assert.match(await observe(domainCheck({ server })), /^unknown: connecting to 127\.0\.0\.1:/);
  });
});

Deno.test("domain_expiry asks the server of the registry for the name as it is in DNS", async () => {
  await using server = startServer(async (visitor) => {
    await visitor.readHead();
    await expiring(83, { ldhName: "xn--bcher-kva.example" })(visitor);
  });
  assert.match(await observe(domainCheck({ domain: "Bücher.example", server: server.origin })), /^ok: /);
  assert.match(server.heads[0] ?? "", /^GET \/domain\/xn--bcher-kva\.example HTTP\/1\.1\r\n/);
  assert.match(server.heads[0] ?? "", /accept: application\/rdap\+json/i);
  const netOf = async (domain: string) =>
    (await domainExpiryKind.requiredPermissions(domainCheck({ domain }), createMemorySystem())).net;
  assert.deepEqual(await netOf("example.com"), ["rdap.verisign.com:443"]);
  assert.deepEqual(await netOf("example.co.uk"), ["rdap.nominet.uk:443"]);
});

Deno.test("domain_expiry rejects a registry without a server, and more than a query an hour", () => {
  const errors = (check: CheckOf<"domain_expiry">) => problemTexts(domainExpiryKind.errors?.(check));
  assert.deepEqual(errors(domainCheck()), []);
  assert.deepEqual(errors(domainCheck({ domain: "example.de", server: "https://rdap.example/" })), []);
  assert.deepEqual(errors(domainCheck({ domain: "example.de" })), [
    'domain: is "example.de", and IANA lists no RDAP server of .de: write "server" if its registry has one',
  ]);
  const often =
    'domain: is "example.org", and registries are queried at most once an hour: write "schedule": { "regular_interval": "12 hours" }';
  assert.deepEqual(errors(domainCheck({}, { regularIntervalMs: HOUR_MS - 1 })), [often]);
  const impatient = {
    ...domainCheck(),
    schedule: { regularIntervalMs: 12 * HOUR_MS, attentiveIntervalMs: 60_000 },
  };
  assert.deepEqual(errors(impatient), [often]);
  const cron = (everyMs: number) =>
    ({
      ...domainCheck(),
      schedule: {
        times: {
          expression: "x",
          timeZone: "UTC",
          after: (ms: number) => (Math.floor(ms / everyMs) + 1) * everyMs,
        },
        attentiveIntervalMs: null,
      },
    }) as unknown as CheckOf<"domain_expiry">;
  assert.deepEqual(errors(cron(HOUR_MS)), []);
  assert.deepEqual(errors(cron(HOUR_MS / 2)), [often]);
});

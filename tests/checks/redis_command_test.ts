import assert from "node:assert/strict";
import { redisCommandKind } from "../../src/checks/redis_command.ts";
import type { RedisCommandParameters } from "../../src/domain/generated/config.ts";
import { createConnections } from "../../src/system/tcp/connections.ts";
import { checkOf, contextOf } from "../../testing/builders.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import { createRealClock } from "../../testing/real_clock.ts";
import { startChild, testWith, tool } from "../../testing/tools.ts";
import { problemTexts } from "../support/observe_check.ts";
import { readUntil } from "../support/read_until.ts";
import { fieldsOf, type Rows, testRows, testTable } from "../support/rows.ts";
import { campaign, testRandom } from "../../testing/seed.ts";

type Settings = Partial<RedisCommandParameters>;

const redisCheck = (parameters: Settings) =>
  checkOf("redis_command", {
    ...parameters.socket === undefined && { host: "127.0.0.1" },
    port: 6379,
    tls: false,
    command: ["PING"],
    asWarning: false,
    ...parameters,
  }, { name: "cache", timeoutMs: 10_000 });

const SILENCE = "silence";

/** Observes a server that sends these pieces, one for each read; then it ends, or is silent. */
async function seenOf(pieces: Iterable<string>, parameters: Settings, sent: string[] = []): Promise<string> {
  const clock = { ...createFakeClock(), wallMs: () => 1_700_000_000_000 };
  const server = Iterator.from(pieces);
  let isOver = false;
  let isSilent = false;
  const connections = {
    ...createConnections(createRealClock()),
    connect: (_target: unknown, { signal }: { readonly signal: AbortSignal }) =>
      Promise.resolve({
        read: (): Promise<Uint8Array | null> => {
          const { value, done } = server.next();
          if (value !== SILENCE) return Promise.resolve(done ? null : new TextEncoder().encode(value));
          isSilent = true;
          const { promise, reject } = Promise.withResolvers<never>();
          signal.addEventListener("abort", () => reject(signal.reason));
          return promise;
        },
        write: (bytes: Uint8Array) => {
          sent.push(new TextDecoder().decode(bytes));
          return Promise.resolve();
        },
        close: () => {},
      }),
  };
  const seen = redisCommandKind.observe(redisCheck(parameters), contextOf({ system: { clock, connections } }))
    .finally(() => isOver = true);
  while (!isOver) {
    await new Promise((resolve) => setTimeout(resolve, 0));
    if (isSilent) await clock.advance(10_000);
  }
  const result = await seen;
  assert.equal(redisCommandKind.hasResponded?.(result), true);
  const { condition, output } = result;
  return `${condition}: ${output}`;
}

const TOO_LONG = "critical: server sends a reply of more than 1048576 bytes";
const INFO = String.raw`# Replication\r\nrole:slave\r\nmaster_link_status:up\r\nlag:7\r\n`;
const PART = "critical: connection closed by the server without a whole reply";
const MORE = "critical: server replies more than it is asked";

/** The pieces that a server sends, the settings, and the result. */
const ROWS = String.raw`
  PONG                  | +PONG\r\n | | ok: value is "PONG"
  a reply in pieces     | $ / 5\r / \nhe / llo\r / \n | value=hello | ok: value is "hello"
  a number              | :12\r\n | value.atMost=10 | critical: value is 12, expected a number of at most 10
  a text of digits      | $2\r\n12\r\n | value.atMost=12 asWarning=true | ok: value is 12
  a number as an average has it | $18\r\n1.5000000000000000\r\n | value.atMost=2 | ok: value is 1.5
  a number with an exponent | $5\r\n1e-05\r\n | value.atMost=2 | ok: value is 0.00001
  digits that are too many for a number | $16\r\n1234567890123456\r\n | value="1234567890123456" | \
    ok: value is "1234567890123456"
  an age                | :1699999000\r\n | value.newerThanMs=600000 asWarning=true | \
    warning: value is 1699999000, expected a time within the last 10 min
  a text of digits that is excluded as a number | $2\r\n12\r\n | value.notEquals=12 | \
    critical: value is 12, expected anything but 12
  a text of digits that is excluded as a text | $2\r\n12\r\n | value.notEquals="12" | \
    critical: value is 12, expected anything but "12"
  nil                   | $-1\r\n | value.atMost=1 | critical: there is no value, expected one
  nil, as expected      | $-1\r\n | value.exists=false | ok: no value
  a list                | *3\r\n$6\r\nmaster\r\n:7\r\n*-1\r\n | value.contains=master | \
    ok: value is ["master", 7, null]
  a field               | $57\r\n${INFO}\r\n | command=["INFO"] field=lag value.lessThan=5 | \
    critical: value is 7, expected a number less than 5
  a missing field       | $57\r\n${INFO}\r\n | command=["INFO"] field=ag value=7 | \
    critical: there is no value, expected one
  a wrong password      | -WRONGPASS invalid username-password pair\r\n | password=x | \
    critical: server error: WRONGPASS invalid username-password pair
  another server        | HTTP/1.1 400 Bad Request\r\n\r\n | | critical: server is not Redis
  a number that is none | :1e3\r\n | | critical: server is not Redis
  a reply before the command | +OK\r\n+PONG\r\n | password=x | ${MORE}
  two replies           | +PONG\r\n+PONG\r\n | | ${MORE}
  the end               | | | ${PART}
  a part of a reply     | $5\r\nhel | value=hel | ${PART}
  a part of a list      | *2\r\n:1\r\n | | ${PART}
  a longer text than announced | $2\r\nhello\r\n | | \
    critical: server sends a text of another length than it announces
  a huge announced text | $1000000000\r\n | | ${TOO_LONG}
  a huge announced list | *1000000000\r\n | | ${TOO_LONG}
  silence               | silence | | critical: timeout after 10 s while reading from 127.0.0.1:6379`;

const FLOODS: Rows<[pieces: Iterable<string>, expected: string]> = {
  "a line without end": [forever("x".repeat(1_000)), TOO_LONG],
  "a list without end": [forever("*1000\r\n"), "critical: server sends lists that are nested too deeply"],
  "an endless list of numbers": [
    [`*500000\r\n`, ...Array(30).fill(":123456789012345\r\n".repeat(2_500))],
    TOO_LONG,
  ],
};

function* forever(text: string): Generator<string> {
  while (true) yield text;
}

Deno.test("redis_command compares a reply, and is never ok without a whole one", async (t) => {
  await testTable(t, ROWS, async (_, text, settings, expected) => {
    const sent = text.replaceAll("\\r", "\r").replaceAll("\\n", "\n");
    assert.equal(await seenOf(sent === "" ? [] : sent.split(" / "), fieldsOf(settings)), expected);
  });
  await testRows(t, FLOODS, async ([pieces, expected]) => {
    assert.equal(await seenOf(pieces, {}), expected);
  });
});

Deno.test("redis_command logs in, selects a database and sends words, not lines", async () => {
  const sent: string[] = [];
  const settings = { username: "ada", password: "a\r\nFLUSHALL", database: 3, command: ["GET", "k"] };
  await seenOf(["+OK\r\n", "+OK\r\n", "$1\r\n1\r\n"], settings, sent);
  assert.deepEqual(sent, [
    "*3\r\n$4\r\nAUTH\r\n$3\r\nada\r\n$11\r\na\r\nFLUSHALL\r\n",
    "*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n",
    "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n",
  ]);
});

Deno.test("redis_command reads any bytes without hanging or failing", async () => {
  const random = testRandom("redis");
  for (let round = 0; round < campaign(300); round++) {
    const length = Math.floor(random.next() * 30);
    const text = Array.from({ length }, () => "+-:$*1092\r\nx"[Math.floor(random.next() * 12)]).join("");
    assert.match(await seenOf([`*2\r\n${text}`], { value: "never" }), /^critical: /);
  }
});

Deno.test("redis_command rejects commands that write", () => {
  const errors = (settings: Settings) => problemTexts(redisCommandKind.errors?.(redisCheck(settings)));
  assert.deepEqual(errors({ command: ["llen", "jobs"] }), []);
  assert.deepEqual(errors({ socket: "/run/redis.sock" }), []);
  assert.match(
    errors({ command: ["FLUSHALL"] }).join(),
    /^command.0: is "FLUSHALL", expected a command that only/,
  );
  assert.deepEqual(errors({ username: "ada" }), ['username: "username" requires "password"']);
  assert.deepEqual(problemTexts(redisCommandKind.warnings?.(redisCheck({ host: "cache", password: "x" }))), [
    "tls: is not set, so others on the way can read the traffic",
  ]);
});

testWith("redis-server")("redis_command reads from a real server", async () => {
  const directory = await Deno.makeTempDir({ prefix: "monitor_test_" });
  const socket = `${directory}/redis.sock`;
  const args = [
    "--port",
    "0",
    "--unixsocket",
    socket,
    "--save",
    "",
    "--requirepass",
    "pencil",
    "--dir",
    directory,
  ];
  const child = startChild(tool("redis-server"), args, { stdout: "piped", stderr: "null" });
  try {
    const system = { connections: createConnections(createRealClock()), clock: createRealClock() };
    const observe = async (settings: Settings, timeoutMs = 10_000): Promise<string> => {
      const check = { ...redisCheck({ socket, password: "pencil", ...settings }), timeoutMs };
      const { condition, output } = await redisCommandKind.observe(check, contextOf({ system }));
      return `${condition}: ${output}`;
    };
    await readUntil(child.stdout, "eady to accept connections");
    assert.equal(await observe({}), 'ok: value is "PONG"');
    assert.equal(await observe({ command: ["LLEN", "jobs"], value: { atMost: 0 } }), "ok: value is 0");
    assert.equal(
      await observe({ command: ["INFO", "replication"], field: "role", value: "slave" }),
      'critical: value is "master", expected "slave"',
    );
    assert.match(await observe({ password: "wrong" }), /^critical: server error: WRONGPASS /);
    using own = await Deno.connect({ transport: "unix", path: socket });
    const tell = async (line: string): Promise<void> => {
      await own.write(new TextEncoder().encode(`${line}\r\n`));
      await own.read(new Uint8Array(64));
    };
    await tell("AUTH pencil");
    await tell("SETRANGE big 3000000 x");
    assert.match(await observe({ command: ["GET", "big"] }), /^critical: .*more than/);
    child.kill("SIGSTOP");
    assert.match(await observe({}, 300), /^critical: timeout after 0\.3 s/);
    child.kill("SIGCONT");
    await tell("CLIENT PAUSE 600000 ALL");
    assert.match(await observe({}, 300), /^critical: timeout after 0\.3 s/);
  } finally {
    child.kill("SIGKILL");
    await child.status;
    await Deno.remove(directory, { recursive: true });
  }
});

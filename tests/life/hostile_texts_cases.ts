/**
 * Names, titles, tags and outputs that try to break out of their context, through the real program. Each of its
 * outputs is read back by a parser of that format: every check is there once with its own text, or with its
 * replacement in the format, and nothing else is. If a format has no text to compare, a copy of the config with
 * harmless texts shows the expected output.
 */
import assert from "node:assert/strict";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { Parser } from "tap-parser";
import { DOMParser } from "@xmldom/xmldom";
import PostalMime from "postal-mime";
import { campaign, testSeed } from "../../testing/seed.ts";
import { HOSTILE_NAMES } from "../../testing/hostile_configs.ts";
import { unsafeCodes } from "../cli/formats/hostile_records.ts";
import { requiresTools } from "../../testing/tools.ts";
import { xmllint } from "../support/xmllint.ts";
import { inTime } from "./in_time.ts";
import { type Harness, withHarness } from "./program.ts";
import { type Mailbox, startMailbox } from "./receivers.ts";

const test = concurrentTests("monitor: hostile texts");

/** One is too long for the arguments of some commands below, and an empty one is no tag. */
const SHORT: readonly string[] = HOSTILE_NAMES.filter((name) => name.length < 1000);
/** A name in two lines. */
const LINES = "a\r\nb";
/** A fifth of them by default, which the seed chooses. */
const EVERY = campaign(10) === 10 ? 1 : 5;
const TEXTS: readonly string[] = SHORT.filter((text, index) =>
  text === LINES || (index + testSeed()) % EVERY === 0
);

test("monitor check --once: every format shows each hostile text in its place", async (_add, t) => {
  await withHarness(async (harness) => {
    writeHostile(harness, TEXTS, { kind: "script" });
    // One run, with each format in a file of its name.
    const formats = ["json", "ndjson", "junit", "tap", "plugin"];
    const outputs = formats.flatMap((format) => ["--output", `${format}=${format}`]);
    const end = await harness.runHere(["check", "--once", "--state", "none", ...outputs]);
    assert.equal(end.code, 2, end.stderr);
    assert.equal(end.stderr, "");
    const shown = (format: string): string => Deno.readTextFileSync(`${harness.directory}/${format}`);
    await t.step("json", () => {
      const { checks } = JSON.parse(shown("json")) as { readonly checks: readonly JsonCheck[] };
      assert.deepEqual(byName(checks), expectedChecks());
    });
    await t.step("ndjson", () => {
      const events = shown("ndjson").trimEnd().split("\n").map((line) => JSON.parse(line) as JsonCheck);
      assert.deepEqual(byName(events.filter(({ event }) => event === "result")), expectedChecks());
      assert.equal(events.length, TEXTS.length + 1);
    });
    await t.step("junit", () => {
      const xml = shown("junit");
      assert.deepEqual(unsafeCodes(xml), []);
      const document = new DOMParser().parseFromString(xml, "text/xml");
      assert.equal(document.getElementsByTagName("testcase").length, TEXTS.length);
      assert.equal(document.getElementsByTagName("failure").length, TEXTS.length);
      assert.equal(document.getElementsByTagName("script").length, 0);
    });
    await t.step("tap", async () => {
      const tap = shown("tap");
      assert.deepEqual(unsafeCodes(tap), []);
      const count = TEXTS.length;
      const sums = { ok: false, skip: 0, todo: 0, bailout: false };
      assert.deepEqual(await parseTap(tap), { ...sums, count, fail: count, plan: count });
    });
    await t.step("plugin", () => {
      const text = shown("plugin");
      assert.deepEqual(unsafeCodes(text), []);
      // The guidelines of the field: one status line, whose first "|" begins the performance data.
      const [first = ""] = text.split("\n");
      assert.match(first, /^(?:MONITOR )?CRITICAL\b/);
      assert.ok((first.match(/\|/g) ?? []).length <= 1, first);
    });
    await t.step("pretty", () => {
      const text = end.stdout;
      assert.deepEqual(unsafeCodes(text), []);
      assert.equal(text.match(/^CRITICAL /gm)?.length, TEXTS.length);
    });
  });
});

test(
  "monitor check --once: xmllint accepts the JUnit report of hostile texts",
  () =>
    withHarness(async (harness) => {
      writeHostile(harness, TEXTS);
      const { stdout } = await harness.runHere(["check", "--once", "--state", "none", "--format", "junit"]);
      assert.equal(await xmllint(stdout), "");
    }),
  requiresTools("xmllint"),
);

test("monitor: no hostile text acts on a terminal, whatever the command", () =>
  withHarness(async (harness) => {
    writeHostile(harness, TEXTS);
    await harness.runHere(["check", "--once", "--state", "kept.sqlite"]);
    const assertSafe = async (args: readonly string[]): Promise<void> => {
      const { stdout, stderr } = await harness.runHere(args);
      assert.deepEqual(
        unsafeCodes(stdout),
        [],
        `stdout of ${JSON.stringify(args)}: ${JSON.stringify(stdout)}`,
      );
      assert.deepEqual(
        unsafeCodes(stderr),
        [],
        `stderr of ${JSON.stringify(args)}: ${JSON.stringify(stderr)}`,
      );
      assert.doesNotMatch(stderr, /this is a bug/, JSON.stringify(args));
    };
    await assertSafe(["status", "--state", "kept.sqlite"]);
    const silence = ["silence", "--state", "kept.sqlite", "--for", "1h", "--reason", "\u001b[2J\n\u202e"];
    await assertSafe([...silence, "--", LINES]);
    const commands: readonly (readonly string[])[] = [
      ["status", "--state", "kept.sqlite", "--format", "json"],
      ["history", "--state", "kept.sqlite", "--", LINES],
      ["explain"],
      ["validate"],
      ["permissions"],
      ["check", "--once", "--state", "none", "--", "\u001b]0;owned\u0007"],
      ["check", "--once", "--state", "none", "--", "\u202eno such check\u001b[2J"],
      ["status", "--state", "kept.sqlite"],
      ["validate", "--config", "no\u001b[2Jfile\n\u202e"],
      ["validate", "--state\u001b[2J"],
      ["no\u001b[2Jcommand\u202e"],
      ["init", "in\u001b[2Jit.jsonc"],
    ];
    await Promise.all(commands.map(assertSafe));
    writeHostile(harness, TEXTS, { interval: "1 second" });
    const program = harness.startHere(["check", "--state", "none", "--log-level", "debug"]);
    await program.stdout.next((line) => line.includes("CRITICAL"));
    program.signal("SIGHUP");
    await program.stderr.next(/reload|nothing changed|read again/i);
    program.signal("SIGTERM");
    const { stdout, stderr } = await program.end();
    assert.deepEqual(unsafeCodes(stdout + stderr), []);
  }));

test("monitor validate: no hostile text in an error acts on a terminal", () =>
  withHarness(async (harness) => {
    const checks = Object.fromEntries(
      TEXTS.map((
        text,
        index,
      ) => [text, { kind: `${text}${index}`, [`x${text}`]: text, parameters: { [text]: text } }]),
    );
    harness.writeConfig(checks);
    Deno.mkdirSync(`${harness.directory}/conf.d`);
    Deno.writeTextFileSync(`${harness.directory}/conf.d/\u001b[2J\u202e\n.jsonc`, '{ "chekcs": {} }');
    Deno.writeTextFileSync(
      `${harness.directory}/files.json`,
      '{ "defaults": {}, "include": "conf.d/*.jsonc" }',
    );
    for (const args of [["validate"], ["validate", "--config", "files.json"], ["check", "--once"]]) {
      const { code, stdout, stderr } = await harness.runHere(args);
      assert.equal(code, 78, stderr);
      assert.deepEqual(unsafeCodes(stdout + stderr), [], JSON.stringify(stderr));
    }
  }));

test("monitor report: a page of hostile texts has the tags of a harmless one, and no others", () =>
  withHarness(async (harness) => {
    const page = async (texts: readonly string[], state: string): Promise<string> => {
      writeHostile(harness, texts);
      await harness.runHere(["check", "--once", "--state", state]);
      const { code, stdout, stderr } = await harness.runHere(["report", "--state", state]);
      assert.equal(code, 0, stderr);
      return stdout;
    };
    const hostile = await page(TEXTS, "hostile.sqlite");
    const harmless = await page(TEXTS.map((_, index) => `n${index}`), "harmless.sqlite");
    // Each tag with the names of its attributes; a "<" in a text would make one more.
    const names = (html: string): readonly string[] =>
      [...html.matchAll(/<[^>]*>/g)].map(([tag]) => tag.replace(/="[^"]*"|=[^\s"'>]+/g, "")).sort();
    assert.deepEqual(unsafeCodes(hostile), []);
    assert.ok(names(hostile).length > 100);
    const left = [...names(harmless)];
    for (const tag of names(hostile)) {
      const index = left.indexOf(tag);
      assert.ok(index >= 0, `there is one ${tag} too many`);
      left.splice(index, 1);
    }
    // An empty text is not shown.
    assert.ok(left.length < 20, left.join(" "));
  }));

/** The number of checks that share a channel whose emails describe each notification in full. */
const GROUP_SIZE = 9;

test("monitor: mails, webhooks and programs get hostile texts as they were, or in words", async (_add, t) => {
  await withHarness(async (harness) => {
    await using mailbox = await startMailbox();
    await using hook = startHostileHook();
    harness.writeScript("receive", 'cat >>received; printf "%s\\0" "$MONITOR_CHECK" >>checks; touch safe');
    // Each text is sent by itself, with some others, and with all of them: an email with so many notifications is
    // short.
    writeHostile(harness, TEXTS, {
      notificationsOf: (index) => [
        mailTo(mailbox, `alone${index}`),
        mailTo(mailbox, `group${Math.floor(index / GROUP_SIZE)}`),
        mailTo(mailbox, "all"),
        { kind: "webhook", parameters: { target: `${hook.target}whole/${index}` } },
        {
          kind: "webhook",
          parameters: {
            target: `${hook.target}templated/${index}`,
            body: '{"text":"{{check}} {{title}} {{output}}"}',
          },
        },
        { kind: "command", parameters: { path: "./receive" } },
      ],
    });
    const { code, stderr } = await harness.runHere(["check", "--once", "--state", "kept.sqlite"]);
    assert.equal(code, 2, stderr);
    assert.deepEqual(unsafeCodes(stderr), []);
    const groups = Array.from(
      { length: Math.ceil(TEXTS.length / GROUP_SIZE) },
      (_, index) => `group${index}`,
    );
    const names = [...TEXTS.map((_, index) => `alone${index}`), ...groups, "all"];
    // A slow machine closes a batch before the last check has run.
    assert.deepEqual(
      [...new Set(mailbox.raw.map(({ receivers }) => receivers.join()))].sort(),
      names.map((name) => `${name}@example.org`).sort(),
    );
    for (const [index, text] of TEXTS.entries()) {
      await t.step(`an email of ${JSON.stringify(text)}`, async () => {
        const sent = await readHostileMail(mailbox, `alone${index}`);
        const named = sent.split("\n").filter((line) => line.startsWith("Check: "));
        assert.equal(named.length, 1);
        if (/^[!-~]+$/.test(text)) assert.deepEqual(named, [`Check: ${text}`]);
      });
      await t.step(`a webhook of ${JSON.stringify(text)}`, () => {
        const whole = hook.posts.get(`whole/${index}`);
        const templated = hook.posts.get(`templated/${index}`);
        const { notifications } = JSON.parse(whole?.text ?? "") as {
          readonly notifications: readonly Record<string, unknown>[];
        };
        assert.deepEqual(notifications.map(({ check }) => check), [text]);
        assert.deepEqual(Object.keys(JSON.parse(templated?.text ?? "")), ["text"]);
        assert.deepEqual(whole?.headers, templated?.headers);
      });
    }
    await t.step("emails of several", async () => {
      const sent = await Promise.all(groups.map((group) => readHostileMail(mailbox, group)));
      assert.equal(sent.join("\n").match(/^Check: /gm)?.length, TEXTS.length);
    });
    await t.step("an email of all", async () => {
      const sent = await readHostileMail(mailbox, "all");
      // An email of many has a line for each.
      assert.equal(sent.match(/^(?:CRITICAL|Check): /gm)?.length, TEXTS.length);
    });
    const received = Deno.readTextFileSync(`${harness.directory}/received`).trimEnd().split("\n");
    const notified = received.map((line) => (JSON.parse(line) as { readonly check: string }).check);
    const variables = Deno.readTextFileSync(`${harness.directory}/checks`).split("\0").slice(0, -1);
    assert.deepEqual(notified.toSorted(), TEXTS.toSorted());
    assert.deepEqual(variables, notified.map((text) => text.replaceAll("\0", "\ufffd").toWellFormed()));
    assert.deepEqual(
      [...Deno.readDirSync(harness.directory)].filter(({ name }) => /owned|id$/.test(name)),
      [],
    );
  });
});

/** Returns the channel of a mailbox, for its own receiver. */
function mailTo({ channel }: Mailbox, name: string): unknown {
  const { parameters } = channel as { readonly parameters: Readonly<Record<string, unknown>> };
  return { ...channel, parameters: { ...parameters, receivers: [`${name}@example.org`] } };
}

/** Returns the texts of the emails to a receiver, which contain nothing else. */
async function readHostileMail(mailbox: Mailbox, name: string): Promise<string> {
  const address = `${name}@example.org`;
  const texts: string[] = [];
  for (const { raw } of mailbox.raw.filter(({ receivers }) => receivers.includes(address))) {
    const read = await PostalMime.parse(raw);
    assert.deepEqual(read.headers.map(({ key }) => key).sort(), MAIL_HEADERS);
    assert.deepEqual(read.to?.map((to) => to.address), [address]);
    assert.deepEqual(unsafeCodes(`${read.subject}${read.text}`), []);
    assert.doesNotMatch(read.subject ?? "", /\n/);
    assert.equal(read.html, undefined);
    assert.deepEqual(read.attachments, []);
    texts.push(read.text ?? "");
  }
  return texts.join("\n");
}

interface HostileHook extends AsyncDisposable {
  /** Ends with a slash; the text after it names a post. */
  readonly target: string;
  readonly posts: ReadonlyMap<string, { readonly headers: readonly string[]; readonly text: string }>;
}

function startHostileHook(): HostileHook {
  const posts = new Map<string, { readonly headers: readonly string[]; readonly text: string }>();
  const abort = new AbortController();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, signal: abort.signal, onListen: () => {} },
    async (request) => {
      const headers = [...request.headers.keys()].sort();
      posts.set(new URL(request.url).pathname.slice(1), { headers, text: await request.text() });
      return new Response("");
    },
  );
  return {
    target: `http://127.0.0.1:${server.addr.port}/`,
    posts,
    async [Symbol.asyncDispose]() {
      abort.abort();
      await inTime("the server to end", server.finished);
    },
  };
}

/** The headers of every email, to which no hostile text adds one. */
const MAIL_HEADERS: readonly string[] = [
  "auto-submitted",
  "content-transfer-encoding",
  "content-type",
  "date",
  "from",
  "message-id",
  "mime-version",
  "subject",
  "to",
];

interface JsonCheck {
  readonly event?: string;
  readonly name: string;
  readonly title: string | null;
  readonly output: string;
}

function byName(checks: readonly JsonCheck[]): ReadonlyMap<string, readonly [string | null, string]> {
  return new Map(checks.map(({ name, title, output }) => [name, [title, output]]));
}

function expectedChecks(): ReadonlyMap<string, readonly [string | null, string]> {
  return new Map(TEXTS.map((text) => [text, [text, `says ${firstLineOf(text)}`.trimEnd()]]));
}

/** Returns the first line of a script by the plugin convention: up to a newline, and without performance data. */
function firstLineOf(text: string): string {
  return (text.toWellFormed().split(/\r?\n/)[0] ?? "").split("|")[0] ?? "";
}

/**
 * Checks whose names, titles, tags and outputs are the texts; each of them is critical. Outputs are those of scripts, or
 * of checks without a target.
 */
function writeHostile(
  harness: Harness,
  texts: readonly string[],
  { kind = "test", notificationsOf, interval = "1 day" }: {
    readonly kind?: "script" | "test";
    readonly notificationsOf?: (index: number) => readonly unknown[];
    readonly interval?: string;
  } = {},
): void {
  harness.writeScript("say", 'cat "./said_$1"; exit 2');
  const checks = texts.map((text, index): readonly [string, unknown] => {
    const output = `says ${text.toWellFormed()}\ndetail of ${text}\n`;
    if (kind === "script") Deno.writeTextFileSync(`${harness.directory}/said_${index}`, output);
    return [text, {
      title: text,
      tags: [text === "" ? "empty" : text],
      kind,
      parameters: kind === "script"
        ? { path: "./say", arguments: [String(index)] }
        : { condition: "critical", output },
      ...notificationsOf !== undefined && { notifications: notificationsOf(index) },
    }];
  });
  Deno.writeTextFileSync(
    `${harness.directory}/monitor.json`,
    // Not an object, where "__proto__" would be lost.
    `{"defaults":${
      JSON.stringify({ threshold: 1, schedule: { regular_interval: interval } })
    },"metrics":{"path":"monitor.prom"},"checks":{${
      checks.map(([name, check]) => `${JSON.stringify(name)}:${JSON.stringify(check)}`).join(",")
    }}}`,
    // Whatever the umask: the program warns of a config that others may write.
    { mode: 0o644 },
  );
}

function parseTap(text: string): Promise<Readonly<Record<string, unknown>>> {
  const { promise, resolve } = Promise.withResolvers<Readonly<Record<string, unknown>>>();
  const parser = new Parser(({ count, fail, ok, skip, todo, bailout, plan }) =>
    resolve({ count, fail, ok, skip, todo, bailout, plan: plan.end })
  );
  parser.end(text);
  return promise;
}

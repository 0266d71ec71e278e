/** Names, titles, tags and outputs that try to break out of their context, through the real program. */
import assert from "node:assert/strict";
import { concurrentTests } from "../support/concurrent_tests.ts";
import PostalMime from "postal-mime";
import { campaign, testSeed } from "../../testing/seed.ts";
import { HOSTILE_NAMES } from "../../testing/hostile_configs.ts";
import { unsafeCodes } from "../cli/formats/hostile_records.ts";
import { type Harness, withHarness } from "./program.ts";
import { type Mailbox, startHook, startMailbox } from "./receivers.ts";

const test = concurrentTests("monitor: hostile texts");

/** One is too long for the arguments of some commands below, and an empty one is no tag. */
const SHORT: readonly string[] = HOSTILE_NAMES.filter((name) => name.length < 1000);
/** A name in two lines. */
const LINES = "a\r\nb";
/** A twelfth of them by default, which the seed chooses. */
const EVERY = campaign(10) === 10 ? 1 : 12;
const TEXTS: readonly string[] = SHORT.filter((text, index) =>
  text === LINES || (index + testSeed()) % EVERY === 0
);

test("monitor: no hostile text acts on a terminal, whatever the command", () =>
  withHarness(async (harness) => {
    writeHostile(harness, TEXTS);
    await harness.runHere(["check", "--once", "--state", "kept.sqlite"]);
    const assertSafe = async (args: readonly string[]): Promise<void> => {
      const { stdout, stderr } = await harness.runHere(args);
      assert.deepEqual(unsafeCodes(stdout + stderr), [], JSON.stringify([args, stdout, stderr]));
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
    const checks = TEXTS.map((text, index) =>
      [text, { kind: `${text}${index}`, [`x${text}`]: text, parameters: { [text]: text } }] as const
    );
    harness.writeConfig(Object.fromEntries(checks));
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

test("monitor: mails, webhooks and commands get hostile texts as they were, or in words", () =>
  withHarness(async (harness) => {
    await using mailbox = await startMailbox();
    await using hook = startHook();
    harness.writeScript("receive", 'cat >>received; printf "%s\\0" "$MONITOR_CHECK" >>checks; touch safe');
    // Each text is sent by itself, and with all of them: an email with so many notifications is short.
    writeHostile(harness, TEXTS, {
      notificationsOf: (index) => [
        mailTo(mailbox, `alone${index}`),
        mailTo(mailbox, "all"),
        hook.channel,
        { kind: "command", parameters: { path: "./receive" } },
      ],
    });
    const { code, stderr } = await harness.runHere(["check", "--once", "--state", "kept.sqlite"]);
    assert.equal(code, 2, stderr);
    assert.deepEqual(unsafeCodes(stderr), []);
    for (const [index, text] of TEXTS.entries()) {
      const sent = await readHostileMail(mailbox, `alone${index}`);
      const named = sent.split("\n").filter((line) => line.startsWith("Check: "));
      assert.equal(named.length, 1, JSON.stringify(text));
      if (/^[!-~]+$/.test(text)) assert.deepEqual(named, [`Check: ${text}`]);
    }
    const all = await readHostileMail(mailbox, "all");
    // An email of many has a line for each.
    assert.equal(all.match(/^(?: {2}CRITICAL|Check: )/gm)?.length, TEXTS.length);
    const posted = hook.posts.flatMap(({ notifications }) => notifications.map(({ check }) => check));
    assert.deepEqual(posted.toSorted(), TEXTS.toSorted());
    const received = Deno.readTextFileSync(`${harness.directory}/received`).trimEnd().split("\n");
    const notified = received.map((line) => (JSON.parse(line) as { readonly check: string }).check);
    const variables = Deno.readTextFileSync(`${harness.directory}/checks`).split("\0").slice(0, -1);
    assert.deepEqual(notified.toSorted(), TEXTS.toSorted());
    assert.deepEqual(variables, notified.map((text) => text.replaceAll("\0", "\ufffd").toWellFormed()));
    const left = [...Deno.readDirSync(harness.directory)].filter(({ name }) => /owned|id$/.test(name));
    assert.deepEqual(left, []);
  }));

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

/** Writes checks whose names, titles, tags and outputs are the texts; each of them is critical. */
function writeHostile(
  harness: Harness,
  texts: readonly string[],
  { notificationsOf, interval = "1 day" }: {
    readonly notificationsOf?: (index: number) => readonly unknown[];
    readonly interval?: string;
  } = {},
): void {
  const checks = texts.map((text, index) => {
    const output = `says ${text.toWellFormed()}\ndetail of ${text}\n`;
    const check = {
      title: text,
      tags: [text === "" ? "empty" : text],
      kind: "test",
      parameters: { condition: "critical", output },
      ...notificationsOf !== undefined && { notifications: notificationsOf(index) },
    };
    return `${JSON.stringify(text)}:${JSON.stringify(check)}`;
  });
  const defaults = JSON.stringify({ threshold: 1, schedule: { regular_interval: interval } });
  Deno.writeTextFileSync(
    `${harness.directory}/monitor.json`,
    // Not an object, where "__proto__" would be lost.
    `{"defaults":${defaults},"metrics":{"path":"monitor.prom"},"checks":{${checks.join(",")}}}`,
    // Whatever the umask: the program warns of a config that others may write.
    { mode: 0o644 },
  );
}

/**
 * Rounds of everything at once: checks that fail and recover, a webhook and a mail server that break at any byte, kills,
 * stops, a second monitor on the same state, a wall clock that steps both ways. In the end each change that the state has
 * kept must have been told, once but for twins, and nothing else.
 *
 * `CHAOS_ROUNDS=1000 CHAOS_SEED=7 deno test -A tests/life/chaos_test.ts`, or `deno task soak chaos`.
 */
import assert from "node:assert/strict";
import { type Program, type Stage, withStage } from "./program.ts";
import { startHook, startMailbox } from "./receivers.ts";
import { assertAllTold, changesOf, withoutTwins } from "./told.ts";

const ROUNDS = Number(Deno.env.get("CHAOS_ROUNDS") ?? 6);
const SEED = Number(Deno.env.get("CHAOS_SEED") ?? Math.floor(Math.random() * 1e9));
const NAMES: readonly string[] = Array.from({ length: 6 }, (_, index) => `check ${index}`);

/** Numbers of 0 or more, below 1, the same for the same seed (mulberry32 by Tommy Ettinger, public domain). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** What a run may come to. */
interface Tally {
  killed: number;
  stopped: number;
  doubled: number;
  stepped: number;
}

Deno.test("monitor check --once: nothing is lost or invented, whatever breaks", () =>
  withStage(async (stage) => {
    await using hook = startHook();
    await using mailbox = await startMailbox();
    const random = createRandom(SEED);
    const oneIn = (count: number): boolean => random() * count < 1;
    const clockLibrary = findClockLibrary();
    writeDocument(stage, [hook.channel, mailbox.channel]);
    const tally: Tally = { killed: 0, stopped: 0, doubled: 0, stepped: 0 };
    for (let round = 0; round < ROUNDS; round++) {
      for (const name of NAMES) if (oneIn(3)) turn(stage, name);
      hook.status = [200, 200, 500, 429, 404][Math.floor(random() * 5)] ?? 200;
      hook.delayMs = () => random() * 100;
      hook.bytesMax = () => oneIn(2) ? Infinity : random() * 3_000;
      mailbox.isUp = !oneIn(4);
      mailbox.bytesMax = () => oneIn(2) ? Infinity : random() * 2_500;
      const environment = oneIn(4) ? steppedClock(clockLibrary, (random() - 0.5) * 7200) : {};
      if (Object.keys(environment).length > 0) tally.stepped++;
      const programs = [stage.start(["check", "--once", "--format", "ndjson"], { environment })];
      if (oneIn(5)) {
        programs.push(stage.start(["check", "--once"]));
        tally.doubled++;
      }
      const trouble = random();
      await Promise.all(programs.map((program) => endSomehow(program, { trouble, random, tally })));
    }
    hook.status = 200;
    hook.delayMs = () => 0;
    hook.bytesMax = () => Infinity;
    mailbox.isUp = true;
    mailbox.bytesMax = () => Infinity;
    for (let call = 0; call < 3; call++) {
      const { stderr, code } = await stage.run(["check", "--once"]);
      assert.ok(code === 0 || code === 2, `exit code ${code}: ${stderr}`);
    }
    const posts = withoutTwins(hook.posts);
    const changes = NAMES.flatMap((name) => changesOf(stage, name));
    const twins = hook.posts.length - posts.length;
    console.log(
      `seed ${SEED}: ${ROUNDS} rounds, ${changes.length} changes; ${JSON.stringify(tally)}; ${twins} twins`,
    );
    for (const name of NAMES) {
      const reports = posts.flatMap((post) => post.reports.filter(({ check }) => check === name));
      assertAllTold(reports, changesOf(stage, name));
    }
    const mails = new Map<string, string>();
    for (const { messageId, subject, text } of await mailbox.read()) {
      const words = `${subject}\n${text}`;
      assert.equal(mails.get(messageId) ?? words, words, "a twin tells the same");
      mails.set(messageId, words);
    }
    assert.equal(new Set(mails.values()).size, mails.size, "what is told twice has one id");
    const { stdout } = await stage.run(["status", "--format", "json"]);
    const { reports } = JSON.parse(stdout) as { readonly reports: unknown };
    assert.deepEqual(reports, [], "nothing waits any more");
  }));

function writeDocument(stage: Stage, channels: readonly unknown[]): void {
  const checkOf = (name: string): unknown => ({
    kind: "file_timestamp",
    parameters: { path: `./${name}`, condition_on_missing: "critical" },
  });
  stage.writeDocument(Object.fromEntries(NAMES.map((name) => [name, checkOf(name)])), {
    defaults: { threshold: 1, schedule: { regular_interval: 1 }, notifications: channels },
    state: "kept.sqlite",
  });
  Deno.chmodSync(`${stage.folder}/monitor.json`, 0o600);
}

/** Lets a check be what it was not. */
function turn({ folder }: Stage, name: string): void {
  try {
    Deno.removeSync(`${folder}/${name}`);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    Deno.writeTextFileSync(`${folder}/${name}`, "");
  }
}

/** Debian's library that shows a program another wall clock. */
function findClockLibrary(): string {
  for (const { name } of Deno.readDirSync("/usr/lib")) {
    const path = `/usr/lib/${name}/faketime/libfaketimeMT.so.1`;
    try {
      Deno.statSync(path);
      return path;
    } catch {
      // Not that folder.
    }
  }
  throw new Error("there is no libfaketime: apt-get install faketime");
}

function steppedClock(library: string, seconds: number): Readonly<Record<string, string>> {
  const offset = `${seconds < 0 ? "" : "+"}${seconds.toFixed(0)}s`;
  return { LD_PRELOAD: library, FAKETIME: offset, DONT_FAKE_MONOTONIC: "1" };
}

interface Fate {
  readonly trouble: number;
  readonly random: () => number;
  readonly tally: Tally;
}

/** Lets a program end by itself, kills it, or makes it stand still for a while. */
async function endSomehow(program: Program, { trouble, random, tally }: Fate): Promise<void> {
  const timers: ReturnType<typeof setTimeout>[] = [];
  const after = (ms: number, signal: Deno.Signal): void => {
    timers.push(setTimeout(() => program.signal(signal), ms));
  };
  if (trouble < 0.5) after(random() * 600, "SIGKILL");
  else if (trouble < 0.75) {
    const stopMs = random() * 400;
    after(stopMs, "SIGSTOP");
    after(stopMs + random() * 400, "SIGCONT");
  }
  const { code, stderr } = await program.end();
  for (const timer of timers) clearTimeout(timer);
  if (code === 137) tally.killed++;
  else {
    if (trouble >= 0.5 && trouble < 0.75) tally.stopped++;
    // 75: the other one has the state.
    assert.ok([0, 2, 69, 75].includes(code), `exit code ${code}: ${stderr}`);
  }
}

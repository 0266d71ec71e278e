/**
 * Mutated responses of a server: each is a result, or an error of the state with its reason, within the deadline and
 * with bounded memory.
 */
import assert from "node:assert/strict";
import { shortOrFull } from "../../../testing/full_form.ts";
import { pause } from "../../../src/shared/deadline.ts";
import { joinBytes } from "../../../src/shared/text.ts";
import { int32, message, terminated } from "../../../src/shared/postgres/protocol.ts";
import { campaign, testSeed } from "../../../testing/seed.ts";
import { Random } from "../../../testing/simulation/random.ts";
import {
  ACCEPTED,
  authentication,
  begin,
  type Behavior,
  complete,
  DEADLINE_MS,
  description,
  failure,
  ONE,
  ONE_COLUMN,
  PARSED,
  READY,
  row,
  scram,
  type Served,
  settle,
  SILENCE,
  STARTED,
  writable,
} from "./server_in_memory.ts";

const STREAMS = shortOrFull(campaign(2_000, 150), 100_000);
/** Each is short enough for the limit of a step on a slow machine. */
const STEPS = 10;
const PASSWORD = "pencil";

/** What a client may read of a stream, in all its attempts: a server that repeats itself sends slowly. */
const BYTES_MAX = 4_000_000;

const NOTICE = message("N", terminated("SNOTICE"), terminated("Mhello"), new Uint8Array(1));

const RESPONSES: readonly Uint8Array[] = [
  ONE,
  joinBytes([
    PARSED,
    description([["name", 25], ["runs", 20], ["mean", 701], ["fresh_runs", 17], ["last", 25]]),
    row("web", "12", "0.5", "\\x00ff", null),
    NOTICE,
    row("caf\u00e9 \u{1f600}", "-9007199254740993", "NaN", "\\x", "x".repeat(300)),
    complete("SELECT 2"),
    READY,
  ]),
  joinBytes([PARSED, message("n"), complete("INSERT 0 5"), READY]),
  joinBytes([message("1"), failure("42703", 'column "one" does not exist'), READY]),
  joinBytes([PARSED, ONE_COLUMN, NOTICE, failure("57P01", "terminating connection")]),
];

/** Numbers that lengths and counts are replaced by. */
const NUMBERS = [-1, -2, 0, 1, 4, 5, 255, 65_535, 2 ** 24, 2 ** 26, 2 ** 31 - 1, -(2 ** 31)];
const TYPES = [..."123ACDEGHIKNRSTVWZcnstv!\0"];

type Mutation = (bytes: Uint8Array, random: Random) => Uint8Array;

const MUTATIONS: readonly Mutation[] = [
  (bytes, random) => bytes.with(random.between(0, bytes.length - 1), random.between(0, 255)),
  (bytes, random) => {
    const place = random.between(0, bytes.length - 1);
    return bytes.with(place, (bytes[place] ?? 0) ^ 1 << random.between(0, 7));
  },
  // A number somewhere, or a length.
  (bytes, random) => replaced(bytes, random.between(0, bytes.length), int32(random.pick(NUMBERS))),
  (bytes, random) => replaced(bytes, 1 + random.pick(messageStarts(bytes)), int32(random.pick(NUMBERS))),
  (bytes, random) =>
    replaced(bytes, random.pick(messageStarts(bytes)), new TextEncoder().encode(random.pick(TYPES))),
  (bytes, random) => {
    const [from, to] = rangeIn(bytes, random);
    return joinBytes([bytes.subarray(0, from), bytes.subarray(to)]);
  },
  (bytes, random) => {
    const [from, to] = rangeIn(bytes, random);
    return joinBytes([bytes.subarray(0, to), bytes.subarray(from, to), bytes.subarray(to)]);
  },
  // Whole messages: one less, one twice, two in another order.
  (bytes, random) => joinBytes(messagesIn(bytes).filter(() => !random.chance(0.2))),
  (bytes, random) => joinBytes(messagesIn(bytes).flatMap((one) => random.chance(0.2) ? [one, one] : [one])),
  (bytes, random) => {
    const all = [...messagesIn(bytes)];
    const [one, other] = [random.between(0, all.length - 1), random.between(0, all.length - 1)];
    return joinBytes(all.with(one, all[other] ?? READY).with(other, all[one] ?? READY));
  },
  (bytes, random) => {
    const place = random.pick(messageStarts(bytes));
    const body = Uint8Array.from({ length: random.between(0, 40) }, () => random.between(0, 255));
    return joinBytes([bytes.subarray(0, place), message(random.pick(TYPES), body), bytes.subarray(place)]);
  },
  (bytes, random) => bytes.subarray(0, random.between(0, bytes.length)),
];

function replaced(bytes: Uint8Array, place: number, by: Uint8Array): Uint8Array {
  return joinBytes([bytes.subarray(0, place), by, bytes.subarray(place + by.length)]);
}

function rangeIn(bytes: Uint8Array, random: Random): readonly [from: number, to: number] {
  const from = random.between(0, bytes.length);
  return [from, Math.min(bytes.length, from + random.between(1, 20))];
}

/** Where messages begin, as far as their lengths are plausible; at least one place. */
function messageStarts(bytes: Uint8Array): readonly number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const starts = [0];
  for (let place = 0; place + 5 <= bytes.length;) {
    const length = view.getInt32(place + 1);
    if (length < 4 || place + 1 + length >= bytes.length) break;
    starts.push(place += 1 + length);
  }
  return starts;
}

function messagesIn(bytes: Uint8Array): readonly Uint8Array[] {
  const starts = messageStarts(bytes);
  return starts.map((start, index) => bytes.subarray(start, starts[index + 1] ?? bytes.length));
}

function mutated(bytes: Uint8Array, random: Random): Uint8Array {
  let result = bytes;
  for (let times = random.between(1, 4); times > 0 && result.length > 0; times--) {
    result = random.pick(MUTATIONS)(result, random);
  }
  return result;
}

/** Makes a server whose bytes are mutated in one of its phases. */
function mutatedServer(seed: number): Served {
  const random = new Random(seed, "stream");
  const phase = random.pick(["startup", "session", "response", "response"]);
  const login = random.pick(["none", "none", "none", "clear text", ...random.chance(0.2) ? ["SCRAM"] : []]);
  const response = random.pick(RESPONSES);
  const end = random.pick(["close", "silence", "repeat"]);
  async function* sent(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
    for (let rest = bytes; rest.length > 0;) {
      const piece = rest.subarray(0, random.chance(0.5) ? rest.length : random.between(1, rest.length));
      yield piece;
      rest = rest.subarray(piece.length);
    }
  }
  return {
    password: login === "none" ? null : PASSWORD,
    isPrivate: true,
    server: async function* (client, clock) {
      const passed = (name: string, bytes: Uint8Array): ReturnType<Behavior> =>
        sent(name === phase ? mutated(bytes, random) : bytes);
      if (login === "SCRAM") {
        for await (const piece of scram(client, { password: PASSWORD })) yield* passed("startup", piece);
      } else {
        await client.next();
        if (login === "clear text") yield* passed("startup", authentication(3));
      }
      yield* passed("startup", joinBytes([ACCEPTED, STARTED]));
      for await (const piece of writable(client)) yield* passed("session", piece);
      await client.statement();
      yield* passed("response", response);
      if (end === "close") return;
      if (end === "silence") await SILENCE;
      const [from, to] = rangeIn(response, random);
      const repeated = joinBytes(Array.from({ length: 50 }, () => response.subarray(from, to)));
      for (;;) {
        await pause(clock, 1_000);
        yield repeated;
      }
    },
  };
}

Deno.test(`${STREAMS.toLocaleString("en")} mutated streams of a server are results or errors, in time`, async (t) => {
  const outcomes = new Set<string>();
  for (let first = 0; first < STREAMS; first += STREAMS / STEPS) {
    await t.step(`from stream ${first} on`, async () => {
      for (let index = first; index < first + STREAMS / STEPS; index++) outcomes.add(await play(index));
    });
  }
  // Otherwise the mutations would all end at the same place.
  assert.ok(outcomes.size > campaign(15, 10), [...outcomes].join("\n"));
});

/** Returns the kind of outcome of a stream. */
async function play(index: number): Promise<string> {
  const trial = begin(mutatedServer(testSeed() * 1_000_000 + index));
  try {
    const outcome = await settle(trial);
    assert.ok(trial.clock.monotonicMs() <= DEADLINE_MS, `${trial.clock.monotonicMs()} ms`);
    const bytes = trial.connections.reduce((sum, { bytesRead }) => sum + bytesRead, 0);
    assert.ok(bytes <= BYTES_MAX, `${bytes} bytes`);
    return typeof outcome === "string" ? outcome.replace(/(?<=error: ).*|-?\d+/g, "…") : "a result";
  } catch (error) {
    throw new Error(`stream ${index} of seed ${testSeed()}`, { cause: error });
  } finally {
    trial.client.close();
  }
}

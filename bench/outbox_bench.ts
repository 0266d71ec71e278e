import { loadDocument } from "../src/config/load.ts";
import type { OutboxRow } from "../src/domain/outbox.ts";
import { freshRow } from "../src/outbox_rows.ts";
import { createSystem } from "../src/system/system.ts";
import { checkNames, type DocumentSubject, makeDocument, TEST_CHECK } from "./documents.ts";
import { keepRows } from "./kept_state.ts";
import type { Row } from "./row.ts";
import { compareRuns, measureRuns } from "./run_rows.ts";
import { startServer } from "./server.ts";
import type { Workplace } from "./workplace.ts";

const ROUNDS = 5;
const PEAK_ROUNDS = 3;

/**
 * What it takes `check --once` to deliver the many reports that an earlier run left, to a program that posts the
 * same rows in the same batches, and to one that keeps on disk how far it is, as a monitor must. Once to a channel
 * that takes all that waits in one request, and once to one that takes one report at a time.
 */
export async function benchOutbox(workplace: Workplace): Promise<readonly Row[]> {
  return [
    ...await benchChannel(workplace, GATHERED),
    ...await benchChannel(workplace, ONE_BY_ONE),
  ];
}

interface ChannelSubject {
  readonly rows: number;
  /** How many the monitor puts into one request. */
  readonly atATime: number;
  readonly parameters: Readonly<Record<string, unknown>>;
}

const GATHERED: ChannelSubject = { rows: 10_000, atATime: 1_000, parameters: {} };

/** Fewer, since a run gives up after a minute. */
const ONE_BY_ONE: ChannelSubject = {
  rows: 2_000,
  atATime: 1,
  parameters: { body: '{"text": "{{summary}}"}' },
};

async function benchChannel(
  { programs, folder, effort }: Workplace,
  { rows, atATime, parameters }: ChannelSubject,
): Promise<readonly Row[]> {
  await using server = await startServer();
  const [document, full, state] = [
    `${folder}/outbox.json`,
    `${folder}/full.sqlite`,
    `${folder}/outbox.sqlite`,
  ];
  const channel = { kind: "webhook", parameters: { target: server.address, ...parameters } };
  await makeOutbox(document, full, { rows, notifications: [channel] });
  const { commands } = programs.best;
  const bare = [...commands.bare, "rows", state, server.address, String(atATime)];
  const messages = rows / atATime;
  let answered = await server.count();
  const requireAll = async (): Promise<void> => {
    const now = await server.count();
    if (now - answered !== messages) throw new Error(`${now - answered} requests came, expected ${messages}`);
    answered = now;
  };
  const subject = (command: readonly string[]): Parameters<typeof measureRuns>[0][string] => ({
    command,
    prepare: async () => {
      answered = await server.count();
      for (const ending of ["", "-wal", "-shm"]) await removeIfThere(`${state}${ending}`);
      await Deno.copyFile(full, state);
    },
    judge: requireAll,
  });
  const costs = await measureRuns({
    bare: subject([...bare, "sent"]),
    keeping: subject([...bare, "kept"]),
    monitor: subject([...commands.monitor, "check", "--once", "--config", document, "--state", state]),
  }, { rounds: effort.rounds(ROUNDS), peakRounds: effort.rounds(PEAK_ROUNDS) });
  const rowName = `${rows.toLocaleString("en")} reports that wait, ${
    atATime.toLocaleString("en")
  } in a request`;
  return [
    ...compareRuns(rowName, costs.monitor, { name: "a program that posts them", cost: costs.bare }),
    ...compareRuns(`${rowName}, kept on disk`, costs.monitor, {
      name: "one that keeps how far it is",
      cost: costs.keeping,
    }),
  ];
}

async function makeOutbox(
  document: string,
  state: string,
  { rows, notifications }: Pick<ChannelSubject, "rows"> & Pick<DocumentSubject, "notifications">,
): Promise<void> {
  await Deno.writeTextFile(
    document,
    makeDocument({ check: TEST_CHECK, count: 1, intervalSeconds: 60, notifications: notifications ?? [] }),
  );
  const { checks } = await loadDocument({ path: document, named: true }, createSystem());
  const [channel] = checks[0]?.notifications ?? [];
  if (channel === undefined) throw new Error(`Cannot measure: "${document}" has no channel`);
  await removeIfThere(state);
  await keepRows(state, rowsFor(channel.key, rows));
}

function rowsFor(channelKey: string, count: number): readonly OutboxRow[] {
  const nowMs = Date.now();
  return checkNames(count).map((check, index) =>
    freshRow({
      id: crypto.randomUUID(),
      check,
      title: null,
      event: "problem",
      condition: "critical",
      previous: "ok",
      output: "connecting failed: connection refused",
      detail: "",
      problemBeganAtMs: nowMs - 120_000,
      decidedAtMs: nowMs,
      occurrences: 3,
      nextRunAtMs: nowMs + 60_000,
      hostName: "bench",
    }, { channelKey, channelName: "webhook", sequence: index + 1, nowMs })
  );
}

async function removeIfThere(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/**
 * The last runs of a check, packed, the last one first. A run takes eleven bytes: its end, in whole milliseconds (6),
 * its condition (1), its duration (4, a float).
 *
 * In a database each result writes the record of its check, so only the latest runs are in the record; as they become
 * many they move to a separate row. With all 50 in the record three times as much would be written.
 */
import { CONDITIONS } from "../domain/condition.ts";
import type { RecentRun, RollupEntry } from "../domain/store.ts";
import { UnreadableRowError } from "./codec.ts";
import { RECENT_RUNS_MAX } from "./retention.ts";

const RUN_BYTES = 11;
const HIGH = 2 ** 32;

/** How many bytes are kept of a check. */
export const RECENT_BYTES_MAX: number = RECENT_RUNS_MAX * RUN_BYTES;

/** From so many bytes on fresh runs move. */
export const FRESH_BYTES_MAX: number = 10 * RUN_BYTES;

/** Packs a run; `null`, for no run, takes no bytes. */
export function packRun(entry: RollupEntry | null): Uint8Array {
  if (entry === null || entry.condition === null) return new Uint8Array(0);
  const view = new DataView(new ArrayBuffer(RUN_BYTES));
  const endedAtMs = Math.floor(entry.atMs);
  view.setInt16(0, Math.floor(endedAtMs / HIGH));
  view.setUint32(2, endedAtMs - Math.floor(endedAtMs / HIGH) * HIGH);
  view.setUint8(6, CONDITIONS.indexOf(entry.condition));
  view.setFloat32(7, entry.durationMs);
  return new Uint8Array(view.buffer);
}

/**
 * Unpacks runs, the last one first.
 *
 * @throws {UnreadableRowError} If they are none.
 */
export function unpackRuns(runs: unknown): readonly RecentRun[] {
  if (!(runs instanceof Uint8Array) || runs.length % RUN_BYTES !== 0) {
    throw new UnreadableRowError('"recent" of a row is not a list of runs');
  }
  const view = new DataView(runs.buffer, runs.byteOffset, runs.length);
  return Array.from({ length: runs.length / RUN_BYTES }, (_, index) => unpackRun(view, index * RUN_BYTES));
}

function unpackRun(view: DataView, offset: number): RecentRun {
  const condition = CONDITIONS[view.getUint8(offset + 6)];
  if (condition === undefined) throw new UnreadableRowError('"recent" of a row names no condition');
  return {
    endedAtMs: view.getInt16(offset) * HIGH + view.getUint32(offset + 2),
    condition,
    // A float has seven digits; further ones are not part of the duration.
    durationMs: Math.round(view.getFloat32(offset + 7) * 1000) / 1000,
  };
}

import {
  type CheckRecord,
  type CheckUpdate,
  type Store,
  StoreError,
  type StoreFailure,
} from "../../src/domain/store.ts";
import { openInMemoryStore } from "../../src/state/sqlite/sqlite_store.ts";

/** A store in memory that fails on request, and records its calls. */
export interface FaultyStore extends Store {
  /** The error of every method but `close` from now on; `null`: none. */
  failure: StoreFailure | null;
  /** The number of calls of `prune` until it finishes. */
  pruneCalls: number;
  /** The records that another process wrote, for the next `save` to return. */
  readonly replaced: CheckRecord[];
  readonly saved: (readonly CheckUpdate[])[];
  /** How many updates each call of `save` brought, also those that failed. */
  readonly attempts: readonly number[];
  readonly pruned: number;
  /** Delays `save` from now on, until the returned function is called. */
  hold(): () => void;
}

export async function openFaultyStore(given?: Store): Promise<FaultyStore> {
  const inner = given ?? await openInMemoryStore();
  let held: Promise<void> = Promise.resolve();
  const attempts: number[] = [];
  let pruned = 0;
  const failOrGoOn = (): void => {
    if (store.failure !== null) throw new StoreError(`cannot use the state: ${store.failure}`, store.failure);
  };
  const store: FaultyStore = {
    ...mapMethods(inner, failOrGoOn),
    failure: null,
    pruneCalls: 1,
    replaced: [],
    saved: [],
    attempts,
    get pruned() {
      return pruned;
    },
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return resolve;
    },
    save: async (updates) => {
      await held;
      attempts.push(updates.length);
      failOrGoOn();
      await inner.save(updates);
      store.saved.push([...updates]);
      return store.replaced.splice(0);
    },
    prune: async (nowMs) => {
      pruned++;
      failOrGoOn();
      const { forgotten } = await inner.prune(nowMs);
      return { finished: pruned % store.pruneCalls === 0, forgotten };
    },
  };
  return store;
}

/** Returns methods that fail when `failOrGoOn` does, all but `close`. */
function mapMethods(inner: Store, failOrGoOn: () => void): Store {
  const methods = Object.entries(inner).map(([name, method]) => [
    name,
    name === "close" ? method : async (...given: unknown[]) => {
      failOrGoOn();
      return await method(...given);
    },
  ]);
  return Object.fromEntries(methods);
}

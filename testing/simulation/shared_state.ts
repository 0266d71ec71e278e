/** The database of a world that its machines share, and the way of each machine to it. */
import {
  connectToMemory,
  createMemoryServer,
  type Exchange,
  type MemoryServer,
} from "./memory_shared_store.ts";
import { Random } from "./random.ts";
import type { World } from "./world.ts";

/**
 * - `fine`: it takes some milliseconds.
 * - `slow`: each way takes up to so long.
 * - `cut`: connections break, and are refused.
 * - `black_hole`: nothing arrives, and nobody says so.
 * - `loses`: of so many requests or replies, each in turn, the connection breaks.
 */
export type Way =
  | { readonly kind: "fine" | "cut" | "black_hole" }
  | { readonly kind: "slow"; readonly ms: number }
  | { readonly kind: "loses"; readonly share: number };

/** What a config names as its state. */
export const SHARED_STATE = {
  postgres: { hosts: ["/run/postgresql"], database: "postgres", user: "monitor" },
} as const;

export class SharedDatabase {
  readonly server: MemoryServer;
  /** By the name of the machine. @default fine */
  readonly ways = new Map<string, Way>();
  readonly #random: Random;

  private constructor(server: MemoryServer, seed: number) {
    this.server = server;
    this.#random = new Random(seed, "shared database");
  }

  /** Adds it to a world. */
  static async add(world: World): Promise<SharedDatabase> {
    const { timeline } = world;
    const server = await createMemoryServer({
      wallMs: () => world.nowMs,
      monotonicMs: () => timeline.nowMs,
      after: (delayMs, callback) => timeline.after(delayMs, callback),
    });
    const shared = new SharedDatabase(server, world.seed);
    world.openShared = (program, _place, { clock, ...options }) => {
      const random = new Random(world.seed, `versions ${program.machine.name} ${program.id}`);
      return connectToMemory({
        server,
        clock,
        random: () => random.next(),
        exchange: () => {
          program.step("before a statement");
          return shared.#exchange(program.machine.name);
        },
        receive: (delayMs, callback) =>
          timeline.after(delayMs, () =>
            program.quietly(() => {
              program.step("reply of the database");
              callback();
            }), program),
      }, options);
    };
    return shared;
  }

  #exchange(machine: string): Exchange {
    const random = this.#random;
    const way = this.ways.get(machine) ?? { kind: "fine" };
    const slowMs = way.kind === "slow" ? way.ms : 0;
    const times = {
      requestMs: random.between(0, 3) + slowMs * random.next(),
      replyMs: random.between(0, 3) + slowMs * random.next(),
    };
    if (way.kind === "cut") return { ...times, lost: "request" };
    if (way.kind === "black_hole") return { ...times, lost: "request", isSilent: true };
    if (way.kind === "loses" && random.chance(way.share)) {
      return { ...times, lost: random.pick(["request", "reply"]), isSilent: random.chance(0.3) };
    }
    return times;
  }
}

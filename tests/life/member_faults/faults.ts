/** The faults. Each ends with everything as it was before. */
import assert from "node:assert/strict";
import type { Random } from "../../../testing/random.ts";
import { SCHEMA } from "./database_server.ts";
import type { FaultyInstallation } from "./installation.ts";
import type { FaultyMember } from "./members.ts";
import type { FaultTime } from "./model.ts";

export interface FaultContext extends FaultyInstallation {
  readonly random: Random;
  /** The affected member. */
  readonly member: FaultyMember;
  /** Whether there is time for long faults. */
  readonly isLong: boolean;
}

/** A kind of fault. */
export interface FaultKind {
  readonly name: string;
  readonly affects: FaultTime["affects"];
  /** Returns whether it can affect that member. @default any */
  fits?(member: FaultyMember): boolean;
  run(context: FaultContext): Promise<void>;
}

/** All of them. */
export const FAULTS: readonly FaultKind[] = [
  {
    name: "member killed",
    affects: "member",
    async run({ member, random }) {
      await member.kill();
      await pause(random.below(8_000));
      member.start();
    },
  },
  {
    name: "member leaves",
    affects: "member",
    async run({ member, random }) {
      await member.leave();
      await pause(random.below(3_000));
      member.start();
    },
  },
  {
    name: "member replaced",
    affects: "member",
    run: ({ member }) => member.replace(),
  },
  {
    name: "member stopped",
    affects: "member",
    async run({ member, random, isLong }) {
      member.signal("SIGSTOP");
      await pause(10_000 + random.below(isLong ? 10_000 : 1_000));
      member.signal("SIGCONT");
    },
  },
  {
    name: "network cut",
    affects: "member",
    async run({ member, random }) {
      member.network({ kind: "cut" });
      await pause(1_000 + random.below(9_000));
      member.network({ kind: "fine" });
    },
  },
  {
    name: "network black hole",
    affects: "member",
    async run({ member, random, isLong }) {
      member.network({ kind: "black_hole" });
      await pause(3_000 + random.below(isLong ? 17_000 : 5_000));
      member.network({ kind: "fine" });
    },
  },
  {
    name: "network slow",
    affects: "member",
    async run({ member, random }) {
      member.network({ kind: "slow", delayMs: 50 + random.below(700) });
      await pause(4_000 + random.below(6_000));
      member.network({ kind: "fine" });
    },
  },
  {
    name: "replies lost",
    affects: "database",
    async run({ members, random }) {
      const share = 0.05 + random.below(0.4);
      for (const one of members) {
        one.network({ kind: "loses_replies", isLost: () => random.next() < share });
      }
      await pause(4_000 + random.below(6_000));
      for (const one of members) one.network({ kind: "fine" });
    },
  },
  {
    name: "database killed",
    affects: "database",
    async run({ database: { primary }, random }) {
      await primary.kill();
      await pause(random.below(6_000));
      await primary.start();
    },
  },
  {
    name: "database stalls",
    affects: "database",
    async run({ database: { primary }, random, isLong }) {
      primary.pause();
      await pause(1_000 + random.below(isLong ? 20_000 : 6_000));
      primary.resume();
    },
  },
  {
    name: "database restarted",
    affects: "database",
    async run({ database: { primary } }) {
      await primary.stop();
      await primary.start();
    },
  },
  {
    name: "failover",
    affects: "database",
    async run({ database, random }) {
      const [old, next] = [database.primary, database.standby];
      await old.kill();
      await pause(random.below(3_000));
      await next.promote();
      database.primary = next;
    },
  },
  {
    name: "pooler killed",
    affects: "member",
    fits: (member) => member.isPooled,
    async run({ pooler, random }) {
      await pooler.kill();
      await pause(random.below(4_000));
      await pooler.start();
    },
  },
  {
    name: "clock of member set",
    affects: "member",
    fits: ({ clock }) => clock !== null,
    async run({ member: { clock }, random }) {
      clock?.move(random.pick([-3_600, -120, -5, 5, 120, 3_600]));
      await pause(3_000 + random.below(4_000));
    },
  },
  {
    name: "clock of database set",
    affects: "nothing",
    async run({ database: { primary }, random }) {
      primary.clock.move(random.pick([-3_600, -120, -5, 5, 120, 3_600]));
      await pause(3_000 + random.below(4_000));
    },
  },
  {
    name: "other config",
    affects: "member",
    async run({ member, config, random }) {
      member.configure({ version: -1 });
      await member.reload();
      await pause(3_000 + random.below(4_000));
      member.configure(config);
      await member.reload();
    },
  },
  {
    name: "roll-out",
    affects: "member",
    async run({ members, config, random }) {
      config.version++;
      for (const one of members) {
        one.configure(config);
        await one.reload();
        await pause(random.below(3_000));
      }
    },
  },
  {
    name: "other schema",
    affects: "member",
    async run({ member, database: { primary } }) {
      await member.leave();
      await primary.query(`UPDATE ${SCHEMA}.meta SET schema_version = schema_version + 1`);
      member.start();
      const { code, stderr } = await member.end();
      await primary.query(`UPDATE ${SCHEMA}.meta SET schema_version = schema_version - 1`);
      assert.equal(code, 74, stderr);
      assert.match(stderr, /newer/);
      member.start();
    },
  },
];

/** Makes the server that failed follow the other one, if one did. */
export async function healDatabase({ database: { primary, standby } }: FaultyInstallation): Promise<void> {
  if (standby.isRunning) return;
  await standby.follow(primary);
  await primary.replicate();
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

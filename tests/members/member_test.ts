import assert from "node:assert/strict";
import type { MemberParts, MemberWork } from "../../src/members/member_parts.ts";
import { CheckShare } from "../../src/members/check_share.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import { recordOf } from "../state/records.ts";
import { testCheck } from "../support/checks.ts";

const NAMES = Array.from({ length: 20 }, (_, index) => `check ${index}`);
const WORK: MemberWork = {
  configHash: "config",
  checks: NAMES.map((name) => testCheck("ok", { name })),
  channelKeys: ["console"],
  showsAll: false,
};
/** Nothing else of a process. */
const PARTS: MemberParts = {
  repository: {
    flush: () => Promise.resolve(),
    recordOf: (name) => recordOf(name),
    adopt: () => {},
    leaveOthers: () => {},
  },
  sender: {
    know: () => Promise.resolve(),
    forget: () => {},
    take: () => {},
    receive: () => {},
    release: () => Promise.resolve(),
    silence: () => {},
    failOpen: () => {},
    failClosed: () => Promise.resolve(true),
    attemptTimeoutMs: () => 10_000,
  },
  scheduler: null,
  located: null,
};

Deno.test("CheckShare: a check that was placed elsewhere while its record was read does not run here", async () => {
  const share = new CheckShare({
    host: "one",
    work: WORK,
    clock: createFakeClock(),
    store: {
      load: () => {
        share.hosts = ["one", "two"];
        return Promise.resolve([]);
      },
      readOthers: () => Promise.resolve([]),
      known: () => Promise.resolve([]),
    },
  });
  share.hosts = ["one"];
  await share.follow(PARTS);
  const here = NAMES.filter((name) => share.runs(name));
  assert.ok(here.length > 0 && here.length < NAMES.length, `${here.length} run here`);
});

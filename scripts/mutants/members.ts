import type { FaultyLayer } from "./fault.ts";

export const MEMBERS: FaultyLayer = {
  layer: "members",
  tests: [
    "tests/members",
    "tests/simulation",
    "tests/life/members_test.ts",
  ],
  files: [
    {
      file: "src/members/rendezvous.ts",
      faults: [
        [
          "a check runs on another member than its dependency",
          "parent === undefined ? check.name : placeOf(parent)",
          "parent === undefined ? check.name : parent.name",
        ],
        [
          "the last dependency decides where a check runs",
          "dependencyNames(check)[0]",
          "dependencyNames(check).at(-1)",
        ],
        [
          "a member that leaves moves the checks of others",
          "mix32(nameHash ^ (hashes[index] ?? 0))",
          "mix32(nameHash ^ hashes.length ^ index)",
        ],
      ],
    },
    {
      file: "src/members/observer.ts",
      faults: [
        [
          "a dead member lives again without a heartbeat",
          "known.isLive && unmovedMs < DEAD_AFTER_MS",
          "unmovedMs < DEAD_AFTER_MS",
        ],
        [
          "a member declares others dead after a failure of its own",
          'lastSentMs === null || before.status === "uncertain" ||',
          "lastSentMs === null ||",
        ],
        [
          "a member declares others dead after a stall of its own",
          "sentAtMs - lastSentMs > STALL_MS;",
          "sentAtMs - lastSentMs > 99 * STALL_MS;",
        ],
        [
          "a new member runs checks with its first heartbeat",
          'status: lastSentMs === null ? "joining" : "member"',
          'status: "member"',
        ],
        [
          "a restarted member counts as dead",
          "known.heartbeat.id !== heartbeat.id;",
          'known.heartbeat.id === "";',
        ],
      ],
    },
    {
      file: "src/members/queue_share.ts",
      faults: [
        [
          "the queue of a live owner is claimed",
          "(row.owner === null || !liveIds.has(row.owner))",
          "(row.owner === null || liveIds.size > 0)",
        ],
        [
          "a member sends although its wall clock jumped back",
          "Math.abs(wallMs) < DEAD_AFTER_MS",
          "wallMs < DEAD_AFTER_MS",
        ],
        [
          "a suspended member sends",
          "< DEAD_AFTER_MS && Math.abs(wallMs)",
          "< DEAD_AFTER_MS || Math.abs(wallMs)",
        ],
        [
          "a queue is kept that belongs to another member",
          "isOwn(row) && !wanted.has(row.channelKey)),",
          "isOwn(row) && !wanted.has(row.channelKey) && hosts.length === 0),",
        ],
      ],
    },
    {
      file: "src/members/observer.ts",
      faults: [
        [
          "a tie of configs changes the active one",
          "return believed[0] ?? first;",
          "return first;",
        ],
        ["the config of a minority becomes active", "length === most", "length <= most"],
        [
          "members with two configs consider different ones active",
          "return believed[0] ?? first;",
          "return believed.at(-1) ?? first;",
        ],
      ],
    },
    {
      file: "src/members/location_share.ts",
      faults: [
        [
          "a request of another member is followed again and again",
          "sequence > (before.get(id) ?? 0)",
          "sequence >= (before.get(id) ?? 0)",
        ],
        ["a request is published for ever", "untilMs > nowMs);", "untilMs > 0);"],
      ],
    },
    {
      file: "src/members/location_share.ts",
      faults: [
        [
          "members of other locations share the checks of a location",
          "members.filter(({ location }) => location === this.name)",
          "members.filter(({ location }) => location !== null)",
        ],
      ],
    },
    {
      file: "src/members/queue_share.ts",
      tests: ["tests/members/queue_ownership_test.ts"],
      faults: [
        [
          "the message of a dead owner is sent again at once",
          "const waitMs = isDead && taken.isSending ?",
          "const waitMs = isDead && !taken.isSending ?",
        ],
        [
          "a queue that was claimed by another is kept",
          "(!store.owns(channelKey) || token > held.row.token && owner !== id)",
          "(token > held.row.token && owner === id)",
        ],
      ],
    },
    {
      file: "src/members/member.ts",
      faults: [
        [
          "a member that loses the database runs the checks of all",
          "if (this.#hasFollowed || this.#isWithdrawn) return;",
          "if (this.#isWithdrawn) return;",
        ],
        [
          "a member claims a queue whose token it lost",
          "this.#options.store.owns(channelKey) &&",
          'channelKey !== "" &&',
        ],
        [
          "a member sends without the database at once",
          ">= failOpenAfterMs;",
          ">= 0 * failOpenAfterMs;",
        ],
      ],
    },
    {
      file: "src/members/check_share.ts",
      faults: [
        [
          "a check runs on two members while another one joins",
          "this.#runs = here === mine ? mine : mine.intersection(here);",
          "this.#runs = here === mine ? mine : mine.union(here);",
        ],
      ],
    },
    {
      file: "src/members/shared_sender.ts",
      tests: ["tests/simulation/common_causes_test.ts"],
      faults: [
        [
          "a member decides about causes without the last results of others",
          "if (checks.length > 0) await this.#member.readRelated({ checks });",
          "if (checks.length < 0) await this.#member.readRelated({ checks });",
        ],
      ],
    },
    {
      file: "src/scheduler/scheduler.ts",
      tests: ["tests/simulation/common_causes_test.ts"],
      faults: [
        [
          "no check of another member runs early for a common cause",
          "of names.filter(isMeant)) this.request(name);",
          "of names.filter(isMeant)) this.runNow(name);",
        ],
      ],
    },
  ],
};

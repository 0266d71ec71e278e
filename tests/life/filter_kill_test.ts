/**
 * A service is killed with SIGKILL at each step of a problem (result, decision, storing, sending, recording) with
 * channels that filter. Each channel gets the notifications that pass its filters, in order, and duplicates under one
 * id only.
 *
 * `FILTER_KILLS=all deno test -A tests/life/filter_kill_test.ts` kills at every step of every notification.
 */
import assert from "node:assert/strict";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { until } from "./in_time.ts";
import { type Harness, type Program, withHarness } from "./program.ts";
import type { PostedNotification } from "./receivers.ts";

/** By the name of the channel. */
const FILTERS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  all: {},
  critical: { conditions: ["critical"] },
  // Longer than the time from a result to its notification.
  late: { after: "4 seconds" },
  changes: { events: ["change", "recovery"] },
};

/** The conditions of `web`, and the notifications of each: `channel event condition`. */
const STORY: readonly (readonly [condition: string, arrivals: readonly string[]])[] = [
  ["critical", ["all problem critical", "critical problem critical", "late problem critical"]],
  ["warning", [
    "all change warning",
    "critical recovery warning",
    "late change warning",
    "changes change warning",
  ]],
  ["ok", ["all recovery ok", "late recovery ok", "changes recovery ok"]],
];

/** An acknowledged problem escalates to no one. */
const ACKNOWLEDGED = ["all problem critical", "critical problem critical"];
const RECOVERED = ["all recovery ok", "changes recovery ok", "critical recovery ok"];

/** When it is killed. */
type Moment =
  /** The check has run, and its result was not read. */
  | "shown"
  /** The result was printed. */
  | "decided"
  /** The notification was stored; it is sent within two seconds. */
  | "stored"
  /** The receiver has it, and has not responded. */
  | "arrived"
  /** The response was sent. */
  | "answered"
  /** The next result was printed, so the delivery was recorded. */
  | "recorded";

/** A moment, and of which arrival: the condition alone matters before the notification was sent. */
type Kill = readonly [moment: Moment, arrival: string];

const SENDING: readonly Moment[] = ["arrived", "answered", "recorded"];
const ARRIVALS = STORY.flatMap(([, arrivals]) => arrivals);
const BEFORE: readonly Kill[] = STORY.flatMap(([, [arrival = ""]]) =>
  (["shown", "decided", "stored"] as const).map((moment): Kill => [moment, arrival])
);
const KILLS: readonly Kill[] = Deno.env.get("FILTER_KILLS") === "all"
  ? [...BEFORE, ...ARRIVALS.flatMap((arrival) => SENDING.map((moment): Kill => [moment, arrival]))]
  : [
    ["shown", "all problem critical"],
    ["decided", "all problem critical"],
    ["stored", "all problem critical"],
    ["arrived", "critical problem critical"],
    ["stored", "late problem critical"],
    ["arrived", "late problem critical"],
    ["answered", "late problem critical"],
    ["recorded", "late problem critical"],
    ["decided", "critical recovery warning"],
    ["arrived", "critical recovery warning"],
    ["stored", "all recovery ok"],
    ["answered", "late recovery ok"],
  ];

const test = concurrentTests("monitor check: kills with filters");

for (const kill of KILLS) {
  test(`${kill[0]}: ${kill[1]}`, () => withHarness((harness) => assertNothingLost(harness, kill)));
}

async function assertNothingLost(harness: Harness, kill: Kill): Promise<void> {
  const { directory } = harness;
  await using receiver = startReceiver();
  writeStory(harness, receiver.port);
  const turn = (check: string, condition: string): Promise<void> =>
    Deno.writeTextFile(`${directory}/${check}.new`, condition)
      .then(() => Deno.rename(`${directory}/${check}.new`, `${directory}/${check}`));
  await turn("web", "ok");
  await turn("acknowledged", "critical");
  assert.equal((await harness.run(["check", "--once"])).code, 2);
  assert.equal((await harness.run(["acknowledge", "acknowledged"])).code, 0);

  const service = startService(harness, receiver, kill);
  for (const [condition, arrivals] of STORY) {
    await turn("web", condition);
    if (kill[0] === "shown" && arrivals.includes(kill[1])) await Deno.writeTextFile(`${directory}/kill`, "");
    await until(arrivals.join(", "), () => arrivals.every((arrival) => receiver.has("web", arrival)));
  }
  await turn("acknowledged", "ok");
  await until(
    RECOVERED.join(", "),
    () => RECOVERED.every((arrival) => receiver.has("acknowledged", arrival)),
  );
  assert.equal(await service.stop(), 1, "it was killed once");

  const expected = (check: string, arrivals: readonly string[]) =>
    Object.keys(FILTERS).map((channel) => [
      `${check} ${channel}`,
      arrivals.filter((arrival) => arrival.startsWith(`${channel} `)),
    ]);
  assert.deepEqual(
    receiver.sent(),
    Object.fromEntries([
      ...expected("acknowledged", [...ACKNOWLEDGED, ...RECOVERED]),
      ...expected("web", ARRIVALS),
    ]),
  );
}

function writeStory(harness: Harness, port: number): void {
  harness.writeScript(
    "show",
    'condition=$(cat "$1")\n[ "$1" = web ] && rm kill 2>/dev/null && kill -9 "$PPID"\n' +
      "case $condition in ok) exit 0 ;; warning) exit 1 ;; *) exit 2 ;; esac",
  );
  const channels = Object.entries(FILTERS).map(([name, filters]) => [name, {
    kind: "webhook",
    parameters: { target: `http://127.0.0.1:${port}/${name}` },
    ...filters,
  }]);
  const checks = ["web", "acknowledged"].map((name) => [
    name,
    { kind: "script", parameters: { path: "./show", arguments: [name] } },
  ]);
  harness.writeConfig(Object.fromEntries(checks), {
    defaults: {
      threshold: 1,
      schedule: { regular_interval: 1 },
      notifications: Object.keys(FILTERS),
    },
    channels: Object.fromEntries(channels),
    state: "kept.sqlite",
  });
}

interface Receiver extends AsyncDisposable {
  readonly port: number;
  /** Called before and after the response to a request. */
  onArrival(arrivals: readonly string[]): Promise<void>;
  onAnswer(arrivals: readonly string[]): void;
  has(check: string, arrival: string): boolean;
  /** The received notifications by check and channel, duplicates once. */
  sent(): Readonly<Record<string, readonly string[]>>;
}

function startReceiver(): Receiver {
  const arrived = new Map<string, { readonly check: string; readonly arrival: string }>();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request, { completed }) => {
      const channel = new URL(request.url).pathname.slice(1);
      const { notifications } = await request.json() as {
        readonly notifications: readonly PostedNotification[];
      };
      const arrivals = notifications.map(({ id, check, event, condition, missed_problem }) => {
        assert.equal(missed_problem, null);
        const arrival = `${channel} ${event} ${condition}`;
        const known = arrived.get(`${channel} ${id}`);
        assert.deepEqual(known ?? { check, arrival }, { check, arrival }, "a duplicate is the same");
        arrived.set(`${channel} ${id}`, { check, arrival });
        return `${check} ${arrival}`;
      });
      await receiver.onArrival(arrivals);
      completed.then(() => receiver.onAnswer(arrivals)).catch(() => {
        // The process that was waiting for the response was killed.
      });
      return new Response();
    },
  );
  const receiver: Receiver = {
    port: server.addr.port,
    onArrival: () => Promise.resolve(),
    onAnswer: () => {},
    has: (check, arrival) =>
      [...arrived.values()].some((one) => one.check === check && one.arrival === arrival),
    sent: () => {
      const sent: Record<string, string[]> = {};
      for (const check of ["acknowledged", "web"]) {
        for (const channel of Object.keys(FILTERS)) sent[`${check} ${channel}`] = [];
      }
      for (const { check, arrival } of arrived.values()) {
        sent[`${check} ${arrival.split(" ")[0]}`]?.push(arrival);
      }
      return sent;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
  return receiver;
}

/** Runs a service, kills it at one moment, and starts another one. */
function startService(
  harness: Harness,
  receiver: Receiver,
  [moment, arrival]: Kill,
): { stop(): Promise<number> } {
  const [channel, event, condition] = arrival.split(" ");
  let kills = 0;
  let isStopping = false;
  let hasAnswered = false;
  const start = (): Program => harness.start(["check", "--format", "ndjson"], { limitMs: 90_000 });
  let program = start();
  const kill = (): void => {
    if (kills > 0 || isStopping) return;
    kills++;
    program.signal("SIGKILL");
  };
  const isMeant = (arrivals: readonly string[]): boolean =>
    kills === 0 && arrivals.includes(`web ${arrival}`);
  receiver.onArrival = async (arrivals) => {
    if (moment !== "arrived" || !isMeant(arrivals)) return;
    const killed = program;
    kill();
    await killed.ended;
  };
  receiver.onAnswer = (arrivals) => {
    if (!isMeant(arrivals)) return;
    hasAnswered = true;
    if (moment === "answered") kill();
  };
  const follow = async (): Promise<void> => {
    for (;;) {
      const line = await program.stdout.next(/^\{"event":"(?:result|notification)"/);
      const said = JSON.parse(line);
      const isResult = said.event === "result" && said.name === "web";
      if (moment === "decided" && isResult && said.condition === condition) kill();
      if (moment === "recorded" && isResult && hasAnswered) kill();
      const { check, ...notification } = said.notification ?? {};
      const isDue = check === "web" && notification.event === event && notification.condition === condition;
      // The same event at an escalation is a separate one.
      const isNext = channel !== "late" || receiver.has("web", `all ${event} ${condition}`);
      if (moment === "stored" && isDue && isNext) kill();
    }
  };
  const life = (async () => {
    while (!isStopping) {
      // It ends with the output of the process.
      await follow().catch(() => {});
      const { code } = await program.ended;
      if (isStopping) return assert.equal(code, 0);
      assert.equal(code, 137);
      if (moment === "shown") kills++;
      program = start();
    }
  })();
  return {
    stop: async () => {
      isStopping = true;
      program.signal("SIGTERM");
      await life;
      return kills;
    },
  };
}

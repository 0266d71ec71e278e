/** In the middle of what a monitor is stopped, and what its peers do meanwhile. */
import type { Program } from "../program.ts";
import type { Channels, Interruption } from "./channels.ts";
import type { Fate } from "./targets.ts";
import { SCRIPTS, type World } from "./world.ts";

/** A monitor that is about to be stopped. */
export interface Subject {
  readonly world: World;
  readonly channels: Channels;
  readonly program: Program;
  /** Stops it at once: it does nothing more when this comes back. */
  stop(): void;
  /** Resolves when a peer gives up on it: long before it goes on. */
  readonly peersGiveUp: Promise<void>;
}

/** What a scene is made of. */
export interface Scene {
  readonly name: string;
  /** Whether the channels speak TLS. */
  readonly hasTls: boolean;
  /** Whether it is a monitor that watches, or a call with `--once`. */
  readonly kind: "watch" | "once";
  /** Whether it is asked to end before it goes on. */
  readonly ends: boolean;
  /** What else changes, beside what does in every scene: the conditions that a check confirms on, in order. */
  readonly changes: Readonly<Record<string, readonly string[]>>;
  /** What its log has to say. */
  readonly says: RegExp | null;
  /** Comes back when the monitor is stopped. */
  interrupt(subject: Subject): Promise<void>;
  /** What happens to a monitor that is stopped. */
  meanwhile?(subject: Subject): void;
}

/** The status with which the check `trigger` fails when something is to be told. */
export const TRIGGER_STATUS = 503;

/** All of them. */
export const SCENES: readonly Scene[] = [
  ...[false, true].flatMap((hasTls) => {
    const over = hasTls ? " over TLS" : "";
    return [
      channelScene(`a mail${over}, after DATA`, { hasTls, plan: { at: "DATA" } }),
      channelScene(`a mail${over}, after the final dot, answered meanwhile`, {
        hasTls,
        plan: { at: "final dot", fate: "answered" },
      }),
      channelScene(`a mail${over}, taken and never answered`, {
        hasTls,
        plan: { at: "final dot", fate: "sent away" },
      }),
      channelScene(`a post${over}, answered meanwhile`, {
        hasTls,
        plan: { at: "post", isTaken: true, fate: "answered" },
      }),
      channelScene(`a post${over}, taken and never answered`, {
        hasTls,
        plan: { at: "post", isTaken: true, fate: "sent away" },
      }),
    ];
  }),
  channelScene("a post, lost with its connection", {
    hasTls: false,
    plan: { at: "post", isTaken: false, fate: "sent away" },
  }),
  {
    ...channelScene("a mail, asked to end meanwhile", {
      hasTls: false,
      plan: { at: "final dot", fate: "sent away" },
    }),
    ends: true,
    meanwhile: ({ program }) => program.signal("SIGTERM"),
  },
  {
    ...channelScene("a mail, while it ends", { hasTls: false, plan: { at: "final dot", fate: "answered" } }),
    ends: true,
    interrupt: (subject) =>
      interruptMessage(subject, { at: "final dot", fate: "answered" }, async () => {
        await subject.program.stdout.event("notification", ({ notification }) => tellsTrigger(notification));
        subject.program.signal("SIGTERM");
      }),
  },
  {
    ...channelScene("a call with --once, in a mail", {
      hasTls: false,
      plan: { at: "final dot", fate: "sent away" },
    }),
    kind: "once",
  },
  {
    name: "runs under way",
    hasTls: false,
    kind: "watch",
    ends: false,
    changes: { hangs: ["unknown", "ok"], fails: ["critical", "ok"] },
    says: /monitor itself stood still: the result of "\S+" is not used, it is run again/,
    interrupt: interruptRuns,
    meanwhile: ({ world }) => {
      world.endScript("ends", 0);
      world.endScript("fails", 2);
    },
  },
];

type MessagePlan =
  | { readonly at: "DATA" }
  | { readonly at: "final dot"; readonly fate: Fate }
  | { readonly at: "post"; readonly isTaken: boolean; readonly fate: Fate };

function channelScene(
  name: string,
  { hasTls, plan }: { readonly hasTls: boolean; readonly plan: MessagePlan },
): Scene {
  return {
    name,
    hasTls,
    kind: "watch",
    ends: false,
    changes: { trigger: ["critical", "ok"] },
    says: null,
    interrupt: (subject) => interruptMessage(subject, plan),
  };
}

/** Lets a problem begin, and stops the monitor in the middle of telling it. */
async function interruptMessage(
  subject: Subject,
  plan: MessagePlan,
  hurry: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  const stop = (): void => {
    subject.stop();
    resolve();
  };
  subject.channels.interruption = interruptionOf(plan, subject, stop);
  subject.world.targets.trigger.status = TRIGGER_STATUS;
  await hurry();
  await stopped;
}

function interruptionOf(plan: MessagePlan, { peersGiveUp }: Subject, stop: () => void): Interruption {
  if (plan.at === "DATA") return { at: plan.at, now: stop };
  return {
    ...plan,
    now: async () => {
      stop();
      if (plan.fate === "sent away") await peersGiveUp;
      return plan.fate;
    },
  };
}

/** Stops it while requests, handshakes, a greeting and programs are under way; the one that hangs began last. */
async function interruptRuns({ world, stop, peersGiveUp }: Subject): Promise<void> {
  const { plain, trigger, secret, greets, heartbeat } = world.targets;
  const stopped = Promise.withResolvers<Fate>();
  const dropped = peersGiveUp.then((): Fate => "sent away");
  await Promise.all([
    plain.hold(stopped.promise),
    trigger.hold(dropped),
    // One for the request, one for the certificate.
    secret.hold(dropped),
    secret.hold(dropped),
    greets.hold(stopped.promise),
    heartbeat.hold(dropped),
    ...SCRIPTS.filter((name) => name === "ends" || name === "fails").map(world.holdScript),
  ]);
  await world.holdScript("hangs");
  stop();
  stopped.resolve("answered");
}

function tellsTrigger(notification: unknown): boolean {
  const { check, output } = notification as { readonly check: string; readonly output: string };
  return check === "trigger" && output.includes(String(TRIGGER_STATUS));
}

/** Whether each change that was kept was told once, and nothing else. */
import { assertAllTold, expanded, withoutTwins } from "../../../tests/life/told.ts";

import { type Judgement, some } from "./judgement.ts";
import type { ArrivedNotification, Deliveries, Presence, SoakRecord } from "./record.ts";

/** Judges what arrived. */
export function judgeNotifications({ deliveries, presences }: SoakRecord): readonly Judgement[] {
  return [
    judgePosts(deliveries, presences),
    judgeSilenced(deliveries, presences),
    judgeMails(deliveries, presences),
    {
      what: "nothing waits for a channel any more",
      holds: deliveries.leftInOutbox === 0,
      found: String(deliveries.leftInOutbox),
    },
  ];
}

function judgePosts(deliveries: Deliveries, presences: readonly Presence[]): Judgement {
  const what = "each change that is kept was posted once but for twins, and nothing else";
  const told = notificationsByCheck(deliveries);
  if (told instanceof Error) return { what, holds: false, found: told.message };
  const names = new Set([...told.keys(), ...deliveries.changes.keys()]);
  for (const { facts } of presences) if (facts.isSilenced) names.delete(facts.name);
  let count = 0;
  const wrong: string[] = [];
  for (const name of names) {
    const changes = deliveries.changes.get(name) ?? [];
    count += changes.length;
    const notifications = told.get(name) ?? [];
    if (!holds(() => assertAllTold(notifications, changes))) {
      wrong.push(`"${name}" ${notifications.flatMap(expanded).length} told of ${changes.length}`);
    }
  }
  const ids = new Set(deliveries.posts.map(({ key }) => key)).size;
  return {
    what,
    holds: wrong.length === 0 && count > 0,
    found: `${count} changes of ${names.size} checks in ${ids} posts, ${deliveries.posts.length - ids} twins${
      wrong.length === 0 ? "" : `; ${some(wrong)}`
    }`,
  };
}

/**
 * What a silence has held back may never be told; what is told must lead from one to the next, to where the check is.
 * What was held back when a check left the config stays untold.
 */
function judgeSilenced(deliveries: Deliveries, presences: readonly Presence[]): Judgement {
  const what = "checks that were silenced at times were told without a gap, up to what holds at the end";
  const told = notificationsByCheck(deliveries);
  if (told instanceof Error) return { what, holds: false, found: told.message };
  let notifications = 0;
  let changes = 0;
  const wrong: string[] = [];
  const endOf = ({ spans }: Presence): number => spans.at(-1)?.untilMs ?? -Infinity;
  const endMs = presences.reduce((ms, presence) => Math.max(ms, endOf(presence)), -Infinity);
  for (const presence of presences) {
    const { name, isSilenced } = presence.facts;
    if (!isSilenced) continue;
    const chain = (told.get(name) ?? []).flatMap(expanded).toSorted((one, other) =>
      Date.parse(one.decided_at) - Date.parse(other.decided_at)
    );
    const kept = deliveries.changes.get(name) ?? [];
    notifications += chain.length;
    changes += kept.length;
    const last = endOf(presence) < endMs ? undefined : kept.at(-1)?.to ?? "ok";
    if (!isChain(chain, last)) wrong.push(`"${name}" ${chain.map(({ condition }) => condition).join(" ")}`);
  }
  return {
    what,
    holds: wrong.length === 0 && notifications > 0 && notifications < changes,
    found: `${notifications} notifications of ${changes} changes${
      wrong.length === 0 ? "" : `; ${some(wrong)}`
    }`,
  };
}

/**
 * Whether each report goes on from the one before, and the last leads to a condition, where one is given. Changes of a
 * problem that were pending are merged, so one may come from another condition than was told.
 */
function isChain(chain: readonly ArrivedNotification[], last?: string): boolean {
  let now = "ok";
  for (const { previous, condition } of chain) {
    if ((previous === "ok") !== (now === "ok") || condition === previous) return false;
    now = condition;
  }
  return last === undefined || now === last;
}

function judgeMails(deliveries: Deliveries, presences: readonly Presence[]): Judgement {
  const counts = new Map<string, number>();
  for (const lines of deliveries.mails) {
    for (const line of lines) {
      // What a reminder tells is no change; a problem that was over before it could be told is two.
      const [, name, missed] = /^(?:OK|UNKNOWN|WARNING|CRITICAL): (.+?)( \(was .+ UTC\))?$/.exec(line) ?? [];
      if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + (missed === undefined ? 1 : 2));
    }
  }
  const mailed = presences.filter(({ facts }) => facts.isMailed && !facts.isSilenced);
  const wrong = mailed.flatMap(({ facts: { name } }) => {
    const changes = deliveries.changes.get(name) ?? [];
    // What a problem came to that was over before it could be told is not told.
    const between = changes.filter(({ from, to }) => from !== "ok" && to !== "ok").length;
    const kept = changes.length;
    const told = counts.get(name) ?? 0;
    return told <= kept && told >= kept - between ? [] : [`"${name}" ${told} told of ${kept}`];
  });
  const changes = mailed.reduce(
    (sum, { facts }) => sum + (deliveries.changes.get(facts.name)?.length ?? 0),
    0,
  );
  return {
    what: "each change of a check with a mail channel was mailed once but for twins, and twins tell the same",
    holds: wrong.length === 0 && deliveries.differingMails === 0 && changes > 0,
    found: `${changes} changes in ${deliveries.mails.length} mails, ${deliveries.mailTwins} twins, ` +
      `${deliveries.differingMails} that differ${wrong.length === 0 ? "" : `; ${some(wrong)}`}`,
  };
}

/** Reminders left out; an error where twins differ. */
function notificationsByCheck(
  { posts }: Deliveries,
): ReadonlyMap<string, readonly ArrivedNotification[]> | Error {
  try {
    const told = new Map<string, ArrivedNotification[]>();
    for (const report of withoutTwins(posts).flatMap(({ notifications }) => notifications)) {
      if (report.event === "reminder") continue;
      const notifications = told.get(report.check);
      if (notifications === undefined) told.set(report.check, [report]);
      else notifications.push(report);
    }
    return told;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function holds(check: () => void): boolean {
  try {
    check();
    return true;
  } catch {
    return false;
  }
}

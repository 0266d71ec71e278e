/**
 * The load of a running monitor at steady rates, compared with a bare loop that does the same operations at the same
 * rate.
 */
import { type ConfigSubject, scriptCheck } from "./configs.ts";
import { measureAtOnce, measureInTurn } from "./measure.ts";
import type { Row } from "./row.ts";
import type { SteadySample } from "./steady_process.ts";
import { compareSteady, type SteadySide } from "./steady_rows.ts";
import {
  measureBare,
  measureBareRequests,
  measureScheduledRequests,
  measureService,
  type ServiceSample,
  type Span,
} from "./service_subject.ts";
import type { Workplace } from "./workplace.ts";

/** A command that exits at once: starting and waiting for it is measured. */
const PROGRAM = Deno.build.os === "darwin" ? "/usr/bin/true" : "/bin/true";
const ROUNDS = 3;
const INTERVAL_SECONDS = 5;
/** Until the engine has compiled the frequent code, on both sides: a monitor runs for months. */
const WARM_UP_SECONDS = 20;
const REQUEST_AIM = 1.25;
const BODY_AIM = 1.3;
const SCRIPT_AIM = 1.15;

/** Runs for some ten minutes. */
export async function benchRates(workplace: Workplace): Promise<readonly Row[]> {
  const { rate } = workplace.effort;
  return [
    ...await benchRequests(workplace, { perSecond: rate(200) }),
    ...await benchRequests(workplace, { perSecond: rate(1_000), withoutState: true }),
    ...await benchRequests(workplace, { perSecond: rate(1_000), readsBody: true }),
    ...await benchScripts(workplace, { perSecond: rate(50), atOnce: true }),
    // So many take most of two processors.
    ...await benchScripts(workplace, { perSecond: rate(300), atOnce: false }),
  ];
}

function spanOf({ effort }: Workplace): Span {
  return { warmUpSeconds: effort.seconds(WARM_UP_SECONDS), seconds: effort.seconds(2 * INTERVAL_SECONDS) };
}

interface RequestsOptions {
  readonly perSecond: number;
  /** Whether to show the cost of the state. */
  readonly withoutState?: boolean;
  /** Whether the checks look at the body. */
  readonly readsBody?: boolean;
}

async function benchRequests(
  workplace: Workplace,
  { perSecond, withoutState = false, readsBody = false }: RequestsOptions,
): Promise<readonly Row[]> {
  const span = spanOf(workplace);
  const scheduled = { ...checksOf(perSecond), ...span };
  const subjects: Readonly<Record<string, () => Promise<ServiceSample | SteadySample>>> = {
    monitor: () => measureScheduledRequests(workplace, { ...scheduled, readsBody }),
    bare: () => measureBareRequests(workplace, { ...span, perSecond, readsBody }),
    ...(withoutState && {
      stateless: () => measureScheduledRequests(workplace, { ...scheduled, isKept: false }),
    }),
  };
  const samples = await measureAtOnce(workplace.effort.rounds(ROUNDS), subjects);
  const monitor: SteadySide = { name: "watching", samples: samples["monitor"] ?? [], perSecond };
  const name = `${perSecond.toLocaleString("en")} requests a second${readsBody ? " that read the body" : ""}`;
  const bare = { name: "a bare fetch loop", samples: samples["bare"] ?? [], perSecond };
  const rows = compareSteady(name, monitor, bare, { aim: readsBody ? BODY_AIM : REQUEST_AIM });
  if (!withoutState) return rows;
  const stateless = { name: "--state none", samples: samples["stateless"] ?? [], perSecond };
  return [
    ...rows,
    ...compareSteady(`${name}, --state none`, stateless, bare),
    ...compareSteady(`${name}, state in a file`, monitor, stateless),
  ];
}

interface ScriptsOptions {
  readonly perSecond: number;
  /** Whether all sides run at the same time. */
  readonly atOnce: boolean;
}

async function benchScripts(
  workplace: Workplace,
  { perSecond, atOnce }: ScriptsOptions,
): Promise<readonly Row[]> {
  const span = spanOf(workplace);
  const scheduled = { check: scriptCheck(PROGRAM), ...checksOf(perSecond), ...span };
  const bare = { ...span, target: PROGRAM, perSecond };
  const subjects = {
    monitor: (): Promise<ServiceSample | SteadySample> => measureService(workplace, scheduled),
    bare: () => measureBare(workplace, { ...bare, work: "scripts" }),
    groups: () => measureBare(workplace, { ...bare, work: "scripts_in_groups" }),
  };
  const rounds = workplace.effort.rounds(ROUNDS);
  const samples = atOnce
    ? await measureAtOnce(rounds, subjects)
    : await measureInTurn(rounds, subjects, { isWarm: true });
  const monitor: SteadySide = { name: "watching", samples: samples.monitor, perSecond };
  const name = `${perSecond} scripts a second`;
  const side = (sideName: string, some: SteadySide["samples"]): SteadySide => ({
    name: sideName,
    samples: some,
    perSecond,
  });
  return [
    ...compareSteady(name, monitor, side("a bare Deno.Command loop", samples.bare), { aim: SCRIPT_AIM }),
    ...compareSteady(name, monitor, side("one with process groups", samples.groups), { aim: SCRIPT_AIM }),
  ];
}

/** So many checks that so many run in a second. */
function checksOf(perSecond: number): Pick<ConfigSubject, "count" | "intervalSeconds"> {
  return { count: perSecond * INTERVAL_SECONDS, intervalSeconds: INTERVAL_SECONDS };
}

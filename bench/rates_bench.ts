/** What a watching monitor takes at steady rates, against a bare loop that does the same work at the same rate. */
import { serverCounter } from "./counters.ts";
import { type DocumentSubject, requestCheck, scriptCheck } from "./documents.ts";
import { measureInTurn } from "./measure.ts";
import type { Row } from "./row.ts";
import { PROGRAM } from "./scripts_bench.ts";
import { startServer } from "./server.ts";
import type { SteadySample } from "./steady_process.ts";
import { compareSteady, type SteadySide } from "./steady_rows.ts";
import { measureBare, measureWatch, type Span, type WatchSample } from "./watch_subject.ts";
import type { Workplace } from "./workplace.ts";

const ROUNDS = 3;
const INTERVAL_SECONDS = 5;
/** Until the engine has compiled what runs often, on both sides: a monitor watches for months. */
const WARM_UP_SECONDS = 20;
const REQUEST_AIM = 1.25;
const SCRIPT_AIM = 1.15;

/** Takes some seventeen minutes. */
export async function benchRates(workplace: Workplace): Promise<readonly Row[]> {
  return [
    ...await benchRequests(workplace, { perSecond: 200 }),
    ...await benchRequests(workplace, { perSecond: 1_000, withoutState: true }),
    ...await benchScripts(workplace, 50),
    ...await benchScripts(workplace, 300),
  ];
}

function spanOf({ effort }: Workplace): Span {
  return { warmUpSeconds: effort.seconds(WARM_UP_SECONDS), seconds: effort.seconds(2 * INTERVAL_SECONDS) };
}

interface RequestsOptions {
  readonly perSecond: number;
  /** Whether to tell what the state costs. */
  readonly withoutState?: boolean;
}

async function benchRequests(
  workplace: Workplace,
  { perSecond, withoutState = false }: RequestsOptions,
): Promise<readonly Row[]> {
  await using server = await startServer();
  const counter = serverCounter(server);
  const span = spanOf(workplace);
  const watched = { ...documentOf(requestCheck(server.address), perSecond), ...span, counter };
  const subjects: Readonly<Record<string, () => Promise<WatchSample | SteadySample>>> = {
    monitor: () => measureWatch(workplace, watched),
    bare: () =>
      measureBare(workplace, { ...span, work: "requests", target: server.address, perSecond, counter }),
    ...(withoutState && {
      stateless: () => measureWatch(workplace, { ...watched, isKept: false }),
    }),
  };
  const samples = await measureInTurn(workplace.effort.rounds(ROUNDS), subjects, { isWarm: true });
  const monitor: SteadySide = { name: "watching", samples: samples["monitor"] ?? [], perSecond };
  const name = `${perSecond.toLocaleString("en")} requests a second`;
  const bare = { name: "a bare fetch loop", samples: samples["bare"] ?? [], perSecond };
  const rows = compareSteady(name, monitor, bare, { aim: REQUEST_AIM });
  if (!withoutState) return rows;
  const stateless = { name: "--state none", samples: samples["stateless"] ?? [], perSecond };
  return [
    ...rows,
    ...compareSteady(`${name}, --state none`, stateless, bare),
    ...compareSteady(`${name}, state in a file`, monitor, stateless),
  ];
}

async function benchScripts(workplace: Workplace, perSecond: number): Promise<readonly Row[]> {
  const span = spanOf(workplace);
  const watched = { ...documentOf(scriptCheck(PROGRAM), perSecond), ...span };
  const bare = { ...span, target: PROGRAM, perSecond };
  const samples = await measureInTurn(workplace.effort.rounds(ROUNDS), {
    monitor: () => measureWatch(workplace, watched),
    bare: () => measureBare(workplace, { ...bare, work: "scripts" }),
    groups: () => measureBare(workplace, { ...bare, work: "scripts_in_groups" }),
  }, { isWarm: true });
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

function documentOf(check: DocumentSubject["check"], perSecond: number): DocumentSubject {
  return { check, count: perSecond * INTERVAL_SECONDS, intervalSeconds: INTERVAL_SECONDS };
}

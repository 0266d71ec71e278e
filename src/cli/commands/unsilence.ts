import type { System } from "../../domain/system.ts";
import { type Command, CONFIG_OPTION, type Invocation } from "../command_definition.ts";
import { countSilences } from "../../alerting/outbox_status.ts";
import { EXIT } from "../exit_code.ts";
import { TAG_OPTION } from "../open_config.ts";
import { readSilences, renderSilences, requireTargets, withSilences } from "../silence_targets.ts";
import { STATE_OPTION } from "../state_location.ts";

export const unsilenceCommand: Command = {
  name: "unsilence",
  summary: "end silences and acknowledgements",
  operands: "[NAME…]",
  operandsMax: Infinity,
  operandKind: "check",
  description:
    "Ends the silences and acknowledgements of the named or tagged checks, or with --all all of them. A running monitor applies it at once and sends " +
    "the notifications that are still due.",
  page: "guides/notifications.md",
  options: [CONFIG_OPTION, STATE_OPTION, TAG_OPTION, {
    name: "all",
    description: "every silence and acknowledgement",
  }],
  examples: [
    ["monitor unsilence web", "end the silence of one check"],
    ["monitor unsilence --all", "end every silence"],
  ],
  uses: ["read", "write", "net", "env", "sys"],
  endings: ["done", "name", "state", "permission", "config"],
  run: runUnsilence,
};

async function runUnsilence(invocation: Invocation, system: System): Promise<number> {
  requireTargets(invocation, "monitor unsilence NAME");
  const nowMs = system.clock.wallMs();
  await withSilences(invocation, system, async ({ store, names }) => {
    const isAll = invocation.options.has("all");
    const ended = (await readSilences(store, nowMs)).filter(({ check }) => isAll || names.includes(check));
    await store.endSilences(isAll ? "all" : names, nowMs);
    const others = (await readSilences(store, nowMs)).filter(({ check }) => check === null);
    const rest = others.length === 0 ? "" : `still active:\n${renderSilences(others, system.timeZone())}`;
    return `ended ${countSilences(ended).join(" and ") || "0 silences"}\n${rest}`;
  });
  return EXIT.ok;
}

import type { Command } from "../command_definition.ts";
import { countSilences } from "../../engine/outbox_status.ts";
import { EXIT } from "../exit_code.ts";
import {
  readSilences,
  renderSilences,
  requireTargets,
  SILENCE_COMMAND,
  targetOptions,
  withSilences,
} from "../silence_targets.ts";

export const unsilenceCommand: Command = {
  ...SILENCE_COMMAND,
  name: "unsilence",
  summary: "end silences and acknowledgements",
  description:
    "Ends the silences and acknowledgements of the named or tagged checks, or with --all all of them. A running monitor applies it at once and sends " +
    "the notifications that are still due.",
  options: targetOptions("every silence and acknowledgement"),
  examples: [
    ["monitor unsilence web", "end the silence of one check"],
    ["monitor unsilence --all", "end every silence"],
  ],
  run: async (invocation, system) => {
    requireTargets(invocation, "monitor unsilence NAME");
    const nowMs = system.clock.wallMs();
    await withSilences(invocation, system, async ({ store, names }) => {
      const isAll = invocation.has("all");
      const ended = (await readSilences(store, nowMs)).filter(({ check }) => isAll || names.includes(check));
      await store.endSilences(isAll ? "all" : names, nowMs);
      const others = (await readSilences(store, nowMs)).filter(({ check }) => check === null);
      const rest = others.length === 0 ? "" : `still active:\n${renderSilences(others, system.timeZone())}`;
      return `ended ${countSilences(ended).join(" and ") || "0 silences"}\n${rest}`;
    });
    return EXIT.ok;
  },
};

import type { System } from "../../domain/system.ts";
import type { Command } from "../command.ts";
import { EXIT } from "../exit_code.ts";

/** `monitor licences`: prints the licences of everything in the executable. */
export const licencesCommand: Command = {
  name: "licences",
  summary: "print the licences of monitor and of what it is made of",
  operands: "",
  operandsMax: 0,
  description:
    "Prints the licence of monitor and those of the packages in it, and says where that of the runtime is.",
  options: [],
  endings: ["done"],
  uses: ["env"],
  examples: [["monitor licences | less", "all of them"]],
  run: async (_invocation, system) => {
    const { default: licences } = await import("../generated/licences.json", { with: { type: "json" } });
    system.stdout.write(licencesText(licences, system.runtime));
    return EXIT.ok;
  },
};

/** The licences of what is in the executable; `scripts/licences.ts` gathers them. */
export interface Licences {
  /** The text of our own. */
  readonly monitor: string;
  /** By name. */
  readonly packages: readonly LicencedPackage[];
}

/** A package whose code is in the executable. */
export interface LicencedPackage {
  /** With its scope. */
  readonly name: string;
  /** The one that is in the executable. */
  readonly version: string;
  /** What the package says of itself, such as `MIT`. */
  readonly licence: string;
  /** The whole text of its licence. */
  readonly text: string;
}

/** All licences in one text. */
export function licencesText(
  { monitor, packages }: Licences,
  runtime: Pick<System["runtime"], "name" | "version">,
): string {
  const tree = `https://github.com/denoland/deno/blob/v${runtime.version}`;
  const parts = [
    `monitor\n\n${monitor}`,
    `${runtime.name} ${runtime.version}, which runs it\n\nMIT licence: ${tree}/LICENSE.md\n` +
    `Its parts are listed in ${tree}/Cargo.lock, each under its own licence.\n`,
    ...packages.map(({ name, version, licence, text }) => `${name} ${version} (${licence})\n\n${text}`),
  ];
  return parts.join(`\n${"-".repeat(72)}\n\n`);
}

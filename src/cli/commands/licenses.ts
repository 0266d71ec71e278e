import type { System } from "../../domain/system.ts";
import { type Command, EXIT } from "../command_definition.ts";

export const licensesCommand: Command = {
  name: "licenses",
  group: "plumbing",
  summary: "print the licenses of monitor and its dependencies",
  description:
    "Prints the license of monitor and of each package in it, and the URL of the license of the runtime.",
  page: "development/dependencies.md",
  options: [],
  endings: ["done"],
  uses: ["env"],
  examples: [
    ["monitor licenses | less", "page through them"],
    ["monitor licenses > licenses.txt", "write them to a file"],
  ],
  run: async (_invocation, system) => {
    const { default: licenses } = await import("../generated/licenses.json", { with: { type: "json" } });
    system.stdout.write(licensesText(licenses, system.runtime));
    return EXIT.ok;
  },
};

/** The licenses of the packages in the executable; `scripts/licenses.ts` collects them. */
export interface Licenses {
  readonly monitor: string;
  readonly packages: readonly LicensedPackage[];
}

export interface LicensedPackage {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly text: string;
}

export function licensesText(
  { monitor, packages }: Licenses,
  runtime: Pick<System["runtime"], "name" | "version">,
): string {
  const tree = `https://github.com/denoland/deno/blob/v${runtime.version}`;
  const parts = [
    `monitor\n\n${monitor}`,
    `${runtime.name} ${runtime.version}, which runs it\n\nMIT license: ${tree}/LICENSE.md\n` +
    `Its parts are listed in ${tree}/Cargo.lock, each under its own license.\n`,
    ...packages.map(({ name, version, license, text }) => `${name} ${version} (${license})\n\n${text}`),
  ];
  return parts.join(`\n${"-".repeat(72)}\n\n`);
}

import { type Discovery, printedBy, type Proposal } from "./discovery.ts";

/** Proposes the failed units, and the enabled services that run. */
export async function discoverUnits(discovery: Discovery): Promise<readonly Proposal[]> {
  if (discovery.system.platform !== "linux") return [];
  const plain = ["--plain", "--no-legend", "--no-pager", "--full"];
  const list = (words: readonly string[]): Promise<string | null> =>
    printedBy({ name: "systemctl", arguments: [...words, ...plain], what: "systemd units" }, discovery);
  const units = await list(["list-units", "--all"]);
  const files = units === null ? null : await list(["list-unit-files", "--type=service", "--state=enabled"]);
  if (units === null || files === null) return [];
  const enabled = new Set(rowsOf(files).map(([name = ""]) => name));
  return rowsOf(units).flatMap(([name = "", load, active, sub]) => {
    if (load !== "loaded") return [];
    if (active === "failed") return [{ words: [name], reason: "unit that failed" }];
    // An instance such as getty@tty1.service is enabled by its template.
    const isEnabled = enabled.has(name) || enabled.has(name.replace(/@.*(?=\.)/, "@"));
    const isOurs = active === "active" && sub === "running" && isEnabled;
    return isOurs ? [{ words: [name], reason: "enabled service that runs" }] : [];
  });
}

function rowsOf(text: string): readonly (readonly string[])[] {
  return text.split("\n").map((line) => line.trim().split(/\s+/)).filter(([first]) => first !== "");
}

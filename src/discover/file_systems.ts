import { type Discovery, printedBy, type Proposal } from "./discovery.ts";

/** Types of file systems without a disk of this machine, or that are always full. */
const OTHER_TYPES =
  /^(?:tmpfs|devtmpfs|ramfs|squashfs|overlay|efivarfs|iso9660|udf|erofs|cramfs|autofs|proc|sysfs|nsfs|fuse\..*)$/;

const ROW = /^(\S.*?)\s+(\S+)\s+(\d+)\s+(\d+)\s+(\d+)\s+(?:(\d+)%|-)\s+(\/.*)$/;

export async function discoverFileSystems(discovery: Discovery): Promise<readonly Proposal[]> {
  const isLinux = discovery.system.platform === "linux";
  const printed = await printedBy({
    name: "df",
    arguments: isLinux ? ["-P", "-T", "-l"] : ["-P", "-l"],
    what: "file systems",
    // Of one that it can't read, it prints the others.
    codes: [0, 1],
  }, discovery);
  const seen = new Set<string>();
  return (printed ?? "").split("\n").flatMap((line) => {
    const [, device = "", type = "", , , , used = "0", path = ""] =
      ROW.exec(isLinux ? line : line.replace(/^(\S+)/, "$1 -")) ?? [];
    const isOurs = path === "/" || (isLinux ? isDisk(type, path) : path.startsWith("/Volumes/"));
    // Mounted again elsewhere, it is the same space.
    if (path === "" || !isOurs || seen.has(device)) return [];
    if (device.startsWith("/")) seen.add(device);
    const name = path === "/" ? "root file system" : "file system";
    return [{ words: [path], reason: `${name}${isLinux ? ` (${type})` : ""}, ${used}% used` }];
  });
}

/** A file mounted on another one, as in containers, is no separate file system. */
function isDisk(type: string, path: string): boolean {
  return !OTHER_TYPES.test(type) && !/^\/(?:dev|proc|sys|run|snap)(?:\/|$)|^\/etc\/[^/]+$/.test(path);
}

import { gzipSync } from "node:zlib";
import { type Zippable, zipSync } from "fflate";
import { type ReleaseFile, type ReleaseTime, run, writeTree } from "./release_files.ts";

/** Makes `NAME.tar.gz` with the files in a directory of that name; the same bytes wherever it is made. */
export async function makeTarball(
  output: string,
  { name, files, time }: {
    readonly name: string;
    readonly files: readonly ReleaseFile[];
    readonly time: ReleaseTime;
  },
): Promise<void> {
  const work = await Deno.makeTempDir({ prefix: "monitor_package_" });
  try {
    await Deno.mkdir(`${work}/${name}`);
    await writeTree(`${work}/${name}`, files, time);
    const order = ["--sort=name", "--format=ustar", "--owner=0", "--group=0", "--numeric-owner"];
    await run("tar", [
      "--create",
      ...order,
      `--mtime=@${time.epochSeconds}`,
      `--file=${work}/archive.tar`,
      `--directory=${work}`,
      name,
    ]);
    // Without a name and a time in its head.
    await Deno.writeFile(output, gzipSync(await Deno.readFile(`${work}/archive.tar`), { level: 6 }));
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}

const UNIX = 3;

/** Makes `NAME.zip` with the files in a directory of that name; the same bytes wherever it is made. */
export async function makeZip(
  output: string,
  { name, files, time }: {
    readonly name: string;
    readonly files: readonly ReleaseFile[];
    readonly time: ReleaseTime;
  },
): Promise<void> {
  // A zip file contains local time, which must not depend on the time zone of the machine.
  const utc = new Date(time.epochSeconds * 1000);
  const mtime = new Date(utc.getTime() + utc.getTimezoneOffset() * 60_000);
  const entries: Zippable = {};
  for (
    const { path, content, isExecutable } of files.toSorted((one, other) => one.path < other.path ? -1 : 1)
  ) {
    entries[`${name}/${path}`] = [content, { os: UNIX, attrs: (isExecutable ? 0o100755 : 0o100644) << 16 }];
  }
  await Deno.writeFile(output, zipSync(entries, { level: 6, mtime }));
}

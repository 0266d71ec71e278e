import { gzipSync } from "node:zlib";
import project from "../../deno.json" with { type: "json" };
import { STARTER_CONFIG } from "../../src/cli/commands/init.ts";
import { type ReleaseFile, type ReleaseTime, run, textFile, writeTree } from "./release_files.ts";

/** Debian's word for the machines of a target. */
export const DEBIAN_ARCHITECTURES: Readonly<Record<string, string>> = {
  "x86_64-unknown-linux-gnu": "amd64",
  "aarch64-unknown-linux-gnu": "arm64",
};

export interface DebianOptions {
  /** In Debian's words. */
  readonly architecture: string;
  /** For that architecture. */
  readonly executable: Uint8Array;
  /** Files that are in an archive too. */
  readonly companions: readonly ReleaseFile[];
  /** Stamps every file. */
  readonly time: ReleaseTime;
}

/** Makes a Debian package, with Debian's own tool. */
export async function makeDebianPackage(output: string, options: DebianOptions): Promise<void> {
  const work = await Deno.makeTempDir({ prefix: "monitor_package_" });
  try {
    const installed = installedFiles(options);
    const bytes = installed.reduce((sum, { content }) => sum + content.length, 0);
    await Deno.mkdir(`${work}/etc/monitor`, { recursive: true });
    await writeTree(work, [...installed, ...await controlFiles(options.architecture, bytes)], options.time);
    await run("dpkg-deb", ["--root-owner-group", "--threads-max=1", "-Zxz", "-z2", "--build", work, output], {
      SOURCE_DATE_EPOCH: String(options.time.epochSeconds),
    });
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}

/**
 * The paths in Debian of the files in an archive, by the beginning of their paths there; the rest is documentation.
 */
const PLACES: readonly (readonly [from: string, to: string])[] = [
  ["completions/monitor.bash", "usr/share/bash-completion/completions/monitor"],
  ["completions/_monitor", "usr/share/zsh/vendor-completions/_monitor"],
  ["completions/monitor.fish", "usr/share/fish/vendor_completions.d/monitor.fish"],
  ["examples/systemd/", "lib/systemd/system/"],
];

const DOCUMENTATION = "usr/share/doc/monitor/";

function installedFiles({ executable, companions, time }: DebianOptions): readonly ReleaseFile[] {
  const placed = companions.flatMap((file): readonly ReleaseFile[] => {
    const [from, to] = PLACES.find(([start]) => file.path.startsWith(start)) ?? [];
    if (from !== undefined && to !== undefined) {
      return [withOwnPath({ ...file, path: to + file.path.slice(from.length) })];
    }
    if (file.path === "man/monitor.1") {
      return [{ ...file, path: "usr/share/man/man1/monitor.1.gz", content: compressed(file.content) }];
    }
    // The copyright file is the place for licenses, and Debian's own log that of changes.
    if (["LICENSE", "LICENSES.txt", "CHANGELOG.md"].includes(file.path)) return [];
    return [withOwnPath({ ...file, path: DOCUMENTATION + file.path })];
  });
  const licenses = companions.find(({ path }) => path === "LICENSES.txt")?.content ?? new Uint8Array();
  return [
    { path: "usr/bin/monitor", content: executable, isExecutable: true },
    ...placed,
    { path: `${DOCUMENTATION}copyright`, content: licenses, isExecutable: false },
    textFile(`${DOCUMENTATION}examples/monitor.jsonc`, STARTER_CONFIG),
    {
      ...textFile(`${DOCUMENTATION}changelog.gz`, ""),
      content: compressed(new TextEncoder().encode(changeLog(time))),
    },
    textFile("usr/share/lintian/overrides/monitor", LINTIAN_OVERRIDES),
  ];
}

/** Files that are installed by hand are in /usr/local. */
function withOwnPath(file: ReleaseFile): ReleaseFile {
  if (!/systemd|cron/.test(file.path)) return file;
  const text = new TextDecoder().decode(file.content);
  return {
    ...file,
    content: new TextEncoder().encode(text.replaceAll("/usr/local/bin/monitor", "/usr/bin/monitor")),
  };
}

function compressed(content: Uint8Array): Uint8Array {
  return gzipSync(content, { level: 9 });
}

function maintainer(): string {
  const name = Deno.env.get("DEBFULLNAME") ?? "the monitor authors";
  return `${name} <${Deno.env.get("DEBEMAIL") ?? "monitor@localhost"}>`;
}

function changeLog({ epochSeconds }: ReleaseTime): string {
  const date = new Date(epochSeconds * 1000).toUTCString().replace("GMT", "+0000");
  return `monitor (${project.version}) unstable; urgency=medium

  * See the changelog of the project.

 -- ${maintainer()}  ${date}
`;
}

/** The runtime is one program with statically linked parts, as its maintainers build it. */
const LINTIAN_OVERRIDES = `# The runtime is built by its makers, with its libraries inside.
monitor: embedded-library
monitor: hardening-no-pie
# The package enables nothing; what the administrator enabled must not be left behind.
monitor: maintainer-script-calls-systemctl *
`;

async function controlFiles(architecture: string, bytes: number): Promise<readonly ReleaseFile[]> {
  const scripts = ["postinst", "prerm", "postrm"].map(async (name): Promise<ReleaseFile> => ({
    path: `DEBIAN/${name}`,
    content: await Deno.readFile(new URL(`debian/${name}`, import.meta.url)),
    isExecutable: true,
  }));
  const control = `Package: monitor
Version: ${project.version}
Section: admin
Priority: optional
Architecture: ${architecture}
Maintainer: ${maintainer()}
Installed-Size: ${Math.ceil(bytes / 1024)}
Depends: adduser, libc6 (>= 2.27), libgcc-s1 (>= 4.2)
Suggests: bash-completion, libnotify-bin, monitoring-plugins-basic
Description: runs checks from one JSON file and notifies of problems
 monitor runs Monitoring Plugins, HTTP requests, TCP, TLS and DNS checks, and
 checks of files, disk space, processes, systemd units and cron jobs on their
 schedules. It notifies of confirmed problems and of recoveries by email,
 webhook, command, desktop notification, file or console.
 .
 It runs as a service, from cron or in a CI pipeline. Its exit code is the
 highest severity. The package starts nothing until you enable the service.
`;
  return [textFile("DEBIAN/control", control), ...await Promise.all(scripts)];
}

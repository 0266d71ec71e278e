export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Describes why a file can't be read or written, without its path: one line, no final period. */
export function describeFileError(
  error: unknown,
  { path, access = "read" }: { readonly path: string; readonly access?: "read" | "write" },
): string {
  if (error instanceof Deno.errors.NotCapable) {
    if (error.message.includes("sys access")) return describeHostError(error);
    // The runtime wants everything granted for a few places, such as /proc.
    return `grant ${error.message.includes("--allow-all") ? "--allow-all" : `--allow-${access}=${path}`}`;
  }
  const code = systemCodeOf(error);
  if (code === "ENOENT") return access === "read" ? "file does not exist" : "its directory does not exist";
  return REASONS[code] ?? systemWords(messageOf(error));
}

/** Describes why a fact of this machine can't be read: one line, no final period. */
export function describeHostError(error: unknown): string {
  const fact = error instanceof Deno.errors.NotCapable
    ? /sys access to "(\w+)"/.exec(error.message)?.[1]
    : undefined;
  return fact === undefined ? systemWords(messageOf(error)) : `grant --allow-sys=${fact}`;
}

/** Returns the code that the system gave an error, such as `ENOSPC`; empty for other errors. */
export function systemCodeOf(error: unknown): string {
  if (!(error instanceof Error)) return "";
  // Errors that are made from the runtime's classes alone have no code.
  return "code" in error && typeof error.code === "string" ? error.code : CODES_BY_NAME[error.name] ?? "";
}

const CODES_BY_NAME: Readonly<Record<string, string>> = {
  FilesystemLoop: "ELOOP",
  IsADirectory: "EISDIR",
  NotADirectory: "ENOTDIR",
  NotFound: "ENOENT",
  PermissionDenied: "EACCES",
};

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EISDIR: "it is a directory",
  ELOOP: "symbolic links on its path form a loop",
  ENAMETOOLONG: "its path is longer than the system accepts",
  ENOSPC: "the disk is full",
  ENOTDIR: "its path leads through something that is not a directory",
  ENXIO: "it is a pipe or a socket without a reader",
  EPERM: "it belongs to another user, or cannot be changed",
  EROFS: "its file system is read-only",
};

/** Removes the runtime's additions from the system's words: `ENOSPC: …, open '…'`, `… (os error 28): open '…'`. */
function systemWords(message: string): string {
  const words = message.replace(/^E[A-Z0-9]+: /, "").replace(/ \(os error \d+\).*$/s, "")
    .replace(/[,:] \w+( '.*)?$/s, "");
  return words.charAt(0).toLowerCase() + words.slice(1);
}

export interface Trouble<Failure> {
  readonly isPresent: boolean;
  /** Records the outcome of the latest attempt; `null` is a success. */
  set(failure: Failure | null): void;
}

/** Reports a failure when it begins, and `null` when it is over, however many attempts fail in between. */
export function createTrouble<Failure>(report: (failure: Failure | null) => void): Trouble<Failure> {
  let isPresent = false;
  return {
    get isPresent() {
      return isPresent;
    },
    set: (failure) => {
      if (isPresent === (failure !== null)) return;
      isPresent = failure !== null;
      report(failure);
    },
  };
}

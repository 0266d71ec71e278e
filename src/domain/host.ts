/** The space of a file system, as `df` counts it: the part reserved for root is neither free nor in the total. */
export interface FileSystemFacts {
  /** The bytes that any user may still write. */
  readonly freeBytes: number;
  readonly totalBytes: number;
  /** `null`: the file system has no limit of inodes, such as Btrfs. */
  readonly inodes: { readonly free: number; readonly total: number } | null;
}

export interface MemoryFacts {
  /** The memory that processes can get without swapping. */
  readonly availableBytes: number;
  readonly totalBytes: number;
  readonly swapUsedBytes: number;
  /** 0: there is no swap. */
  readonly swapTotalBytes: number;
}

/** Facts of this machine. A permission that is missing throws the runtime's `NotCapable`. */
export interface Host {
  /** The file system of a path. One that hangs never resolves; it is asked only once at a time. */
  fileSystem(path: string): Promise<FileSystemFacts>;
  memory(): MemoryFacts;
  /** The mean number of processes that run or wait, over 1, 5 and 15 minutes; zeros on Windows, which counts none. */
  loadAverages(): readonly [number, number, number];
  /** The number of processors that this process may use; 1 or more. */
  readonly processors: number;
  readonly processId: number;
}

/** `RUSAGE_CHILDREN` of getrusage(2), whose result begins with user and system time, in seconds and microseconds. */
const OF_CHILDREN = -1;
const ANSWER_WORDS = 18;

/**
 * Processor time of all children of this process that have ended, and of theirs; unlike `/proc`, which counts in
 * hundredths of a second, to the microsecond. `NaN` on other systems than Linux.
 */
export function childrenCpuMs(): number {
  if (Deno.build.os !== "linux") return NaN;
  const answer = new BigInt64Array(ANSWER_WORDS);
  const library = Deno.dlopen("libc.so.6", {
    getrusage: { parameters: ["i32", "buffer"], result: "i32" },
  });
  const code = library.symbols.getrusage(OF_CHILDREN, answer);
  library.close();
  if (code !== 0) return NaN;
  const [userSeconds = 0n, userMicroseconds = 0n, systemSeconds = 0n, systemMicroseconds = 0n] = answer;
  return Number(userSeconds + systemSeconds) * 1000 + Number(userMicroseconds + systemMicroseconds) / 1000;
}

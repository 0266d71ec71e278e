/**
 * What the monitor is held against, as a program of its own:
 *
 *     bare_program rate WORK TARGET PER_SECOND AT_A_TIME
 */
const [mode, ...args] = Deno.args;

if (mode === "rate") {
  const { RATE_WORK, workAtRate } = await import("./bare_rate.ts");
  const [work = "", target = "", perSecond, atATime] = args;
  workAtRate(RATE_WORK[work as keyof typeof RATE_WORK], target, {
    perSecond: Number(perSecond),
    atATime: Number(atATime),
  });
}

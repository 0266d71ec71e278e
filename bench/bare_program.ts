/** The bare loop that the monitor is compared with: `bare_program WORK TARGET PER_SECOND CONCURRENCY`. */
import { RATE_WORK, workAtRate } from "./bare_rate.ts";

const [work = "", target = "", perSecond, atATime] = Deno.args;

workAtRate(RATE_WORK[work as keyof typeof RATE_WORK], target, {
  perSecond: Number(perSecond),
  atATime: Number(atATime),
});

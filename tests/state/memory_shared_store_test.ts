import { connectToMemory, createMemoryServer } from "../../testing/simulation/memory_shared_store.ts";
import { createRealClock } from "../../testing/real_clock.ts";
import { testStore } from "./conformance.ts";
import { testSharedStore } from "./conformance_shared.ts";

async function withServer(use: (connect: () => ReturnType<typeof connectToMemory>) => Promise<void>) {
  const clock = createRealClock();
  const server = await createMemoryServer(clock);
  let number = 0;
  const random = (): number => (number = (number * 69069 + 1) % 2 ** 32) / 2 ** 32;
  await use(() => connectToMemory({ server, clock, random, exchange: () => null }, { access: "own" }));
  server.database.close();
}

testStore("connectToMemory()", (use) =>
  withServer(async (connect) => {
    const { store } = await connect();
    await use(store);
    await store.close();
  }));

testSharedStore("connectToMemory()", (use) =>
  withServer(async (connect) => {
    const { openHeartbeats } = await connect();
    await use({ open: async () => (await connect()).store, openHeartbeats });
  }));

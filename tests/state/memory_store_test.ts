import { createMemoryStore } from "../../src/state/memory_store.ts";
import { testStore } from "./conformance.ts";

testStore("createMemoryStore()", (use) => use(createMemoryStore()));

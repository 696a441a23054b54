import fc from "fast-check";
import { afterAll } from "vitest";
import { usePortShare } from "../../simulators/free-port.ts";
import { endLeftActions } from "./left-actions.ts";

// Property tests are repeatable; another seed explores further.
fc.configureGlobal({ seed: Number(process.env["PBNJ_TEST_SEED"] ?? 1) });

usePortShare(Number(process.env["VITEST_POOL_ID"]), 16);

// Each worker listens for uncaught errors, and concurrent tests have several.
process.setMaxListeners(50);

afterAll(endLeftActions);

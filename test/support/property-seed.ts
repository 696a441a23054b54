import fc from "fast-check";

// Property tests are repeatable; another seed explores further.
fc.configureGlobal({ seed: Number(process.env["PBNJ_TEST_SEED"] ?? 1) });

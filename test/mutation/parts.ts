export interface Part {
  readonly mutate: readonly string[];
  /** The lowest tests that should notice each change. Files with a project of their own must be named in full. */
  readonly testFiles: readonly string[];
}

/** What can be changed, and the tests that should notice it. */
export const PARTS: Readonly<Record<string, Part>> = {
  execution: {
    mutate: [
      "worker/core/run/{action-run,adopt,executor,known,orphan-sweep,services,start}.ts",
      "worker/machines/launch-credentials.ts",
    ],
    testFiles: [
      "test/worker/{executor-journal,legacy-hooks}.test.ts",
      "test/worker/core/{run,lanes}/*.test.ts",
      "test/worker/machines/launch-credentials.test.ts",
      "test/worker/core/run/crash-points.test.ts",
      "test/worker/features/status/worker.test.ts",
    ],
  },
  reports: {
    mutate: ["worker/core/reports/*.ts"],
    testFiles: ["test/worker/core/reports/*.test.ts", "test/worker/core/run/outages.test.ts"],
  },
  journal: {
    mutate: [
      "worker/core/journal/*.ts",
      "worker/core/action/action-journal.ts",
      "worker/core/action/entry.ts",
      "worker/core/action/states.ts",
    ],
    testFiles: ["test/worker/core/journal/*.test.ts", "test/system/worker/state-lock.test.ts"],
  },
  queue: { mutate: ["worker/core/queue/*.ts"], testFiles: ["test/worker/core/queue/*.test.ts"] },
  power: {
    mutate: ["shared/bmc/operations/power*.ts"],
    testFiles: [
      "test/shared/bmc/operations/{power,wait-for-power,assumed-plan}.test.ts",
      "test/actions/{dry-run,power-settings}.test.ts",
    ],
  },
  boot: {
    mutate: ["shared/bmc/operations/boot*.ts"],
    testFiles: [
      "test/shared/bmc/operations/{boot,wait-for-boot,assumed-plan}.test.ts",
      "test/actions/boot-order.test.ts",
    ],
  },
  rakp: {
    mutate: [
      "shared/bmc/providers/ipmi/commands/credentials.ts",
      "shared/bmc/providers/ipmi/session/{cipher-suite,handshake*,open-session,opening,rakp}.ts",
      "shared/bmc/providers/ipmi/session/sealed-packet.ts",
    ],
    testFiles: [
      "test/shared/bmc/providers/ipmi/{faults,handshake,lasting-session,packets,session,units}.test.ts",
    ],
  },
};

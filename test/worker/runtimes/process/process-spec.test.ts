import { describe, expect, it } from "vitest";
import { childEnvironment } from "../../../../worker/runtimes/process/process-spec.ts";

describe("the environment of a child", () => {
  const deadline = new Date("2030-01-02T03:04:05.000Z");
  const marked = { PBNJ_ACTION_KEY: "k1", PBNJ_ACTION_DEADLINE: "2030-01-02T03:04:05.000Z" };

  it("has only an allow-list of the worker's variables", () => {
    const inherited = { PATH: "/bin", TZ: "UTC", REGISTRY_PASSWORD: "x", PBNJ_TOKEN: "x", NODE_OPTIONS: "x" };

    const environment = childEnvironment({
      inherited,
      action: { MODE: "soft" },
      connectionOnStdin: false,
      key: "k1",
      deadline,
    });

    expect(environment).toEqual({ PATH: "/bin", TZ: "UTC", MODE: "soft", ...marked });
  });

  it("names the connection file, which the action's environment cannot change", () => {
    const environment = childEnvironment({
      inherited: {},
      action: { BMC_CONNECTION_FILE: "/etc/shadow" },
      connectionOnStdin: true,
      compileCacheDirectory: "/tmp/cache",
      key: "k1",
      deadline,
    });

    expect(environment).toEqual({ BMC_CONNECTION_FILE: "-", NODE_COMPILE_CACHE: "/tmp/cache", ...marked });
  });

  it("has the label of the worker's state and the file for its result, which the action's environment cannot change", () => {
    const environment = childEnvironment({
      inherited: {},
      action: {
        PBNJ_WORKER_STATE: "another",
        PBNJ_ACTION_KEY: "another",
        PBNJ_ACTION_RESULT_FILE: "/etc/passwd",
      },
      connectionOnStdin: false,
      key: "k1",
      deadline,
      state: { id: "s1", resultFile: "/state/results/k1.json" },
    });

    expect(environment).toEqual({
      ...marked,
      PBNJ_WORKER_STATE: "s1",
      PBNJ_ACTION_RESULT_FILE: "/state/results/k1.json",
    });
  });
});

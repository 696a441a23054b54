import { describe, expect, it } from "vitest";
import { childEnvironment } from "../../../../worker/runtime/process/child-environment.ts";

describe("the environment of a child", () => {
  it("takes only an allow-list from the worker", () => {
    const inherited = { PATH: "/bin", TZ: "UTC", REGISTRY_PASSWORD: "x", PBNJ_TOKEN: "x", NODE_OPTIONS: "x" };

    const environment = childEnvironment({ inherited, action: { MODE: "soft" }, connectionOnStdin: false });

    expect(environment).toEqual({ PATH: "/bin", TZ: "UTC", MODE: "soft" });
  });

  it("says where the connection is, whatever the action's own environment says", () => {
    const environment = childEnvironment({
      inherited: {},
      action: { BMC_CONNECTION_FILE: "/etc/shadow" },
      connectionOnStdin: true,
      compileCacheDirectory: "/tmp/cache",
    });

    expect(environment).toEqual({ BMC_CONNECTION_FILE: "-", NODE_COMPILE_CACHE: "/tmp/cache" });
  });
});

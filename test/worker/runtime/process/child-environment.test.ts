import { describe, expect, it } from "vitest";
import {
  childEnvironment,
  refusedFlags,
  refusedVariables,
} from "../../../../worker/runtime/process/child-environment.ts";

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

  it("refuses variables that load code or name files of the worker's host", () => {
    const harmless = { MODE: "soft", MACHINE: "m1", BMC_HOST: "h", FILE_NAME: "x" };
    const reachingOut = {
      NODE_OPTIONS: "--require=/x",
      LD_PRELOAD: "/x.so",
      OPENSSL_CONF: "/x",
      RESULT_FILE: "/x",
      BMC_PASSWORD_FILE: "/x",
      IPMITOOL_PROGRAM: "/x",
      PATH: "/x",
    };

    expect(refusedVariables(harmless)).toEqual([]);
    expect(refusedVariables({ ...harmless, ...reachingOut })).toEqual(Object.keys(reachingOut));
  });

  it("refuses the flags that mean the same", () => {
    const harmless = ["--mode", "soft", "--bmc-host=h", "--dry-run"];
    const reachingOut = ["--result-file=/x", "--bmc-connection-file", "--ipmitool-program"];

    expect(refusedFlags(harmless)).toEqual([]);
    expect(refusedFlags([...harmless, ...reachingOut])).toEqual(["--result-file", ...reachingOut.slice(1)]);
  });
});

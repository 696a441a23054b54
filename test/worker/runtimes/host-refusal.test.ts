import { describe, expect, it } from "vitest";
import { catalogue, loadAction } from "../../../actions/catalogue.ts";
import { commonFields } from "../../../actions/harness/input/common-input.ts";
import { connectionFieldTable, connectionFile } from "../../../actions/harness/input/connection-input.ts";
import { flagOf } from "../../../actions/harness/input/input.ts";
import { namedFiles, refusedNames } from "../../../worker/runtimes/host-refusal.ts";

const nothing = { environment: {}, command: [] };

describe("what a child of the worker must not be given", () => {
  it("are variables that name programs or files of a connection", () => {
    const harmless = { MODE: "soft", MACHINE: "m1", BMC_HOST: "h", FILE_NAME: "x", RESULT_FILE: "/x" };
    const reachingOut = {
      BMC_CONNECTION_FILE: "/x",
      BMC_PASSWORD_FILE: "/x",
      IPMI_KG_FILE: "/x",
      IPMITOOL_PROGRAM: "/x",
    };

    expect(refusedNames({ ...nothing, environment: harmless })).toEqual([]);
    expect(refusedNames({ ...nothing, environment: { ...harmless, ...reachingOut } })).toEqual(
      Object.keys(reachingOut),
    );
  });

  it("are the flags that mean the same", () => {
    const harmless = ["--mode", "soft", "--bmc-host=h", "--dry-run", "--result-file=/x", "PATH", "-"];
    const reachingOut = ["--bmc-password-file=/x", "--bmc-connection-file", "--ipmitool-program"];

    expect(refusedNames({ ...nothing, command: harmless })).toEqual([]);
    expect(refusedNames({ ...nothing, command: [...harmless, ...reachingOut] })).toEqual([
      "--bmc-password-file",
      "--bmc-connection-file",
      "--ipmitool-program",
    ]);
  });
});

describe("the files that an action names", () => {
  it("are those of its own variables, without those that are always refused", () => {
    const environment = { MODE: "soft", RESULT_FILE: "/a", PASSWORD_FILE: "", BMC_PASSWORD_FILE: "/c" };

    expect(namedFiles({ ...nothing, environment })).toEqual([
      { name: "RESULT_FILE", path: "/a" },
      { name: "PASSWORD_FILE", path: "" },
    ]);
  });

  it.each([
    [["--password-generate-file", "/a"], [["--password-generate-file", "/a"]]],
    [["--password-generate-file=/a=b"], [["--password-generate-file", "/a=b"]]],
    [["--result-file"], [["--result-file", ""]]],
    [["--result-file="], [["--result-file", ""]]],
    [["--mode", "--result-file", "/a"], [["--result-file", "/a"]]],
    [
      ["--result-file", "--result-file", "/a"],
      [
        ["--result-file", ""],
        ["--result-file", "/a"],
      ],
    ],
    [
      ["--result-file=/a", "--result-file", "/b"],
      [
        ["--result-file", "/a"],
        ["--result-file", "/b"],
      ],
    ],
    [["--mode", "soft", "/a"], []],
  ])("are those of the flags %j", (command, files) => {
    expect(namedFiles({ ...nothing, command })).toEqual(files.map(([name, path]) => ({ name, path })));
  });

  it("are found for every file that an action of the catalogue takes, by variable and by flag", async () => {
    const actions = await Promise.all(catalogue.map(loadAction));
    const own = actions.flatMap((action) =>
      action ? [...Object.values(action.input), ...commonFields] : [],
    );
    const files = own.filter(({ type }) => type === "file");

    expect(files.map(({ env }) => env)).toContain("PASSWORD_GENERATE_FILE");
    for (const { env } of files) {
      const flag = flagOf({ env });
      expect(namedFiles({ ...nothing, environment: { [env]: "/x" } })).toEqual([{ name: env, path: "/x" }]);
      expect(namedFiles({ ...nothing, command: [flag, "/x"] })).toEqual([{ name: flag, path: "/x" }]);
    }
  });

  it("are never those of a connection, which are all refused", () => {
    const files = [connectionFile, ...connectionFieldTable].filter(({ type }) => type === "file");

    expect(files.length).toBeGreaterThan(1);
    for (const { env } of files) {
      expect(refusedNames({ environment: { [env]: "/x" }, command: [flagOf({ env }), "/x"] })).toEqual([
        env,
        flagOf({ env }),
      ]);
    }
  });
});

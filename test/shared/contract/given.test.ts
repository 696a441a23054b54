import { describe, expect, it } from "vitest";
import { connectionFieldTable, connectionFile } from "../../../actions/harness/input/connection-input.ts";
import {
  connectionGiven,
  flagOfVariable,
  givenNames,
  givenValue,
  isConnectionVariable,
  parseArguments,
  valueSources,
} from "../../../shared/contract/given.ts";

const MODE = { flag: "--mode", variable: "MODE" };

describe("the arguments of an action", () => {
  it.each([
    [["--mode", "hard"], [{ ...MODE, value: "hard" }], []],
    [["--mode=hard=x"], [{ ...MODE, value: "hard=x" }], []],
    [["--mode="], [{ ...MODE, value: "" }], []],
    [["--mode", ""], [{ ...MODE, value: "" }], []],
    [["--mode", "-"], [{ ...MODE, value: "-" }], []],
    [["--mode", "-x"], [{ ...MODE, value: "-x" }], []],
    [["--mode"], [{ ...MODE, value: undefined }], []],
    [
      ["--mode", "--bmc-host=x"],
      [
        { ...MODE, value: undefined },
        { flag: "--bmc-host", variable: "BMC_HOST", value: "x" },
      ],
      [],
    ],
    [["--mode=hard", "x", "-y"], [{ ...MODE, value: "hard" }], ["x", "-y"]],
    [["--mode", "--", "--bmc-host", "x"], [{ ...MODE, value: undefined }], ["--bmc-host", "x"]],
    [["--BMC-HOST=x"], [{ flag: "--BMC-HOST", variable: undefined, value: "x" }], []],
    [["--bmc_host=x"], [{ flag: "--bmc_host", variable: undefined, value: "x" }], []],
    [["--bmc--host=x"], [{ flag: "--bmc--host", variable: undefined, value: "x" }], []],
    [["--=x"], [{ flag: "--", variable: undefined, value: "x" }], []],
  ])("%j", (command, flags, strays) => {
    expect(parseArguments(command)).toEqual({ flags, strays });
  });
});

describe("the value that counts", () => {
  it("is that of the last flag, then that of the variable unless it is empty", () => {
    const value = (command: readonly string[], environment = {}) =>
      givenValue("BMC_HOST", valueSources({ command, environment }))?.text;

    expect(value(["--bmc-host", "a", "--bmc-host=b"], { BMC_HOST: "c" })).toBe("b");
    expect(value(["--bmc-host="], { BMC_HOST: "c" })).toBe("");
    expect(value([], { BMC_HOST: "c" })).toBe("c");
    expect(value([], { BMC_HOST: "" })).toBeUndefined();
    expect(value([], { "--bmc-host": "x" })).toBeUndefined();
  });
});

it("every variable of a connection is known as one, by its own name and by its flag", () => {
  for (const { env } of [connectionFile, ...connectionFieldTable]) {
    expect(isConnectionVariable(env)).toBe(true);
    expect(connectionGiven({ environment: { [env]: "x" }, command: [] })).toEqual([env]);
    const command = [flagOfVariable(env), ""];
    expect(connectionGiven({ environment: { [flagOfVariable(env)]: "" }, command })).toEqual([env]);
    expect(givenNames({ environment: {}, command })[0]?.variable).toBe(env);
  }
});

import { describe, expect, it } from "vitest";
import { nameInputs, nameOptions } from "../../actions/harness/input/setting-name.ts";
import { resultOf, runAction } from "./action-run.ts";
import { actionLab } from "./lab.ts";

const connection = (lab: Awaited<ReturnType<typeof actionLab>>) => ({
  BMC_HOST: "127.0.0.1",
  BMC_PROVIDERS: "redfish",
  REDFISH_PORT: String(lab.redfish.port),
});
const credentials = { BMC_USERNAME: "admin", BMC_PASSWORD: "calvin" };
const flagsOf = (env: Readonly<Record<string, string>>) =>
  Object.entries(env).map(([name, value]) => `--${name.toLowerCase().replaceAll("_", "-")}=${value}`);

describe("an input is named", () => {
  it.each([
    ["as a variable where nothing is given", {}, {}, "MODE=uefi"],
    ["as a flag for people who use flags", {}, { DEVICE: "pxe" }, "--mode uefi"],
    ["as it is given, whatever else is", { MODE: "soft" }, { DEVICE: "pxe" }, "MODE=uefi"],
  ])("%s", (_, env, flags, name) => {
    expect(nameInputs({ env, flags })("MODE", "uefi")).toBe(name);
  });

  it.each([
    ["flags", {}, { BMC_HOST: "node-1" }, "--bmc-tls-ca-file"],
    ["variables", { BMC_HOST: "node-1" }, { MODE: "soft" }, "BMC_TLS_CA_FILE"],
  ])("like the rest of its connection: %s", (_, env, flags, name) => {
    expect(nameInputs({ env, flags })("BMC_TLS_CA_FILE")).toBe(name);
    expect(nameOptions({ env, flags })?.("tls.ca")).toBe(name);
  });

  it("without a value where the flag alone means true", () => {
    expect(nameInputs({ env: {}, flags: { A: "1" } })("DRY_RUN", "true")).toBe("--dry-run");
  });
});

describe("a certificate that is not verified is accepted", () => {
  it.each([
    ["variables", (pin: string) => `BMC_TLS_FINGERPRINT=${pin}`, "BMC_TLS_CA_FILE=FILE"],
    ["flags", (pin: string) => `--bmc-tls-fingerprint ${pin}`, "--bmc-tls-ca-file FILE"],
    [
      "a file",
      (pin: string) => `tls: {fingerprint: "${pin}"} in the inventory`,
      "tls: {caFile: FILE} in the inventory",
    ],
  ] as const)("in the form of a connection given by %s, and in no other", async (form, accept, ca) => {
    await using lab = await actionLab({ redfish: { tls: undefined } });
    const pin = lab.redfish.fingerprint;
    const env = connection(lab);
    const file = {
      host: env.BMC_HOST,
      ...{
        username: "admin",
        password: "calvin",
        providers: ["redfish"],
        redfish: { port: lab.redfish.port },
      },
    };

    const ended = await {
      variables: () => runAction("power-status", { env: { ...env, ...credentials } }),
      flags: () =>
        runAction("power-status", {
          env: { BMC_PASSWORD: "calvin" },
          argv: flagsOf({ ...env, BMC_USERNAME: "admin" }),
        }),
      "a file": () =>
        runAction("power-status", { env: { BMC_CONNECTION_FILE: "-" }, stdin: JSON.stringify(file) }),
    }[form]();

    expect(resultOf(ended).message).toBe(
      `redfish: TLS with 127.0.0.1:${lab.redfish.port} failed: self-signed certificate (fingerprint ${pin}); ` +
        `if that is the BMC's own certificate, accept it with ${accept(pin)}; to trust its CA, use ${ca}`,
    );
  });
});

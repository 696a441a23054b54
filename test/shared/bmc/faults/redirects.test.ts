import { describe, expect, test } from "vitest";
import { startRedfishBmc } from "../../../../simulators/redfish/bmc.ts";
import { fail, OFF } from "./attempt.ts";
import { redfishFaultLab } from "./redfish-lab.ts";

/** A server on another port that would take the same credentials. */
async function otherHost() {
  const bmc = await startRedfishBmc({ tls: "http" });
  return { bmc, [Symbol.asyncDispose]: () => bmc.close() };
}

const SYSTEMS = "/redfish/v1/Systems";
const SESSIONS = "/redfish/v1/SessionService/Sessions";

describe.concurrent("a redirect to another host is not followed, so that credentials stay with the BMC", () => {
  test.each([301, 302, 303, 307, 308])("of a read with %i", async (status) => {
    await using lab = await redfishFaultLab({ machine: { power: "on" } });
    await using other = await otherHost();
    lab.bmc.fail({ kind: "redirect", method: "GET", status, location: `${other.bmc.url}${SYSTEMS}` });

    const error = await fail((signal) => lab.client.setPower(OFF, signal));

    expect(error).toMatchObject({ class: "protocol", message: expect.stringContaining("another host") });
    expect(lab.done()).toEqual([]);
    expect(other.bmc.connections).toBe(0);
  });

  test.each([
    ["without a scheme", (port: number) => `//127.0.0.1:${port}${SYSTEMS}`],
    ["under another name of this machine", (port: number) => `http://localhost:${port}${SYSTEMS}`],
    ["with a user of its own", (port: number) => `http://admin:calvin@127.0.0.1:${port}${SYSTEMS}`],
    ["to another scheme", (port: number) => `https://127.0.0.1:${port}${SYSTEMS}`],
  ])("of a read %s", async (_, locationOf) => {
    await using lab = await redfishFaultLab();
    await using other = await otherHost();
    lab.bmc.fail({ kind: "redirect", method: "GET", status: 302, location: locationOf(other.bmc.port) });

    const error = await fail((signal) => lab.client.getPower(signal));

    expect(error.class).toBe("protocol");
    expect(other.bmc.connections).toBe(0);
  });

  test.each([302, 307, 308])("of a command with %i, which is not carried out", async (status) => {
    await using lab = await redfishFaultLab({ machine: { power: "on" } });
    await using other = await otherHost();
    const location = `${other.bmc.url}${SYSTEMS}/1/Actions/ComputerSystem.Reset`;
    lab.bmc.fail({ kind: "redirect", method: "POST", status, location });

    const error = await fail((signal) => lab.client.setPower(OFF, signal));

    expect(error.class).toBe("protocol");
    expect(lab.done()).toEqual([]);
    expect(other.bmc.connections).toBe(0);
    expect(other.bmc.machine.commands).toEqual([]);
  });

  test.each([302, 307, 308])("of a login with %i, whose body has the password", async (status) => {
    await using lab = await redfishFaultLab({ redfish: { auth: "session" } });
    await using other = await otherHost();
    lab.bmc.fail({ kind: "redirect", method: "POST", status, location: `${other.bmc.url}${SESSIONS}` });

    const error = await fail((signal) => lab.client.getPower(signal));

    expect(error.class).toBe("protocol");
    expect(other.bmc.connections).toBe(0);
  });
});

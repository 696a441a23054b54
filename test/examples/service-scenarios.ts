import { expect } from "vitest";
import { startAmtDevice } from "../../simulators/amt/device.ts";
import { startHomeAssistant } from "../../simulators/homeassistant/server.ts";
import { startIronic } from "../../simulators/ironic/server.ts";
import { SimulatedMachine } from "../../simulators/machine.ts";
import { startRpcConsumer } from "../../simulators/rpc/consumer.ts";
import { newPassword, QUICK, type Scenario, writeSecret } from "./scenario.ts";

const amt: Scenario = {
  async start(folder) {
    const machine = new SimulatedMachine(QUICK);
    const password = newPassword();
    const device = await startAmtDevice({ machine, password, tls: "http" });
    return {
      machines: {
        "desk-1": {
          host: device.http.host,
          "amt.port": device.http.port,
          "credentials.passwordFile": await writeSecret(folder, "password", password),
        },
      },
      secrets: [password],
      verify() {
        expect(machine.lastBoot).toMatchObject({ device: "pxe", overridden: true });
        expect(machine.power).toBe("on");
        expect(machine.override.enabled).toBe("disabled");
      },
      close: () => device.close(),
    };
  },
};

const rpc: Scenario = {
  async start(folder) {
    const machine = new SimulatedMachine(QUICK);
    const secrets = [newPassword(), newPassword()];
    const [newer = "", older = ""] = secrets;
    // The webhook still knows the old secret alone.
    const signature = {
      algorithm: "sha256",
      secrets: [older],
      header: "x-rufio-signature-256",
      included: ["x-rufio-timestamp"],
      prefixed: true,
    } as const;
    const consumer = await startRpcConsumer({
      machines: { "rack 3 / node 7": machine },
      signature,
      tls: "http",
    });
    return {
      machines: {
        "hooked-1": {
          "rpc.url": `${consumer.http.url}/bmc`,
          "rpc.signature.secrets.sha256.0.file": await writeSecret(folder, "new", newer),
          "rpc.signature.secrets.sha256.1.file": await writeSecret(folder, "old", older),
        },
      },
      secrets,
      verify() {
        expect(machine.lastBoot).toMatchObject({ device: "pxe", mode: "uefi", overridden: true });
        expect(machine.power).toBe("on");
        expect(consumer.refusedSignatures).toBe(0);
        expect(consumer.http.requests.every(({ headers }) => headers["x-site"] === "site-1")).toBe(true);
      },
      close: () => consumer.close(),
    };
  },
};

const homeassistant: Scenario = {
  async start(folder) {
    const machine = new SimulatedMachine(QUICK);
    const token = newPassword();
    const server = await startHomeAssistant({ machine, token, entity: "switch.plugged_1", tls: "http" });
    return {
      machines: {
        "plugged-1": {
          "homeassistant.url": server.http.url,
          "credentials.passwordFile": await writeSecret(folder, "token", token),
        },
      },
      secrets: [token],
      verify() {
        expect(machine.commands.map(({ action }) => action)).toEqual(["off", "on"]);
        expect(machine.power).toBe("on");
      },
      close: () => server.close(),
    };
  },
};

const ironic: Scenario = {
  async start(folder) {
    const machine = new SimulatedMachine(QUICK);
    const password = newPassword();
    // The ID of the example's application credential.
    const username = "0f5d4f6f1c7b4e36a8e7d2c1b0a99887";
    const server = await startIronic({
      machines: { "metal-1": machine },
      auth: "keystone",
      login: { username, password },
      tls: "http",
    });
    return {
      machines: {
        "metal-1": {
          "ironic.url": server.http.url,
          "ironic.keystone.url": `${server.http.url}/v3`,
          "credentials.passwordFile": await writeSecret(folder, "secret", password),
        },
      },
      secrets: [password],
      verify() {
        expect(machine.lastBoot).toMatchObject({ device: "pxe", overridden: true });
        expect(machine.power).toBe("on");
      },
      close: () => server.close(),
    };
  },
};

export const serviceScenarios: Readonly<Record<string, Scenario>> = {
  "examples/providers/amt/template.yaml": amt,
  "examples/providers/rpc/template.yaml": rpc,
  "examples/providers/homeassistant/template.yaml": homeassistant,
  "examples/providers/ironic/template.yaml": ironic,
};

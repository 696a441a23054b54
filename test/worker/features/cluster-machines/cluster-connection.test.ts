import { describe, expect, it } from "vitest";
import { BmcClient } from "../../../../shared/bmc/client.ts";
import { Connection, serialiseConnection } from "../../../../shared/contract/connection.ts";
import { resolveFileReferences } from "../../../../shared/contract/file-reference.ts";
import { SimulatedMachine } from "../../../../simulators/machine.ts";
import { RpcConsumerServer } from "../../../../simulators/rpc/consumer.ts";
import type { MountedConnection } from "../../../../worker/core/ports/runtime.ts";
import { scaledClock } from "../../../support/scaled-clock.ts";
import {
  failureOf,
  HARDWARE,
  hardware,
  InventoryLab,
  MACHINES,
  machine,
  machineRef,
  NAMESPACE,
  NEW_HARDWARE,
  newHardware,
  reading,
  secret,
} from "./inventory-lab.ts";

const RPC = { consumerURL: "https://hooks.example/bmc" };
const SIGNED = {
  host: "node 7",
  authSecretRef: {},
  providerOptions: {
    rpc: {
      ...RPC,
      hmac: {
        secrets: { sha256: [{ name: "hook-new" }, { name: "hook-old" }], "512": [{ name: "hook-new" }] },
      },
    },
  },
};

/** The connection that an action finds in its pod: every file as a kubelet would write it. */
async function asInPod(
  lab: InventoryLab,
  mounted: MountedConnection,
  namespace: string,
): Promise<Connection> {
  const document: unknown = JSON.parse(JSON.stringify(mounted.document));
  const whole = await resolveFileReferences(document, async (file) => {
    const found = mounted.files.find((one) => one.file === file);
    const kept = found && lab.fake.get("v1", "Secret", found.secret, namespace);
    const data = (kept as { data?: Record<string, string> } | undefined)?.data ?? {};
    const value = data[found?.key ?? ""];
    if (value === undefined) throw new Error(`the pod has no file ${file}`);
    return Buffer.from(value, "base64").toString();
  });
  return Connection.parse(whole);
}

function mounted(lab: InventoryLab, name: string, namespace = NAMESPACE): MountedConnection | undefined {
  const found = lab.inventory.find(name, NAMESPACE);
  if (!found) throw new Error(`there is no machine ${name}`);
  return lab.inventory.mountedConnection(found, namespace);
}

describe("the connection of a machine", () => {
  it("is the same, whether the worker reads its secrets or a kubelet mounts them", async () => {
    await using lab = await InventoryLab.start({
      sources: ["machines", "hardware"],
      fake: { crds: ["v1alpha1", "v1alpha2"] },
      before: (fake) => {
        const options = { preferredOrder: ["ipmitool"], redfish: { port: 8_443 } };
        fake.create(MACHINES, "Machine", machine("bmc-1", { providerOptions: options }));
        fake.create(MACHINES, "Machine", machine("webhook", SIGNED));
        const switched = { homeassistant: { switchEntityID: "switch.node_1" } };
        const home = { host: "http://ha.example", providerOptions: switched };
        fake.create(MACHINES, "Machine", machine("switched", home));
        fake.create(HARDWARE, "Hardware", hardware("server-1", machineRef("bmc-1")));
        fake.create(NEW_HARDWARE, "Hardware", newHardware("server-2", {}, { bootMode: "UEFI" }));
        for (const name of ["bmc-1", "server-2"]) {
          fake.create(
            "v1",
            "Secret",
            secret(name, { username: `${name}-user`, password: `${name}-password` }),
          );
        }
        fake.create("v1", "Secret", secret("switched", { password: "token" }));
        fake.create("v1", "Secret", secret("hook-new", { secret: "new" }));
        fake.create("v1", "Secret", secret("hook-old", { secret: "old" }));
      },
    });
    await lab.synced();

    for (const name of ["bmc-1", "server-1", "server-2", "webhook", "switched"]) {
      const inPod = mounted(lab, name);
      if (!inPod) throw new Error(`the connection of ${name} cannot be mounted`);
      const read = serialiseConnection(await lab.connect(name));

      expect(JSON.parse(serialiseConnection(await asInPod(lab, inPod, NAMESPACE)))).toEqual(JSON.parse(read));
      expect(JSON.parse(read)).toMatchObject({ machine: name });
      expect(JSON.stringify(inPod)).not.toMatch(/-user|-password"?:?"bmc|"token"/);
      const files = inPod.files.map(({ file }) => file);
      expect(new Set(files).size).toBe(files.length);
    }
    const webhook = await lab.connect("webhook");
    expect(webhook.rpc?.signature.secrets.sha256.map((one) => one.reveal())).toEqual(["new", "old"]);
    expect(webhook.rpc?.signature.secrets.sha512.map((one) => one.reveal())).toEqual(["new"]);
    expect((await lab.connect("switched")).password?.reveal()).toBe("token");
  });

  it("is mounted only where all of its Secrets are in the pod's namespace, and nothing secret stands elsewhere", async () => {
    const headers = { ...RPC, request: { staticHeaders: { "X-Token": ["t"] } } };
    await using lab = await InventoryLab.start({
      references: [{ from: [NAMESPACE], to: ["default"], kinds: ["Secret"] }],
      before: (fake) => {
        const elsewhere = { authSecretRef: { name: "shared", namespace: "default" } };
        fake.create(MACHINES, "Machine", machine("here"));
        fake.create(MACHINES, "Machine", machine("elsewhere", elsewhere));
        fake.create(MACHINES, "Machine", machine("headers", { providerOptions: { rpc: headers } }));
        fake.create(MACHINES, "Machine", machine("open", { providerOptions: { rpc: RPC } }));
        fake.create(MACHINES, "Machine", machine("broken", { host: "a b" }));
        fake.create("v1", "Secret", secret("shared", { username: "u", password: "p" }, "default"));
      },
    });
    await lab.synced();

    expect(mounted(lab, "here")?.files).toEqual([
      { file: "username", secret: "here", key: "username" },
      { file: "password", secret: "here", key: "password" },
    ]);
    expect(mounted(lab, "here", "default")).toBeUndefined();
    expect(mounted(lab, "elsewhere")).toBeUndefined();
    expect(mounted(lab, "elsewhere", "default")?.files).toHaveLength(2);
    expect(mounted(lab, "headers")).toBeUndefined();
    expect(mounted(lab, "open")?.files).toEqual([]);
    expect(mounted(lab, "broken")).toBeUndefined();
    expect((await lab.connect("elsewhere")).username).toBe("u");
    expect((await lab.connect("headers")).rpc?.headers["X-Token"]?.[0]?.reveal()).toBe("t");
  });

  it("reads no Secret that a machine behind a webhook does not need", async () => {
    await using lab = await InventoryLab.start({
      before: (fake) =>
        void fake.create(MACHINES, "Machine", machine("open", { providerOptions: { rpc: RPC } })),
    });
    await lab.synced();

    expect(await lab.connect("open")).toMatchObject({ host: "open.bmc.example", username: undefined });
    expect(lab.fake.countBy(undefined, "secrets")).toBe(0);
  });

  it("talks to Rufio's webhook as Rufio does: its header names, the time stamp signed too", async () => {
    const consumer = new RpcConsumerServer({
      machines: { "node 7": new SimulatedMachine({ power: "off" }) },
      signature: {
        algorithm: "sha256",
        secrets: ["new"],
        header: "x-rufio-signature-256",
        included: ["x-rufio-timestamp"],
        prefixed: true,
      },
    });
    try {
      await consumer.http.listen();
      const { rpc } = SIGNED.providerOptions;
      const signed = { ...SIGNED, providerOptions: { rpc: { ...rpc, consumerURL: consumer.http.url } } };
      await using lab = await InventoryLab.start({
        before: (fake) => {
          fake.create(MACHINES, "Machine", machine("webhook", signed));
          fake.create("v1", "Secret", secret("hook-new", { secret: "new" }));
          fake.create("v1", "Secret", secret("hook-old", { secret: "old" }));
        },
      });
      await lab.synced();
      const client = new BmcClient(await lab.connect("webhook"), { clock: scaledClock(20) });
      try {
        await client.setPower({ verb: "on", timeoutMs: 60_000 }, AbortSignal.timeout(20_000));
      } finally {
        await client.close();
      }

      expect(consumer.machine.power).toBe("on");
      expect(consumer.calls[0]?.host).toBe("node 7");
      expect(consumer.refusedSignatures).toBe(0);
    } finally {
      await consumer.close();
    }
  });
});

describe("a Secret", () => {
  it.each<[string, Readonly<Record<string, string>> | undefined, string]>([
    ["is missing", undefined, "Secret tink-system/node-1 does not exist"],
    ["lacks a key", { username: "u" }, "Secret tink-system/node-1 has no key password"],
    [
      "has nothing under a key",
      { username: "u", password: "\n" },
      "Secret tink-system/node-1: its key password is empty",
    ],
    ["has nothing at all", {}, "Secret tink-system/node-1 has no key username"],
  ])("that %s fails the action with the reason", async (_, data, reason) => {
    await using lab = await InventoryLab.start({
      before: (fake) => {
        fake.create(MACHINES, "Machine", machine("node-1"));
        if (data) fake.create("v1", "Secret", secret("node-1", data));
      },
    });
    await lab.synced();

    const failure = await lab.failure("node-1");
    expect([failure.class, failure.message]).toEqual(["usage", `machine node-1: ${reason}`]);
  });

  it("that is named without a namespace is in the object's own", async () => {
    await using lab = await InventoryLab.start({
      before: (fake) => {
        fake.create(MACHINES, "Machine", machine("node-1", { authSecretRef: { name: "named" } }));
        fake.create("v1", "Secret", secret("named", { username: "u", password: "p" }));
      },
    });
    await lab.synced();

    expect((await lab.connect("node-1")).username).toBe("u");
  });

  it("that the API cannot give now fails the action with the API's reason, no later than it may", async () => {
    await using lab = await InventoryLab.start({
      clock: scaledClock(50),
      before: (fake) => {
        fake.create(MACHINES, "Machine", machine("node-1"));
        fake.create("v1", "Secret", secret("node-1", { username: "u", password: "p" }));
      },
    });
    await lab.synced();

    lab.fake.fail({ verb: "get", resource: "secrets" }, { status: 503, times: 10 });
    const failure = await lab.failure("node-1");
    expect(failure.class).toBe("internal");
    expect(failure.message).toMatch(/^machine node-1: Secret tink-system\/node-1 cannot be read: .*503/);
  });

  it("is not waited for once the action is given up", async () => {
    await using lab = await InventoryLab.start({
      before: (fake) => void fake.create(MACHINES, "Machine", machine("node-1")),
    });
    await lab.synced();
    const asked = lab.fake.hang({ verb: "get", resource: "secrets" });
    const found = lab.inventory.find("node-1");
    if (!found) throw new Error("there is no node-1");

    const given = new AbortController();
    const resolving = lab.inventory.resolveConnection(found, reading(given.signal));
    await Promise.all([
      expect(resolving).rejects.toThrow("given up"),
      expect
        .poll(() => asked.hits, { timeout: 20_000 })
        .toBe(1)
        .then(() => given.abort(new Error("given up"))),
    ]);
  });

  it("with signing keys is named when it has none", async () => {
    await using lab = await InventoryLab.start({
      before: (fake) => {
        fake.create(MACHINES, "Machine", machine("webhook", SIGNED));
        fake.create("v1", "Secret", secret("hook-new", { secret: "new" }));
        fake.create("v1", "Secret", secret("hook-old", { key: "old" }));
      },
    });
    await lab.synced();

    const failure = await failureOf(() => lab.connect("webhook"));
    expect(failure.message).toBe("machine webhook: Secret tink-system/hook-old has no key secret");
  });
});

import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { scaledClock } from "../../../support/scaled-clock.ts";
import {
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
  SOON,
  secret,
} from "./inventory-lab.ts";

const BOTH = { crds: ["v1alpha1", "v1alpha2"] } as const;

describe.concurrent("machines of a namespace", () => {
  it("are its Machine objects by name, with the Secret's current content", async () => {
    await using lab = await InventoryLab.start({
      before: (fake) => {
        fake.create(MACHINES, "Machine", machine("node-2"));
        fake.create(MACHINES, "Machine", machine("node-1"));
        fake.create(MACHINES, "Machine", machine("elsewhere", {}, "default"));
        fake.create("v1", "Secret", secret("node-1", { username: "root", password: "first\n" }));
      },
    });
    await lab.synced();

    expect(lab.names()).toEqual(["node-1", "node-2"]);
    expect(lab.inventory.bmcAddress("node-1")).toMatchObject({
      host: "node-1.bmc.example",
      url: "https://node-1.bmc.example",
    });
    const before = await lab.connect("node-1");
    lab.fake.replace("v1", "Secret", {
      apiVersion: "v1",
      kind: "Secret",
      ...secret("node-1", { username: "admin", password: "second" }),
    });
    const after = await lab.connect("node-1");

    expect(before).toMatchObject({ machine: "node-1", host: "node-1.bmc.example", username: "root" });
    expect(before.password?.reveal()).toBe("first");
    expect([after.username, after.password?.reveal()]).toEqual(["admin", "second"]);
    expect(lab.fake.countBy("get", "secrets")).toBe(2);
    expect(lab.fake.countBy("list", "secrets") + lab.fake.countBy("watch", "secrets")).toBe(0);
  });

  it("are added, changed and removed with their objects", async ({ expect }) => {
    await using lab = await InventoryLab.start({
      before: (fake) => void fake.create(MACHINES, "Machine", machine("node-1")),
    });
    await expect.poll(() => lab.changes, SOON).toEqual([{ added: ["node-1"], removed: [] }]);
    const first = lab.inventory.find("node-1");

    lab.fake.create(MACHINES, "Machine", machine("node-2"));
    lab.fake.patch(MACHINES, "Machine", "node-1", { spec: { connection: { host: "192.0.2.9" } } }, NAMESPACE);
    await expect.poll(() => lab.inventory.find("node-1")?.lockKey, SOON).toBe("192.0.2.9");
    lab.fake.remove(MACHINES, "Machine", "node-1", NAMESPACE);
    await expect.poll(() => lab.names(), SOON).toEqual(["node-2"]);

    expect(first?.lockKey).toBe("node-1.bmc.example");
    await expect.poll(() => lab.changes.flatMap(({ added }) => added), SOON).toEqual(["node-1", "node-2"]);
    await expect.poll(() => lab.changes.flatMap(({ removed }) => removed), SOON).toEqual(["node-1"]);
  });

  it("may state their desired state, and with a broken one still serve actions", async ({ expect }) => {
    await using lab = await InventoryLab.start({
      before: (fake) => {
        fake.create(MACHINES, "Machine", machine("node-1"));
        fake.create("v1", "Secret", secret("node-1", { username: "root", password: "first" }));
      },
    });
    await lab.synced();
    const annotate = (value: string) => {
      const metadata = { annotations: { "pbnj-worker/desired": value } };
      lab.fake.patch(MACHINES, "Machine", "node-1", { metadata }, NAMESPACE);
    };

    annotate("power: on");
    await expect.poll(() => lab.inventory.desiredState("node-1"), SOON).toEqual({ power: "on" });
    annotate("power: up");
    await expect.poll(() => lab.inventory.desiredState("node-1"), SOON).toBeUndefined();

    const problem = "metadata.annotations.pbnj-worker/desired: power must be one of on, off";
    expect(lab.inventory.origin("node-1")?.problem).toBe(problem);
    expect(await lab.connect("node-1")).toMatchObject({ username: "root" });
    await expect
      .poll(() => lab.warnings().map(({ message, fields }) => [message, fields["reason"]]), SOON)
      .toEqual([["invalid desired state ignored", `Machine tink-system/node-1: ${problem}`]]);
  });

  it("are reported together when they are created together", async ({ expect }) => {
    const names = Array.from({ length: 1_200 }, (_, index) => `node-${index}`);
    await using lab = await InventoryLab.start({
      before: (fake) => {
        for (const name of names) fake.create(MACHINES, "Machine", machine(name));
      },
    });

    await expect.poll(() => lab.changes.length, SOON).toBeGreaterThan(0);

    expect(lab.changes).toHaveLength(1);
    expect(new Set(lab.changes[0]?.added)).toEqual(new Set(names));
    expect(lab.inventory.machines()).toHaveLength(names.length);
    expect(lab.inventory.machines()).toBe(lab.inventory.machines());
  });

  it("of all sources are reported together, even if one source lists slowly", async ({ expect }) => {
    await using lab = await InventoryLab.start({
      sources: ["machines", "hardware"],
      before: (fake) => {
        fake.create(MACHINES, "Machine", machine("bmc-1"));
        fake.create(HARDWARE, "Hardware", hardware("server-1", machineRef("bmc-1")));
        fake.fail({ verb: "list", group: "tinkerbell.org", resource: "hardware" }, { status: 503, times: 5 });
      },
    });

    await expect.poll(() => lab.changes.length, SOON).toBeGreaterThan(0);
    expect(lab.changes).toEqual([{ added: ["bmc-1", "server-1"], removed: [] }]);
  });

  it("stay the same list while Rufio writes only their status", async ({ expect }) => {
    await using lab = await InventoryLab.start({
      clock: scaledClock(20),
      before: (fake) => void fake.create(MACHINES, "Machine", machine("node-1")),
    });
    await expect.poll(() => lab.changes, SOON).toHaveLength(1);
    const list = lab.inventory.machines();

    const written = lab.fake.patchStatus(MACHINES, "Machine", "node-1", { powerState: "on" }, NAMESPACE);
    // A watch that begins after what was written is of one who has seen it.
    const seen = () => {
      lab.fake.dropWatches();
      const watches = lab.fake.requests.filter(({ verb }) => verb === "watch");
      return Number(watches.at(-1)?.query.get("resourceVersion"));
    };
    await expect.poll(seen, SOON).toBeGreaterThanOrEqual(Number(written.metadata.resourceVersion));

    expect(lab.inventory.machines()).toBe(list);
    expect(lab.fake.countBy("list", "machines")).toBe(1);
  });
});

describe.concurrent("names of machines", () => {
  it("contain the namespace if all namespaces are watched, and never resolve in another one", async () => {
    await using lab = await InventoryLab.start({
      watchNamespace: "*",
      before: (fake) => {
        fake.create(MACHINES, "Machine", machine("node-1", { host: "192.0.2.1" }, "default"));
        fake.create(MACHINES, "Machine", machine("node-1", { host: "192.0.2.2" }));
        fake.create(MACHINES, "Machine", machine("only", { host: "192.0.2.3" }));
        fake.create(MACHINES, "Machine", machine("a.default", { host: "192.0.2.4" }));
        fake.create("v1", "Secret", secret("node-1", { username: "u", password: "p" }, "default"));
      },
    });
    await lab.synced();
    const host = (name: string, namespace?: string) => lab.inventory.find(name, namespace)?.lockKey;

    expect(lab.names()).toEqual([
      "a.default.tink-system",
      "node-1.default",
      "node-1.tink-system",
      "only.tink-system",
    ]);
    expect(host("node-1", "default")).toBe("192.0.2.1");
    expect(host("node-1", NAMESPACE)).toBe("192.0.2.2");
    expect(host("node-1.default", "default")).toBe("192.0.2.1");
    expect(host("node-1.default")).toBe("192.0.2.1");
    expect(host("a.default", NAMESPACE)).toBe("192.0.2.4");
    expect(host("node-1")).toBeUndefined();
    expect(host("node-1.default", NAMESPACE)).toBeUndefined();
    expect(host("only", "default")).toBeUndefined();
    expect(host("only.tink-system", "default")).toBeUndefined();
    expect(host("a.default", "default")).toBeUndefined();
    const connection = await lab.connect("node-1", "default");
    expect(connection).toMatchObject({ machine: "node-1.default", host: "192.0.2.1", username: "u" });
  });

  it("are the object names in one namespace, for workflows of that namespace only", async () => {
    await using lab = await InventoryLab.start({
      before: (fake) => void fake.create(MACHINES, "Machine", machine("node-1")),
    });
    await lab.synced();

    const found = [undefined, NAMESPACE].map((namespace) => lab.inventory.find("node-1", namespace)?.name);
    expect(found).toEqual(["node-1", "node-1"]);
    expect(lab.inventory.find("node-1.tink-system", NAMESPACE)?.name).toBe("node-1");
    expect(lab.inventory.find("node-1", "default")).toBeUndefined();
    expect(lab.inventory.find("node-1.default", "default")).toBeUndefined();
  });
});

describe.concurrent("Hardware", () => {
  it("of v1alpha1 has the BMC of its Machine, and an action may name either", async ({ expect }) => {
    await using lab = await InventoryLab.start({
      sources: ["hardware"],
      before: (fake) => {
        fake.create(MACHINES, "Machine", machine("bmc-1"));
        fake.create(MACHINES, "Machine", machine("unlisted"));
        fake.create(HARDWARE, "Hardware", hardware("server-1", machineRef("bmc-1")));
        const asInTheManual = { kind: "machine.bmc.tinkerbell.org", name: "bmc-1" };
        fake.create(HARDWARE, "Hardware", hardware("server-2", asInTheManual));
        fake.create(HARDWARE, "Hardware", hardware("without", undefined));
        fake.create("v1", "Secret", secret("bmc-1", { username: "u", password: "p" }));
      },
    });
    await expect.poll(() => lab.changes, SOON).toEqual([{ added: ["server-1", "server-2"], removed: [] }]);

    expect(lab.names()).toEqual(["server-1", "server-2"]);
    expect(await lab.connect("server-1")).toMatchObject({ machine: "server-1", host: "bmc-1.bmc.example" });
    expect(await lab.connect("server-2")).toMatchObject({ machine: "server-2", host: "bmc-1.bmc.example" });
    expect(await lab.connect("bmc-1")).toMatchObject({ machine: "bmc-1", host: "bmc-1.bmc.example" });
    expect(lab.inventory.find("bmc-1")?.lockKey).toBe(lab.inventory.find("server-1")?.lockKey);
    expect(lab.inventory.find("unlisted")).toBeUndefined();
    expect(lab.inventory.find("without")).toBeUndefined();
    expect(lab.warnings()).toEqual([]);
  });

  it("of v1alpha1 follows its Machine when that comes later and when it changes", async ({ expect }) => {
    await using lab = await InventoryLab.start({
      sources: ["hardware"],
      before: (fake) => void fake.create(HARDWARE, "Hardware", hardware("server-1", machineRef("bmc-1"))),
    });
    await lab.synced();
    const missing = await lab.failure("server-1");
    lab.fake.create("v1", "Secret", secret("bmc-1", { username: "u", password: "p" }));
    lab.fake.create(MACHINES, "Machine", machine("bmc-1", { host: "192.0.2.1" }));
    await expect.poll(() => lab.inventory.find("server-1")?.lockKey, SOON).toBe("192.0.2.1");

    expect(missing.class).toBe("usage");
    expect(missing.message).toBe(
      "machine server-1: Hardware tink-system/server-1: spec.bmcRef names the Machine bmc-1, which does not exist",
    );
    expect((await lab.connect("server-1")).host).toBe("192.0.2.1");
  });

  it.each([
    ["another kind", { apiGroup: "example.org", kind: "Bmc", name: "x" }, "names a Bmc of example.org"],
    [
      "another kind of that name",
      { apiGroup: "other.example", kind: "Machine", name: "x" },
      "names a Machine of other.example",
    ],
    ["the core group", { kind: "Secret", name: "x" }, "names a Secret"],
  ])("of v1alpha1 that refers to %s is invalid, with the reason", async (_, reference, reason) => {
    await using lab = await InventoryLab.start({
      sources: ["hardware"],
      before: (fake) => void fake.create(HARDWARE, "Hardware", hardware("server-1", reference)),
    });
    await lab.synced();

    expect((await lab.failure("server-1")).message).toBe(
      `machine server-1: Hardware tink-system/server-1: spec.bmcRef ${reason}: only a Machine of bmc.tinkerbell.org is understood`,
    );
  });

  it("of v1alpha2 has its own connection and boot mode, and needs no Machines", async ({ expect }) => {
    await using lab = await InventoryLab.start({
      fake: { crds: ["v1alpha2"] },
      sources: ["hardware"],
      before: (fake) => {
        fake.create(NEW_HARDWARE, "Hardware", newHardware("server-1"));
        fake.create(NEW_HARDWARE, "Hardware", newHardware("server-2", {}, { bootMode: "BIOS" }));
        fake.create("v1", "Secret", secret("server-1", { username: "u", password: "p" }));
        fake.create("v1", "Secret", secret("server-2", { username: "u", password: "p" }));
      },
    });
    await expect.poll(() => lab.changes, SOON).toEqual([{ added: ["server-1", "server-2"], removed: [] }]);

    expect(await lab.connect("server-1")).toMatchObject({ host: "server-1.bmc.example", username: "u" });
    expect((await lab.connect("server-2")).bootMode).toBe("legacy");
    expect(lab.fake.countBy(undefined, "machines")).toBe(0);
    expect(lab.warnings()).toEqual([]);
    expect(lab.watches()).toEqual([
      { resource: "hardware.tinkerbell.org/v1alpha2", state: "watching", objects: 2 },
      { resource: "hardware.tinkerbell.org/v1alpha1", state: "absent", objects: 0 },
    ]);
  });

  it("that both versions serve is one machine, with the data of whichever has it", async ({ expect }) => {
    await using lab = await InventoryLab.start({
      fake: BOTH,
      sources: ["hardware"],
      before: (fake) => {
        fake.create(MACHINES, "Machine", machine("old"));
        fake.create(HARDWARE, "Hardware", hardware("server-1", machineRef("old")));
        fake.create(NEW_HARDWARE, "Hardware", newHardware("server-1", { host: "new.example" }));
        fake.create(HARDWARE, "Hardware", hardware("server-2", machineRef("old")));
        fake.create(NEW_HARDWARE, "Hardware", {
          metadata: { name: "server-2", namespace: NAMESPACE },
          spec: {},
        });
      },
    });
    await lab.synced();

    expect(lab.names()).toEqual(["server-1", "server-2"]);
    await expect.poll(() => lab.inventory.find("server-1")?.lockKey, SOON).toBe("new.example");
    await expect.poll(() => lab.inventory.find("server-2")?.lockKey, SOON).toBe("old.bmc.example");
    await expect.poll(() => lab.changes, SOON).toEqual([{ added: ["server-1", "server-2"], removed: [] }]);
    expect(lab.warnings()).toEqual([]);
  });

  it("is overridden by a Machine of the same name if both are sources, with a warning if its BMC differs", async ({
    expect,
  }) => {
    await using lab = await InventoryLab.start({
      sources: ["hardware", "machines"],
      before: (fake) => {
        fake.create(MACHINES, "Machine", machine("same"));
        fake.create(MACHINES, "Machine", machine("twin"));
        fake.create(MACHINES, "Machine", machine("bmc-9"));
        fake.create(HARDWARE, "Hardware", hardware("same", machineRef("same")));
        fake.create(HARDWARE, "Hardware", hardware("twin", machineRef("bmc-9")));
      },
    });
    await expect.poll(() => lab.changes, SOON).toHaveLength(1);

    expect(lab.names()).toEqual(["bmc-9", "same", "twin"]);
    expect(lab.inventory.find("twin")?.lockKey).toBe("twin.bmc.example");
    const problem = "its name is that of Machine tink-system/twin, which has another BMC";
    await expect
      .poll(() => lab.warnings().map(({ fields }) => fields), SOON)
      .toEqual([{ object: "Hardware tink-system/twin", problem }]);
  });
});

describe.concurrent("a waiting action", () => {
  it("is not run on another BMC than the one it waited for", async ({ expect }) => {
    await using lab = await InventoryLab.start({
      before: (fake) => {
        fake.create(MACHINES, "Machine", machine("node-1"));
        fake.create("v1", "Secret", secret("node-1", { username: "u", password: "p" }));
      },
    });
    await lab.synced();
    const waiting = lab.inventory.find("node-1", NAMESPACE);
    if (!waiting) throw new Error("there is no node-1");

    lab.fake.patch(MACHINES, "Machine", "node-1", { spec: { connection: { host: "192.0.2.9" } } }, NAMESPACE);
    await expect.poll(() => lab.inventory.find("node-1")?.lockKey, SOON).toBe("192.0.2.9");

    await expect(lab.inventory.resolveConnection(waiting, reading())).rejects.toMatchObject({
      class: "usage",
      message: "machine node-1: its BMC in the cluster changed while the action waited",
    });
    expect(lab.inventory.mountedConnection(waiting, NAMESPACE)).toBeUndefined();
    lab.fake.remove(MACHINES, "Machine", "node-1", NAMESPACE);
    await expect.poll(() => lab.names(), SOON).toEqual([]);
    await expect(lab.inventory.resolveConnection(waiting, reading())).rejects.toMatchObject({
      class: "usage",
      message: "machine node-1: the cluster does not have it any more",
    });
  });

  it("uses other changes made meanwhile", async ({ expect }) => {
    await using lab = await InventoryLab.start({
      before: (fake) => {
        fake.create(MACHINES, "Machine", machine("node-1"));
        fake.create("v1", "Secret", secret("node-1", { username: "u", password: "p" }));
        fake.create("v1", "Secret", secret("other", { username: "other", password: "p" }));
      },
    });
    await lab.synced();
    const waiting = lab.inventory.find("node-1", NAMESPACE);
    if (!waiting) throw new Error("there is no node-1");

    const change = { authSecretRef: { name: "other" } };
    lab.fake.patch(MACHINES, "Machine", "node-1", { spec: { connection: change } }, NAMESPACE);

    const username = async () => (await lab.inventory.resolveConnection(waiting, reading())).username;
    await expect.poll(username, SOON).toBe("other");
  });
});

describe.concurrent("an invalid object", () => {
  it("is a machine whose actions fail with all of its problems", async ({ expect }) => {
    const providerOptions = { redfish: { port: 70_000 }, ipmitool: { cipherSuite: "2" } };
    await using lab = await InventoryLab.start({
      before: (fake) => {
        const broken = { host: "https://192.0.2.1", authSecretRef: {}, providerOptions };
        fake.create(MACHINES, "Machine", machine("node-1", broken));
        fake.create("v1", "Secret", secret("node-1", { username: "u", password: "p" }));
      },
    });
    await lab.synced();

    const reason =
      "Machine tink-system/node-1: spec.connection.host must not have a scheme: use only the name or address; " +
      "spec.connection.providerOptions.redfish.port is not a port, 1 to 65535; " +
      "spec.connection.providerOptions.ipmitool.cipherSuite must be one of 3, 17; " +
      "spec.connection.authSecretRef.name is missing";
    const failure = await lab.failure("node-1");
    expect(failure.class).toBe("usage");
    expect(
      new Set(failure.message.replace("machine node-1: Machine tink-system/node-1: ", "").split("; ")),
    ).toEqual(new Set(reason.replace("Machine tink-system/node-1: ", "").split("; ")));
    expect(lab.names()).toEqual(["node-1"]);
    expect(lab.inventory.state()).toMatchObject({ machines: 1, unusable: [{ name: "node-1" }] });
    await expect
      .poll(() => lab.warnings().map(({ message, fields }) => [message, fields["machine"]]), SOON)
      .toEqual([["invalid Machine object", "node-1"]]);

    const fixed = { host: "192.0.2.1", authSecretRef: { name: "node-1" }, providerOptions: null };
    lab.fake.patch(MACHINES, "Machine", "node-1", { spec: { connection: fixed } }, NAMESPACE);
    await expect.poll(() => lab.inventory.state().unusable, SOON).toEqual([]);
    expect((await lab.connect("node-1")).host).toBe("192.0.2.1");
  });

  it("has its own log line only up to a limit", async ({ expect }) => {
    await using lab = await InventoryLab.start({
      before: (fake) => {
        for (let index = 0; index < 50; index += 1) {
          fake.create(MACHINES, "Machine", machine(`node-${index}`, { host: "a b" }));
        }
      },
    });

    await expect.poll(() => lab.warnings().length, SOON).toBe(21);
    expect(lab.warnings().at(-1)).toMatchObject({
      message: "more invalid Machine objects",
      fields: { others: 30 },
    });
  });
});

describe.concurrent("a missing right", () => {
  const watchMachines = {
    apiGroups: ["bmc.tinkerbell.org"],
    resources: ["machines"],
    verbs: ["list", "watch"],
    namespaces: [NAMESPACE],
  };

  it("on a Secret fails the action with the rule to add", async () => {
    await using lab = await InventoryLab.start({
      rights: [watchMachines],
      before: (fake) => {
        fake.create(MACHINES, "Machine", machine("node-1"));
        fake.create("v1", "Secret", secret("node-1", { username: "u", password: "canary-1" }));
      },
    });
    await lab.synced();

    const failure = await lab.failure("node-1");
    expect(failure.class).toBe("usage");
    expect(failure.message).toBe(
      "machine node-1: Secret tink-system/node-1 may not be read: grant the worker get on secrets in tink-system",
    );
    expect(lab.warnings()).toEqual([]);
  });

  it("on Machines is the reason of an invalid Hardware of v1alpha1", async ({ expect }) => {
    await using lab = await InventoryLab.start({
      sources: ["hardware"],
      rights: [{ apiGroups: ["tinkerbell.org"], resources: ["hardware"], verbs: ["list", "watch"] }],
      before: (fake) => {
        fake.create(MACHINES, "Machine", machine("bmc-1"));
        fake.create(HARDWARE, "Hardware", hardware("server-1", machineRef("bmc-1")));
      },
    });
    const synced = await lab.inventory.synced(AbortSignal.timeout(20_000));

    expect(synced.ok).toBe(false);
    await expect
      .poll(async () => (await lab.failure("server-1")).message, SOON)
      .toMatch(/spec\.bmcRef names the Machine bmc-1, and Machines cannot be seen: .*forbidden/);
  });
});

describe.concurrent("kinds without a CRD", () => {
  it("are logged once, do not delay the start, and count once installed", async ({ expect }) => {
    await using lab = await InventoryLab.start({
      fake: { crds: [] },
      clock: scaledClock(20),
      sources: ["machines", "hardware"],
    });

    const synced = await lab.inventory.synced(AbortSignal.timeout(20_000));
    expect(synced).toMatchObject({
      ok: false,
      reason: expect.stringMatching(/^the cluster does not serve /),
    });
    const message = "CRD not installed";
    await expect
      .poll(() => lab.warnings(), SOON)
      .toEqual([
        { level: "warn", message, fields: { resource: "machines.bmc.tinkerbell.org" } },
        { level: "warn", message, fields: { resource: "hardware.tinkerbell.org" } },
      ]);

    lab.fake.addCrds("v1alpha1");
    lab.fake.create(MACHINES, "Machine", machine("node-1"));
    await expect.poll(() => lab.names(), SOON).toEqual(["node-1"]);
    await expect.poll(() => lab.changes, SOON).toEqual([{ added: ["node-1"], removed: [] }]);
  });

  it("that were replaced by another version leave no machines", async ({ expect }) => {
    await using lab = await InventoryLab.start({
      fake: BOTH,
      clock: scaledClock(20),
      sources: ["hardware"],
      before: (fake) => {
        fake.create(MACHINES, "Machine", machine("bmc-1"));
        fake.create(HARDWARE, "Hardware", hardware("left-over", machineRef("bmc-1")));
        fake.create(NEW_HARDWARE, "Hardware", newHardware("server-1"));
      },
    });
    await expect.poll(() => lab.changes, SOON).toEqual([{ added: ["left-over", "server-1"], removed: [] }]);

    await lab.fake.watchGap(`${HARDWARE}/Hardware`, () => lab.fake.removeCrds(HARDWARE));
    lab.fake.dropWatches({ resource: "hardware" });

    await expect.poll(() => lab.changes[1], SOON).toEqual({ added: [], removed: ["left-over"] });
    expect(lab.names()).toEqual(["server-1"]);
  });

  it("do not delay the start beyond its signal, nor does an unresponsive API", async () => {
    await using lab = await InventoryLab.start();
    await lab.fake.stop();

    const synced = await lab.inventory.synced(AbortSignal.timeout(300));
    expect(synced.ok ? "synced" : synced.reason).toMatch(/machines\.bmc\.tinkerbell\.org/);
  });
});

describe.concurrent("the inventory's log", () => {
  it("logs once, for users of Rufio, that certificates are verified", async ({ expect }) => {
    await using lab = await InventoryLab.start({
      before: (fake) => {
        fake.create(MACHINES, "Machine", machine("verified", { insecureTLS: false }));
        fake.create(MACHINES, "Machine", machine("unverified"));
      },
    });
    await expect.poll(() => lab.changes, SOON).toHaveLength(1);
    lab.fake.create(MACHINES, "Machine", machine("third", { insecureTLS: false }));
    await expect.poll(() => lab.changes, SOON).toHaveLength(2);

    expect(lab.said.filter(({ level }) => level === "info")).toEqual([
      {
        level: "info",
        message: "verifying BMC certificates unless insecureTLS is true",
        fields: { machines: 1 },
      },
    ]);
  });

  it("contains no secret, whatever fails", async () => {
    const canary = "canary-7f3a";
    await using lab = await InventoryLab.start({
      before: (fake) => {
        fake.create(MACHINES, "Machine", machine("node-1"));
        fake.create("v1", "Secret", secret("node-1", { username: canary, password: `${canary}\n${canary}` }));
      },
    });
    await lab.synced();

    const failure = await lab.failure("node-1");
    expect(failure.message).toBe(
      "machine node-1: Secret tink-system/node-1: its key password holds more than one line",
    );
    expect(inspect([failure, lab.said, lab.inventory.state()], { depth: 10 })).not.toContain(canary);
  });
});

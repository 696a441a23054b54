import { describe, expect, it } from "vitest";
import { CombinedInventory } from "../../../../worker/machines/combined-inventory.ts";
import { fileInventory } from "../../../../worker/machines/file-inventory.ts";
import { MachineEntry } from "../../../../worker/machines/inventory-schema.ts";
import { allowNamespaces, bindClaim, createHost, detached, HOSTS, METAL3 } from "./host-lab.ts";
import {
  failureOf,
  HARDWARE,
  InventoryLab,
  MACHINES,
  machine,
  NAMESPACE,
  reading,
  SOON,
  secret,
} from "./inventory-lab.ts";

const OWN = "pbnj-worker/paused";
const RACK = { fake: HOSTS, sources: ["baremetalhosts"] } as const;

async function machineLab(sources: readonly ("machines" | "hardware")[] = ["machines"]) {
  const lab = await InventoryLab.start({
    sources,
    before: (fake) => {
      fake.create(MACHINES, "Machine", machine("r1"));
      fake.create("v1", "Secret", secret("r1", { username: "u", password: "p" }));
      fake.create(HARDWARE, "Hardware", {
        metadata: { name: "h1", namespace: NAMESPACE },
        spec: { bmcRef: { kind: "Machine", name: "r1" } },
      });
    },
  });
  await lab.synced();
  const pause = (kind: "Machine" | "Hardware", name: string, value: string | null) =>
    lab.fake.patch(
      kind === "Machine" ? MACHINES : HARDWARE,
      kind,
      name,
      { metadata: { annotations: { [OWN]: value } } },
      NAMESPACE,
    );
  return Object.assign(lab, { pause });
}

describe("a machine whose object is paused", () => {
  it("keeps its BMC, has the reason, and is in service again without the annotation", async () => {
    await using lab = await machineLab();
    const before = lab.inventory.find("r1");
    lab.pause("Machine", "r1", "fan\u001b[31m\nreplacement");
    const by = `annotation ${OWN} of Machine ${NAMESPACE}/r1`;

    await expect
      .poll(() => lab.inventory.machines(), SOON)
      .toEqual([{ ...before, paused: { reason: "fan replacement", by } }]);
    const failure = await lab.failure("r1", NAMESPACE);
    expect([failure.class, failure.message]).toEqual([
      "state",
      `machine r1 is paused: fan replacement (${by})`,
    ]);
    expect(lab.fake.countBy("get", "secrets")).toBe(0);
    expect(lab.inventory.state().unusable).toEqual([]);
    await expect
      .poll(() => lab.said, SOON)
      .toContainEqual({
        level: "info",
        message: "paused machine left alone",
        fields: { machine: "r1", reason: `paused: fan replacement (${by})` },
      });

    lab.pause("Machine", "r1", null);
    await expect.poll(() => lab.inventory.machines(), SOON).toEqual([before]);
  });

  it("is paused for a Hardware that names it, and the Hardware's own annotation does the same", async () => {
    await using lab = await machineLab(["hardware"]);
    const by = () => lab.inventory.find("h1")?.paused?.by;
    lab.pause("Machine", "r1", "x");
    await expect.poll(by, SOON).toBe(`annotation ${OWN} of Machine ${NAMESPACE}/r1`);

    lab.pause("Hardware", "h1", "y");
    await expect.poll(by, SOON).toBe(`annotation ${OWN} of Hardware ${NAMESPACE}/h1`);
  });

  it("is paused even if an inventory file has a machine of this name", async () => {
    await using lab = await machineLab();
    const entry = MachineEntry.parse({
      ...{ name: "r1", host: "file.example" },
      credentials: { username: "file", passwordEnv: "P" },
    });
    const inventory = new CombinedInventory(fileInventory([entry], { P: "p" }));
    inventory.join(lab.inventory);
    const found = () => inventory.find("r1");
    expect(found()).toHaveProperty("paused", undefined);
    lab.pause("Machine", "r1", "fan replacement");

    await expect.poll(() => found()?.paused?.reason, SOON).toBe("fan replacement");
    expect(inventory.machines()).toEqual([found()]);
    const one = inventory.machines()[0];
    if (!one) throw new Error("no machine");
    expect(await failureOf(() => inventory.resolveConnection(one, reading()))).toMatchObject({
      class: "state",
    });
  });
});

describe("a paused BareMetalHost", () => {
  const annotations = { ...detached.annotations, [OWN]: "new disks in rack 7" };

  it("keeps its BMC, and its claim does not tell the operator's reason", async () => {
    await using lab = await InventoryLab.start({
      ...RACK,
      watchNamespace: "*",
      before: (fake) => {
        createHost(fake, "node-7", { ...detached, annotations });
        allowNamespaces(fake, { names: ["tenant"] });
        bindClaim(fake, "db", "node-7");
      },
    });
    await lab.synced();

    expect(lab.inventory.machines()).toMatchObject([
      { lockKey: "node-7.bmc.example", paused: { reason: "new disks in rack 7" } },
    ]);
    expect(lab.inventory.find("claim/db", "tenant")).toEqual({
      name: "claim/db.tenant",
      lockKey: "node-7.bmc.example",
      paused: { reason: "ask the operator for the reason", by: "its host" },
    });
  });

  it("is left alone at launch even if the watch has not seen it yet", async () => {
    await using lab = await InventoryLab.start({
      ...RACK,
      before: (fake) => createHost(fake, "one", detached),
    });
    await lab.synced();
    await expect.poll(() => lab.fake.openWatches("baremetalhosts").length, SOON).toBe(1);

    const failure = await lab.fake
      .watchGap("BareMetalHost", () => {
        lab.fake.patch(METAL3, "BareMetalHost", "one", { metadata: { annotations } }, NAMESPACE);
      })
      .then(() => lab.failure("one", NAMESPACE));

    expect(failure).toMatchObject({
      class: "state",
      message: expect.stringContaining("new disks in rack 7"),
    });
  });
});

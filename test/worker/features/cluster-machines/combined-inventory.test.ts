import { describe, expect, it } from "vitest";
import { CombinedInventory } from "../../../../worker/machines/combined-inventory.ts";
import { fileInventory } from "../../../../worker/machines/file-inventory.ts";
import type { Inventory } from "../../../../worker/machines/inventory.ts";
import { MachineEntry } from "../../../../worker/machines/inventory-schema.ts";
import { keptLog } from "../../../support/kept-log.ts";
import { InventoryLab, MACHINES, machine, NAMESPACE, reading, SOON, secret } from "./inventory-lab.ts";

const ENV = { FILE_PASSWORD: "of the file" };

function file(...names: readonly string[]): Inventory {
  const credentials = { username: "file", passwordEnv: "FILE_PASSWORD" };
  return fileInventory(
    names.map((name) =>
      MachineEntry.parse({ name, host: `${name}.file.example`, credentials, desired: { power: "on" } }),
    ),
    ENV,
  );
}

async function start(names: readonly string[]): Promise<InventoryLab> {
  const lab = await InventoryLab.start({
    before: (fake) => {
      for (const name of names) {
        fake.create(MACHINES, "Machine", machine(name));
        fake.create("v1", "Secret", secret(name, { username: "cluster", password: "of the cluster" }));
      }
    },
  });
  await lab.synced();
  return lab;
}

describe("a file's machines and a cluster's together", () => {
  it("are one list, the file's first, and each is connected to by its own", async () => {
    await using lab = await start(["both", "cluster-1"]);
    const { said, log } = keptLog();
    const inventory = new CombinedInventory(file("file-1", "both"), log);
    inventory.join(lab.inventory);

    expect(inventory.machines().map(({ name }) => name)).toEqual(["file-1", "both", "cluster-1"]);
    expect(inventory.machines()).toBe(inventory.machines());
    const usernames = ["file-1", "both", "cluster-1"].map(async (name) => {
      const found = inventory.find(name, NAMESPACE);
      return found && (await inventory.resolveConnection(found, reading())).username;
    });
    expect(await Promise.all(usernames)).toEqual(["file", "file", "cluster"]);
    expect(inventory.find("cluster-1", "default")).toBeUndefined();
    expect(inventory.desiredState("both")).toEqual({ power: "on" });
    expect(inventory.desiredState("cluster-1")).toBeUndefined();
    expect(said).toEqual([
      {
        level: "warn",
        message: "duplicate machine: inventory file overrides cluster",
        fields: { machine: "both" },
      },
    ]);

    lab.fake.create(MACHINES, "Machine", machine("cluster-2"));
    await expect
      .poll(() => inventory.machines().map(({ name }) => name), SOON)
      .toEqual(["file-1", "both", "cluster-1", "cluster-2"]);
    expect(said).toHaveLength(1);
  });

  it("are mounted where the cluster's Secrets are, and never for the file's", async () => {
    await using lab = await start(["both", "cluster-1"]);
    const inventory = new CombinedInventory(file("both"));
    inventory.join(lab.inventory);
    const filesOf = (name: string) => {
      const found = inventory.find(name);
      return found && inventory.mountedConnection(found, NAMESPACE)?.files.length;
    };

    expect(filesOf("cluster-1")).toBe(2);
    expect(filesOf("both")).toBeUndefined();
  });

  it("send nothing to the file's BMC for an action that waited for the cluster's", async () => {
    await using lab = await start(["node-1"]);
    const inventory = new CombinedInventory(file());
    inventory.join(lab.inventory);
    const waiting = inventory.find("node-1", NAMESPACE);
    if (!waiting) throw new Error("there is no node-1");

    inventory.replace(file("node-1"));

    await expect(inventory.resolveConnection(waiting, reading())).rejects.toMatchObject({
      class: "usage",
      message: expect.stringContaining("its BMC in the inventory changed"),
    });
    expect(inventory.machines().map(({ name }) => name)).toEqual(["node-1"]);
    expect(inventory.find("node-1")?.lockKey).toBe("node-1.file.example");
  });
});

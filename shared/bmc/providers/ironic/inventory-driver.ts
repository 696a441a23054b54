import * as z from "zod/mini";
import { BmcError } from "../../../contract/bmc-error.ts";
import { defined } from "../../../defined.ts";
import type { Hardware, InventoryDriver } from "../../operations/inventory.ts";
import { NotFound } from "./api.ts";
import type { IronicNode } from "./node.ts";

const INVENTORY_MINOR = 81;
const MIB = 1024 ** 2;

const Text = z.catch(z.optional(z.string()), undefined);
const Amount = z.catch(z.optional(z.number().check(z.nonnegative())), undefined);

/** A disk in the format of ironic-python-agent and of Ironic's own inspection. */
const Disk = z.object({
  name: Text,
  model: Text,
  serial: Text,
  size: Amount,
  rotational: z.catch(z.optional(z.boolean()), undefined),
});
const Interface = z.object({
  name: Text,
  mac_address: Text,
  speed_mbps: Amount,
  has_carrier: z.catch(z.optional(z.boolean()), undefined),
});
const Inventory = z.object({
  inventory: z.object({
    cpu: z.catch(z.optional(z.object({ count: Amount, model_name: Text })), undefined),
    memory: z.catch(z.optional(z.object({ physical_mb: Amount })), undefined),
    disks: z.catch(z.array(Disk), []),
    interfaces: z.catch(z.array(Interface), []),
    system_vendor: z.catch(
      z.optional(
        z.object({
          manufacturer: Text,
          product_name: Text,
          serial_number: Text,
          system_uuid: Text,
          firmware: z.catch(z.optional(z.object({ version: Text })), undefined),
        }),
      ),
      undefined,
    ),
  }),
});

/** The hardware that the node's last inspection found. */
export function ironicInventory(node: IronicNode): InventoryDriver {
  return {
    async read(signal) {
      node.api.require(INVENTORY_MINOR, "inventories");
      const path = node.path("/inventory");
      const parsed = Inventory.safeParse(await inspected(node.api.call({ method: "GET", path }, signal)));
      if (!parsed.success) throw new BmcError("protocol", `GET /v1${path} did not return an inventory`);
      return hardwareOf(parsed.data.inventory);
    },
  };
}

async function inspected(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (thrown) {
    if (!(thrown instanceof NotFound)) throw thrown;
    throw new BmcError("unsupported", `${thrown.message}: the node has not been inspected`);
  }
}

function hardwareOf({
  cpu,
  memory,
  disks,
  interfaces,
  system_vendor: vendor,
}: z.infer<typeof Inventory>["inventory"]): Hardware {
  const megabytes = memory?.physical_mb;
  return {
    system: defined({
      vendor: vendor?.manufacturer,
      model: vendor?.product_name,
      serial: vendor?.serial_number,
      uuid: vendor?.system_uuid,
      biosVersion: vendor?.firmware?.version,
      memoryBytes: megabytes === undefined ? undefined : megabytes * MIB,
    }),
    // `count` is the number of logical processors of the whole machine.
    processors: cpu ? [{ name: "cpu", ...defined({ model: cpu.model_name, threads: cpu.count }) }] : [],
    memory: [],
    disks: disks.map(({ name, model, serial, size, rotational }, index) => ({
      name: name ?? `disk ${index + 1}`,
      ...defined({
        model,
        serial,
        bytes: size,
        kind: rotational === undefined ? undefined : rotational ? "HDD" : "SSD",
      }),
    })),
    nics: interfaces.map(({ name, mac_address: mac, speed_mbps: speedMbps, has_carrier: up }, index) => ({
      name: name ?? `nic ${index + 1}`,
      ...defined({ mac, speedMbps, up }),
    })),
    firmware: [],
  };
}

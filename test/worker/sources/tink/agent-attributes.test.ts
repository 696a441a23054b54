import { type DescMessage, type MessageShape, toBinary, toJson } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { describe, expect, test } from "vitest";
import { reference } from "../../../../actions/inventory/reference.ts";
import type { Hardware } from "../../../../shared/bmc/operations/inventory.ts";
import { agentAttributes } from "../../../../worker/sources/tink/agent-attributes.ts";
import {
  AgentAttributesSchema,
  BlockSchema,
  MemorySchema,
  NetworkSchema,
} from "../../../../worker/sources/tink/gen/workflow_pb.ts";

const nothing: Hardware = { system: {}, processors: [], memory: [], disks: [], nics: [], firmware: [] };
const json = (hardware: Partial<Hardware>) =>
  toJson(AgentAttributesSchema, agentAttributes({ ...nothing, ...hardware }));

/** The numbers and kinds of a message's fields on the wire. */
function fieldsOf<Schema extends DescMessage>(
  schema: Schema,
  message: MessageShape<Schema>,
): readonly string[] {
  const reader = new BinaryReader(toBinary(schema, message));
  const fields: string[] = [];
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    reader.skip(type);
    fields.push(`${number} ${type === WireType.LengthDelimited ? "text" : "number"}`);
  }
  return fields;
}

describe("agent attributes", () => {
  test("say what Tinkerbell's agent says of the same machine, in its units", () => {
    expect(json(reference.result.data as Hardware)).toEqual({
      cpu: {
        totalCores: 16,
        totalThreads: 32,
        processors: [{ id: 0, cores: 16, threads: 32, vendor: "Contoso", model: "Contoso Fast 9000" }],
      },
      memory: { total: "32GB", totalBytes: "34359738368" },
      block: [
        {
          ...{
            name: "Disk 0",
            controllerType: "SCSI",
            driveType: "SSD",
            size: "895GB",
            sizeBytes: "960197124096",
          },
          ...{ model: "Contoso Platter", serialNumber: "DISK-0" },
        },
      ],
      network: [{ name: "NIC.1", mac: "52:54:00:aa:bb:01", speed: "25000Mb/s", speedMbps: 25_000 }],
      chassis: { serial: "CH00000001", vendor: "Contoso" },
      bios: { version: "2.19.1" },
      baseboard: { vendor: "Contoso", product: "MB-7", serialNumber: "MB00000001" },
      product: { name: "3500", vendor: "Contoso", serialNumber: "CZ00000001" },
    });
  });

  test("leave out what is unknown, and texts that are no MAC address", () => {
    const processors = [{ name: "1", cores: 8 }, { name: "2" }];
    const disks = [{ name: "Disk 0", kind: "NVMe SSD" }];
    const nics = [{ name: "NIC", mac: "not one", speedMbps: 0 }];

    expect(json(nothing)).toEqual({});
    expect(json({ processors, disks, nics })).toEqual({
      cpu: { processors: [{ id: 0, cores: 8 }, { id: 1 }] },
      block: [{ name: "Disk 0", controllerType: "NVMe", driveType: "SSD" }],
      network: [{ name: "NIC" }],
    });
  });

  test.each([
    [1, "1B"],
    [1_024, "1KB"],
    [960_197_124_096, "895GB"],
    [7_681_501_126_656, "7TB"],
    [Number.MAX_SAFE_INTEGER, "8PB"],
  ])("round %i bytes up, as the agent does: %s", (memoryBytes, total) => {
    expect(json({ system: { memoryBytes } })).toEqual({ memory: { total, totalBytes: String(memoryBytes) } });
  });

  test("have numbers under the field numbers of Tinkerbell after its pull request 913, and texts under those before", () => {
    const { memory, block, network } = agentAttributes(reference.result.data as Hardware);

    expect(memory && fieldsOf(MemorySchema, memory)).toEqual(["1 text", "3 number"]);
    expect(block[0] && fieldsOf(BlockSchema, block[0])).toEqual(
      expect.arrayContaining(["4 text", "10 number"]),
    );
    expect(network[0] && fieldsOf(NetworkSchema, network[0])).toEqual([
      "1 text",
      "2 text",
      "3 text",
      "5 number",
    ]);
  });

  test("stay small, however many long texts the BMC reports", () => {
    const long = "\u{10ffff}".repeat(64);
    const disks = Array(128).fill({ name: long, vendor: long, model: long, serial: long });

    const attributes = agentAttributes({ ...nothing, system: { serial: "S1" }, disks });

    expect(toBinary(AgentAttributesSchema, attributes).length).toBeLessThan(64 * 1_024);
    expect(attributes.product?.serialNumber).toBe("S1");
    expect(attributes.block.length).toBeGreaterThan(0);
  });
});

import { describe, expect, it } from "vitest";
import {
  decodeBootFlags,
  encodeBootFlags,
  overrideOf,
  parseBootFlags,
} from "../../../../../shared/bmc/providers/ipmi/commands/boot-options.ts";
import type { BootDevice } from "../../../../../shared/contract/vocabulary.ts";
import { eventually, limit, openSession, startBmc } from "./bench.ts";

const PXE_ONCE_UEFI = { device: "pxe", persistent: false, mode: "uefi" } as const;

/** Values of boot option parameter 5 that the BMC is sent, in hex. */
function flagsSentTo(bmc: Awaited<ReturnType<typeof startBmc>>): string[] {
  const sent: string[] = [];
  bmc.faults.refuses = (name, data) => {
    if (name === "Set System Boot Options" && data[0] === 5) sent.push(data.toString("hex"));
    return undefined;
  };
  return sent;
}

describe("boot flags", () => {
  it.each([
    ["pxe", false, "uefi", "05a004000000"],
    ["pxe", true, "uefi", "05e004000000"],
    ["pxe", false, "legacy", "058004000000"],
    ["disk", true, "legacy", "05c008000000"],
    ["safe", false, "legacy", "05800c000000"],
    ["diag", false, "legacy", "058010000000"],
    ["cdrom", false, "uefi", "05a014000000"],
    ["bios", false, "uefi", "05a018000000"],
    ["floppy", false, "legacy", "05803c000000"],
    ["none", true, "uefi", "05a000000000"],
  ] as const)("for %s, persistent %s, %s are %4$s", async (device, persistent, mode, bytes) => {
    await using bmc = await startBmc();
    const sent = flagsSentTo(bmc);
    await using session = await openSession(bmc);
    const plan = await session.boot.plan({ device, persistent, mode }, limit());
    expect(sent).toEqual([]);

    await session.boot.write({ device, persistent, mode }, limit());

    expect(sent).toEqual([bytes]);
    expect(plan.replaceAll(" ", "")).toContain(`parameter5=${bytes.slice(2)}`);
    expect(await session.boot.read(limit())).toEqual(
      device === "none" ? { device } : { device, persistent, mode },
    );
  });

  it.each(["usb", "uefi-http"] as const)("have no word for %s, and nothing is sent", async (device) => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc);
    const request = { device, persistent: false, mode: "uefi" } as const;
    const before = bmc.received;

    await expect(session.boot.write(request, limit())).rejects.toMatchObject({ class: "unsupported" });
    await expect(session.boot.plan(request, limit())).rejects.toMatchObject({ class: "unsupported" });
    expect(bmc.received).toBe(before);
  });

  it("that are not valid are no override, whatever they hold", () => {
    expect(overrideOf(decodeBootFlags(Buffer.from("2004000000", "hex")))).toEqual({ device: "none" });
  });

  it("are no override when the BMC marks the parameter invalid", () => {
    const flags = parseBootFlags(Buffer.from("0185a004000000", "hex"));

    expect(overrideOf(flags)).toEqual({ device: "none" });
    expect(flags.efi).toBe(true);
  });

  it("with a selector of no device here are unknown", () => {
    expect(overrideOf(decodeBootFlags(Buffer.from("801c000000", "hex"))).device).toBe("unknown");
  });

  it("are a protocol error when cut short or about another parameter", () => {
    expect(() => parseBootFlags(Buffer.from("0105a0", "hex"))).toThrow("shorter");
    expect(() => parseBootFlags(Buffer.from("010300", "hex"))).toThrow("not about the boot flags");
    expect(() => parseBootFlags(Buffer.alloc(0))).toThrow("not about the boot flags");
  });

  it("are read from every byte pattern that this client writes", () => {
    for (let selector = 0; selector < 16; selector += 1) {
      for (const bits of [0, 1, 2, 3, 4, 5, 6, 7]) {
        const flags = {
          valid: (bits & 4) > 0,
          persistent: (bits & 2) > 0,
          efi: (bits & 1) > 0,
          selector,
        };
        expect(decodeBootFlags(encodeBootFlags(flags))).toEqual(flags);
      }
    }
  });
});

describe("mode keep", () => {
  it.each(["uefi", "legacy"] as const)("repeats the mode %s that the BMC holds", async (mode) => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc);
    await session.boot.write({ device: "disk", persistent: true, mode }, limit());
    await using other = await openSession(bmc);

    await other.boot.write({ device: "pxe", persistent: false, mode: "keep" }, limit());

    expect(await other.boot.read(limit())).toEqual({ device: "pxe", persistent: false, mode });
  });

  it("does not ask again for what this session has read", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc);
    await session.boot.read(limit());
    const before = session.roundTrips();

    await session.boot.write({ device: "pxe", persistent: false, mode: "keep" }, limit());

    expect(session.roundTrips() - before).toBe(1);
  });
});

describe("the expiry of boot flags", () => {
  it("is stopped", async () => {
    await using bmc = await startBmc({ bootFlagExpiryMs: 30 });
    await using session = await openSession(bmc);

    await session.boot.write(PXE_ONCE_UEFI, limit());
    await new Promise((resolve) => setTimeout(resolve, 100));

    expect(await session.boot.read(limit())).toEqual(PXE_ONCE_UEFI);
  });

  it("is left to a BMC that does not let it be stopped, and shows when read", async () => {
    await using bmc = await startBmc({ bootFlagExpiryMs: 200, bootFlagExpiryCanBeStopped: false });
    await using session = await openSession(bmc);

    await session.boot.write(PXE_ONCE_UEFI, limit());
    expect(bmc.machine.override).toMatchObject({ device: "pxe", enabled: "once" });

    await eventually(() => bmc.machine.override.enabled === "disabled");
    expect(await session.boot.read(limit())).toEqual({ device: "none" });
  });

  it("does not matter where nothing is overridden", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc);
    await session.boot.write(PXE_ONCE_UEFI, limit());
    const before = bmc.log.length;

    await session.boot.write({ device: "none", persistent: false, mode: "uefi" }, limit());

    expect(bmc.log.slice(before)).toEqual(["Set System Boot Options"]);
    expect(bmc.machine.override.enabled).toBe("disabled");
  });
});

describe("a boot", () => {
  it("uses an override up that was for once, and keeps a persistent one", async () => {
    await using bmc = await startBmc({ machine: { power: "on" } });
    await using session = await openSession(bmc);
    await session.boot.write(PXE_ONCE_UEFI, limit());

    await session.power.send("reset", limit());
    expect(bmc.machine.lastBoot).toMatchObject({ device: "pxe", mode: "uefi", overridden: true });
    expect(await session.boot.read(limit())).toEqual({ device: "none" });

    await session.boot.write({ ...PXE_ONCE_UEFI, persistent: true }, limit());
    await session.power.send("reset", limit());
    expect(await session.boot.read(limit())).toEqual({ ...PXE_ONCE_UEFI, persistent: true });
  });
});

describe("refusals", () => {
  it("of the flags are errors", async () => {
    await using bmc = await startBmc();
    bmc.faults.refuses = (name, data) =>
      name === "Set System Boot Options" && data[0] === 5 ? 0x81 : undefined;
    await using session = await openSession(bmc);

    await expect(session.boot.write(PXE_ONCE_UEFI, limit())).rejects.toMatchObject({
      class: "busy",
      message: expect.stringContaining("another console"),
    });
  });

  it("to report flags that nothing has set do not keep them from being set", async () => {
    await using bmc = await startBmc();
    let isSet = false;
    bmc.faults.refuses = (name) => {
      isSet ||= name === "Set System Boot Options";
      return name === "Get System Boot Options" && !isSet ? 0x80 : undefined;
    };
    await using session = await openSession(bmc);

    const before = await session.boot.read(limit());
    await session.boot.write({ ...PXE_ONCE_UEFI, mode: "keep" }, limit());

    expect(before).toBeUndefined();
    expect(await session.boot.read(limit())).toEqual({ ...PXE_ONCE_UEFI, mode: "legacy" });
  });
});

describe("a Supermicro BMC", () => {
  const disk = { device: "disk" as BootDevice, persistent: false, mode: "uefi" } as const;

  it("gets its own selector for a UEFI disk, which reads back as disk, and is remembered", async () => {
    await using bmc = await startBmc({ manufacturer: 10_876 });
    const sent = flagsSentTo(bmc);
    await using session = await openSession(bmc);

    await session.boot.write(disk, limit());
    expect(sent).toEqual(["05a024000000"]);
    expect(session.hint()).toEqual({ cipherSuite: 17, manufacturer: 10_876 });

    await using next = await openSession(bmc, { hint: session.hint() });
    expect(await next.boot.read(limit())).toEqual(disk);
    expect(bmc.log.filter((name) => name === "Get Device ID")).toHaveLength(1);
  });

  it("gets the standard selector for a legacy disk, without being asked who it is", async () => {
    await using bmc = await startBmc({ manufacturer: 10_876 });
    const sent = flagsSentTo(bmc);
    await using session = await openSession(bmc);

    await session.boot.write({ ...disk, mode: "legacy" }, limit());

    expect(sent).toEqual(["058008000000"]);
    expect(bmc.log).not.toContain("Get Device ID");
  });
});

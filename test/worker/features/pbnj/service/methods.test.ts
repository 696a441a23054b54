import { describe, expect, it, vi } from "vitest";
import { SCREEN } from "../../../../../simulators/redfish/manager.ts";
import { NetworkSource, ResetKind, UserRole } from "../../../../../worker/features/pbnj/api/gen/bmc_pb.ts";
import { BootDevice, PowerAction } from "../../../../../worker/features/pbnj/api/gen/machine_pb.ts";
import { direct, EXTERNAL, failure, pbnjLab } from "./pbnj-lab.ts";

const authn = EXTERNAL;

describe.concurrent("PBnJ's API", () => {
  it.each([
    ["a machine of the inventory", EXTERNAL],
    ["a BMC with its credentials", direct()],
  ])("reads and changes the power of %s", async (_, who) => {
    await using lab = await pbnjLab({ machine: { power: "off" } });
    await using pbnj = await lab.start();
    const power = (powerAction: PowerAction) => pbnj.ended(pbnj.machine.power({ authn: who, powerAction }));

    expect((await power(PowerAction.STATUS)).result).toBe("off");
    expect(await power(PowerAction.ON)).toMatchObject({
      description: "power action: POWER_ACTION_ON",
      state: "complete",
      complete: true,
      result: "power POWER_ACTION_ON complete",
      messages: expect.arrayContaining(["working on power action: POWER_ACTION_ON"]),
    });
    expect((await power(PowerAction.STATUS)).result).toBe("on");
    await power(PowerAction.RESET);
    await power(PowerAction.HARDOFF);
    // A machine that is off is powered on.
    await power(PowerAction.CYCLE);
    expect(lab.done()).toEqual(["on", "reset", "off", "on"]);
  });

  it("shuts down gracefully within soft_timeout, and forces the machine off without it", async () => {
    await using lab = await pbnjLab();
    await using pbnj = await lab.start();
    const power = (powerAction: PowerAction, softTimeout = 0) =>
      pbnj.ended(pbnj.machine.power({ authn, powerAction, softTimeout }));

    await power(PowerAction.OFF, 30);
    await power(PowerAction.ON);
    await power(PowerAction.OFF);

    expect(lab.done()).toEqual(["soft-off", "on", "off"]);
  });

  it("leaves a cycled machine off for off_duration", async () => {
    await using lab = await pbnjLab();
    await using pbnj = await lab.start();

    await pbnj.ended(pbnj.machine.power({ authn, powerAction: PowerAction.CYCLE, offDuration: 4 }));

    const [off, on] = lab.machine.commands;
    expect(lab.done()).toEqual(["off", "on"]);
    // Four seconds on `quickClock`.
    expect((on?.at ?? 0) - (off?.at ?? 0)).toBeGreaterThanOrEqual(1_000);
  });

  it.each([
    [BootDevice.PXE, "pxe"],
    [BootDevice.DISK, "disk"],
    [BootDevice.CDROM, "cdrom"],
    [BootDevice.BIOS, "bios"],
  ])("sets boot device %i", async (bootDevice, device) => {
    await using lab = await pbnjLab({ machine: { mode: "legacy" } });
    await using pbnj = await lab.start();
    const set = (persistent: boolean, efiBoot: boolean) =>
      pbnj.ended(pbnj.machine.bootDevice({ authn, bootDevice, persistent, efiBoot }));

    await set(true, false);
    expect(lab.machine.override).toEqual({ device, enabled: "continuous", mode: "legacy" });
    await set(false, true);
    expect(lab.machine.override).toEqual({ device, enabled: "once", mode: "uefi" });
  });

  it("clears the boot device", async () => {
    await using lab = await pbnjLab();
    await using pbnj = await lab.start();

    await pbnj.ended(pbnj.machine.bootDevice({ authn, bootDevice: BootDevice.PXE, persistent: true }));
    await pbnj.ended(pbnj.machine.bootDevice({ authn, bootDevice: BootDevice.NONE }));

    expect(lab.machine.override.enabled).toBe("disabled");
  });

  it("creates, changes and deletes users", async () => {
    await using lab = await pbnjLab();
    await using pbnj = await lab.start();
    const creds = (password: string, userRole: UserRole) => ({ username: "eve", password, userRole });
    const user = () => lab.redfish.accounts.find("eve");

    await pbnj.ended(pbnj.bmc.createUser({ authn, userCreds: creds("first-password-1", UserRole.ADMIN) }));
    expect(user()).toMatchObject({ password: "first-password-1", role: "Administrator", enabled: true });
    await pbnj.ended(pbnj.bmc.updateUser({ authn, userCreds: creds("second-password-2", UserRole.USER) }));
    expect(user()).toMatchObject({ password: "second-password-2", role: "Operator" });
    await pbnj.ended(
      pbnj.bmc.updateUser({ authn, userCreds: creds("third-password-3", UserRole.UNSPECIFIED) }),
    );
    expect(user()).toMatchObject({ password: "third-password-3", role: "Operator" });
    await pbnj.ended(pbnj.bmc.deleteUser({ authn, username: "eve" }));
    expect(user()?.enabled ?? false).toBe(false);
  });

  it.each([
    [ResetKind.COLD, "ForceRestart"],
    [ResetKind.WARM, "GracefulRestart"],
  ])("resets the BMC (%i)", async (resetKind, type) => {
    await using lab = await pbnjLab({ redfish: {} });
    await using pbnj = await lab.start();

    const { taskId } = await pbnj.bmc.reset({ authn, resetKind });

    await vi.waitFor(() => expect(lab.redfish.manager.resets).toEqual([type]), { timeout: 10_000 });
    expect(await pbnj.task.status({ taskId })).toMatchObject({ description: "bmc reset", state: "running" });
  });

  it("clears the event log, sends an NMI, takes a screenshot and ends SOL sessions", async () => {
    await using lab = await pbnjLab({ ipmi: { sol: [1] } });
    await using pbnj = await lab.start();

    lab.redfish.sel.add("Warning", "Fan 1 is slow.", "2026-01-15T18:53:25Z");
    await pbnj.ended(pbnj.diagnostic.clearSystemEventLog({ authn }));
    expect(lab.redfish.sel.entries).toEqual([]);
    await pbnj.diagnostic.sendNMI({ authn });
    expect(lab.done()).toEqual(["nmi"]);
    const { image, filetype } = await pbnj.diagnostic.screenshot({ authn });
    expect([Buffer.from(image).equals(SCREEN), filetype]).toEqual([true, "png"]);
    await pbnj.ended(pbnj.bmc.deactivateSOL({ authn }));
    expect(lab.ipmi.sol.size).toBe(0);
  });

  it("does not implement NetworkSource", async () => {
    await using lab = await pbnjLab();
    await using pbnj = await lab.start();

    const call = pbnj.bmc.networkSource({ authn, networkSource: NetworkSource.DHCP });

    expect(await failure(call)).toMatchObject({ code: "Unimplemented" });
  });
});

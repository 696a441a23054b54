import { execa } from "execa";
import { expect, it } from "vitest";
import type { IpmiBmc } from "../../simulators/ipmi/bmc.ts";
import { eventually, startBmc } from "../shared/bmc/providers/ipmi/bench.ts";
import { describeWithProgram, findProgram } from "./programs.ts";

async function goipmi(bmc: IpmiBmc, command: string, password = "calvin") {
  const where = ["-I", "lanplus", "-H", bmc.host, "-p", String(bmc.port)];
  const who = ["-U", "admin", "-P", password, "-L", "ADMINISTRATOR"];
  return execa(findProgram("goipmi") ?? "goipmi", [...where, ...who, ...command.split(" ")], {
    all: true,
    reject: false,
    timeout: 60_000,
  });
}

describeWithProgram("goipmi", "go-ipmi talks to the simulated BMC", () => {
  it("reads and changes power", async () => {
    await using bmc = await startBmc();

    expect((await goipmi(bmc, "chassis power status")).stdout).toContain("is off");
    expect((await goipmi(bmc, "chassis power on")).exitCode).toBe(0);
    await eventually(() => bmc.machine.power === "on");
    expect((await goipmi(bmc, "chassis status")).stdout).toMatch(/System Power +: on/);
    expect((await goipmi(bmc, "chassis power off")).exitCode).toBe(0);
    await eventually(() => bmc.machine.power === "off");
    expect(bmc.machine.commands.map(({ action }) => action)).toEqual(["on", "off"]);
  });

  it("reads who the BMC is, its users, sensors, FRU and power", async () => {
    await using bmc = await startBmc({ fru: { vendor: "Example Corp", serial: "SYS-9" } });

    expect((await goipmi(bmc, "mc info")).stdout).toMatch(/Firmware Revision +: 3\.45/);
    expect((await goipmi(bmc, "user list 1")).stdout).toMatch(/2 \| admin .*ADMINISTRATOR/);
    expect((await goipmi(bmc, "sensor list")).stdout).toMatch(/Inlet Temp .*23\.000/);
    expect((await goipmi(bmc, "fru print 0")).stdout).toMatch(/Product Serial +: SYS-9/);
    expect((await goipmi(bmc, "dcmi power reading")).stdout).toMatch(/power reading +: +312 Watts/);
  });

  it("is refused with a wrong password, before it has a session", async () => {
    await using bmc = await startBmc();

    const refused = await goipmi(bmc, "chassis power status", "wrong");

    expect(refused).toMatchObject({ exitCode: 1, all: expect.stringContaining("RAKP") });
    expect(bmc.log).not.toContain("Get Chassis Status");
  });
});

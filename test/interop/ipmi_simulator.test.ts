import { createSocket } from "node:dgram";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import type { IpmiBmc } from "../../simulators/ipmi/bmc.ts";
import { eventually, limit, openSession, startBmc } from "../shared/bmc/providers/ipmi/bench.ts";
import { testFolder } from "../support/test-folder.ts";
import { describeWithProgram, findProgram } from "./programs.ts";

interface ToolOptions {
  readonly suite?: number;
  readonly password?: string;
  readonly user?: string;
  readonly level?: string;
  readonly kg?: string;
}

async function tool(bmc: IpmiBmc, command: string, options: ToolOptions = {}) {
  const { suite = 17, password = "calvin", user = "admin", level = "OPERATOR", kg } = options;
  const where = ["-I", "lanplus", "-H", bmc.host, "-p", String(bmc.port), "-N", "1", "-R", "3"];
  const who = ["-U", user, "-E", "-L", level, ...(kg === undefined ? [] : ["-K"])];
  const argv = [...where, ...who, "-C", String(suite), "-v", ...command.split(" ")];
  const env = { IPMITOOL_PASSWORD: password, ...(kg === undefined ? {} : { IPMI_KGKEY: kg }) };
  return execa("ipmitool", argv, { env, reject: false, timeout: 25_000 });
}

describeWithProgram("ipmitool", "ipmitool talks to the simulated BMC", () => {
  describe.each([3, 17])("with cipher suite %i", (suite) => {
    it("reads and changes power", async () => {
      await using bmc = await startBmc();

      expect((await tool(bmc, "chassis power status", { suite })).stdout).toBe("Chassis Power is off");
      expect((await tool(bmc, "chassis power on", { suite })).exitCode).toBe(0);
      await eventually(() => bmc.machine.power === "on");
      expect((await tool(bmc, "chassis power status", { suite })).stdout).toBe("Chassis Power is on");
      expect((await tool(bmc, "chassis power reset", { suite })).exitCode).toBe(0);
      expect((await tool(bmc, "chassis power cycle", { suite })).exitCode).toBe(0);
      await eventually(() => bmc.machine.power === "on");
      expect((await tool(bmc, "chassis power soft", { suite })).exitCode).toBe(0);
      await eventually(() => bmc.machine.power === "off");
      expect(bmc.machine.commands.map(({ action }) => action)).toEqual(["on", "reset", "cycle", "soft-off"]);
    });

    it("switches off hard, and is refused in the wrong state", async () => {
      await using bmc = await startBmc({ machine: { power: "on" } });

      expect((await tool(bmc, "chassis power off", { suite })).exitCode).toBe(0);
      await eventually(() => bmc.machine.power === "off");
      const again = await tool(bmc, "chassis power off", { suite });

      expect(again.stderr).toContain("Command not supported in present state");
    });

    it("sets and reads boot flags", async () => {
      await using bmc = await startBmc();

      const set = await tool(bmc, "chassis bootdev pxe options=efiboot", { suite });
      const read = await tool(bmc, "chassis bootparam get 5", { suite });

      expect(set.stdout).toBe("Set Boot Device to pxe");
      expect(bmc.machine.override).toEqual({ device: "pxe", enabled: "once", mode: "uefi" });
      expect(read.stdout).toContain("Boot parameter data: a004000000");
      expect(read.stdout).toContain("Boot Flag Valid");
      expect(read.stdout).toContain("BIOS EFI boot");
      expect(read.stdout).toContain("Force PXE");
    });

    it("reads who the BMC is", async () => {
      await using bmc = await startBmc();

      const info = await tool(bmc, "mc info", { suite });
      const guid = await tool(bmc, "mc guid", { suite });

      expect(info.stdout).toMatch(/IPMI Version +: 2\.0/);
      expect(info.stdout).toContain("Intel Corporation");
      expect(guid.exitCode).toBe(0);
    });

    it("is refused with a wrong password, before it has a session", async () => {
      await using bmc = await startBmc();

      const refused = await tool(bmc, "chassis power status", { suite, password: "wrong" });

      expect(refused.stderr).toContain("RAKP 2 HMAC is invalid");
      expect(bmc.log).not.toContain("Get Chassis Status");
    });

    it("leaves no session behind", async () => {
      await using bmc = await startBmc();

      await tool(bmc, "chassis power status", { suite });

      await eventually(() => bmc.sessions() === 0);
    });
  });

  it("needs the BMC key where there is one", async () => {
    await using bmc = await startBmc({ kg: "bmc key" });

    expect((await tool(bmc, "chassis power status", { kg: "bmc key" })).exitCode).toBe(0);
    expect((await tool(bmc, "chassis power status")).stderr).toContain("invalid integrity check value");
  });

  it("is held to the user's level", async () => {
    await using bmc = await startBmc({ users: [{ name: "low", password: "calvin", privilege: "user" }] });

    const asUser = { user: "low", level: "USER" };
    expect((await tool(bmc, "chassis power status", asUser)).stdout).toBe("Chassis Power is off");
    expect((await tool(bmc, "chassis power on", asUser)).stderr).toContain("Insufficient privilege level");
    expect((await tool(bmc, "chassis power status", { user: "low" })).stderr).toContain("unauthorized role");
    expect(bmc.machine.commands).toEqual([]);
  });

  it("is refused a cipher suite that the BMC does not have, 0 among them", async () => {
    await using bmc = await startBmc({ cipherSuites: [3] });

    expect((await tool(bmc, "chassis power status", { suite: 17 })).stderr).toContain(
      "no matching cipher suite",
    );
    expect((await tool(bmc, "chassis power status", { suite: 0 })).exitCode).toBe(1);
    expect((await tool(bmc, "channel getciphers ipmi", { suite: 3 })).stdout).toMatch(/^3 +N\/A +hmac_sha1/m);
  });

  it("finds no free slot where all are taken", async () => {
    await using bmc = await startBmc({ sessionSlots: 1 });
    bmc.faults.ignores = (name) => name === "Close Session";
    await tool(bmc, "chassis power status");

    expect((await tool(bmc, "chassis power status")).stderr).toContain("insufficient resources");
  });
});

describeWithProgram("ipmipower", "freeipmi's ipmipower talks to the simulated BMC", () => {
  it.each([3, 17])("reads the power state with cipher suite %i", async (suite) => {
    await using bmc = await startBmc({ machine: { power: "on" } });
    const program = findProgram("ipmipower") ?? "";
    const argv = ["-D", "LAN_2_0", "-h", `127.0.0.1:${bmc.port}`, "-u", "admin", "-p", "calvin"];

    const run = await execa(program, [...argv, "-I", String(suite), "-l", "OPERATOR", "--stat"], {
      reject: false,
      timeout: 25_000,
    });

    expect(run.stdout).toContain(": on");
  });
});

describe("the simulated BMC", () => {
  it("answers an ASF presence ping", async () => {
    await using bmc = await startBmc();
    const socket = createSocket("udp4");

    socket.send(Buffer.from("0600ff06000011be80aa0000", "hex"), bmc.port, "127.0.0.1");
    const [pong] = await once(socket, "message", { signal: AbortSignal.timeout(5_000) });
    socket.close();

    expect(pong.toString("hex")).toBe("0600ff06000011be40aa0010000011be000000008100000000000000");
  });

  it("runs from the command line with a password and a BMC key out of files", async () => {
    const { folder } = await testFolder();
    await writeFile(join(folder, "password"), "a password\n");
    await writeFile(join(folder, "kg"), "bmc key\n");
    const main = join(import.meta.dirname, "../../simulators/ipmi/main.ts");
    const script = `(await import(${JSON.stringify(main)})).ipmiCommand().parseAsync(process.argv, { from: "node" })`;
    const flags = ["--user", "root", "--password-file", "password", "--kg-file", "kg", "--power", "off"];
    const child = execa(process.execPath, ["--input-type=module", "--eval", script, "ipmi", ...flags], {
      cwd: folder,
      reject: false,
    });
    onTestFinished(async () => {
      child.kill();
      await child;
    });
    const [line] = await once(child.stdout, "data", { signal: AbortSignal.timeout(20_000) });
    const Facts = z.object({ host: z.literal("127.0.0.1"), port: z.number(), user: z.literal("root") });
    const { port } = Facts.parse(JSON.parse(String(line)));

    const overrides = { username: "root", password: "a password", ipmi: { kg: "bmc key" } };
    await using session = await openSession({ port }, { overrides });

    expect(await session.power.read(limit())).toBe("off");
  });

  it("forgets an unused session", async () => {
    await using bmc = await startBmc({ sessionIdleMs: 50 });
    bmc.faults.ignores = (name) => name === "RAKP3";
    const socket = createSocket("udp4");
    const request =
      "0600ff0706100000000000000000200000030000a4a3a2a0000000080300000001000008040000000200000801000000";

    socket.send(Buffer.from(request, "hex"), bmc.port, "127.0.0.1");
    await once(socket, "message", { signal: AbortSignal.timeout(5_000) });
    socket.close();

    expect(bmc.sessions()).toBeLessThanOrEqual(1);
    await eventually(() => bmc.sessions() === 0);
  });
});

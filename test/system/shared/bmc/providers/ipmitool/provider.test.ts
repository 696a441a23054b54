import { readdirSync, readFileSync } from "node:fs";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Session } from "../../../../../../shared/bmc/operations/provider.ts";
import { ipmitool } from "../../../../../../shared/bmc/providers/ipmitool/ipmitool-provider.ts";
import { systemClock } from "../../../../../../shared/clock.ts";
import { type Logger, silentLogger } from "../../../../../../shared/logger.ts";
import { Secret } from "../../../../../../shared/secret.ts";
import { SimulatedMachine } from "../../../../../../simulators/machine.ts";
import { describeWithProgram } from "../../../../../interop/programs.ts";
import {
  connectionTo,
  eventually,
  limit,
  recordingLogger,
  startBmc,
} from "../../../../../shared/bmc/providers/ipmi/bench.ts";
import { testFolder } from "../../../../../support/test-folder.ts";

interface OpenOptions {
  readonly overrides?: Record<string, unknown>;
  readonly ipmitool?: Record<string, unknown>;
  readonly hint?: unknown;
  readonly log?: Logger;
  readonly signal?: AbortSignal;
}

async function open(bmc: { port: number }, options: OpenOptions = {}): Promise<Session & AsyncDisposable> {
  const overrides = { ...options.overrides, ipmitool: { port: bmc.port, ...options.ipmitool } };
  const context = { clock: systemClock, log: options.log ?? silentLogger, hint: options.hint };
  const session = await ipmitool.open(connectionTo(bmc, overrides), context, options.signal ?? limit());
  return Object.assign(session, { [Symbol.asyncDispose]: () => session.close() });
}

/** A program in ipmitool's place; `$RECORD` in its script is a file for it to write to. */
async function programThat(script: string): Promise<{ program: string; record(): Promise<string> }> {
  const { folder } = await testFolder();
  const program = join(folder, "ipmitool");
  const file = join(folder, "record");
  await writeFile(file, "");
  await writeFile(program, `#!/bin/sh\n${script.replaceAll("$RECORD", file)}\n`);
  await chmod(program, 0o755);
  return { program, record: () => readFile(file, "utf8") };
}

describeWithProgram("ipmitool", "the ipmitool provider, with the real program", () => {
  it.each([3, 17])("reads and changes power with cipher suite %i", async (cipherSuite) => {
    await using bmc = await startBmc();

    await using session = await open(bmc, { ipmitool: { cipherSuite } });
    expect(await session.power.read(limit())).toBe("off");
    await session.power.send("on", limit());
    await eventually(() => bmc.machine.power === "on");
    expect(await session.power.read(limit())).toBe("on");
    await session.power.send("reset", limit());
    await session.power.send("soft-off", limit());
    await eventually(() => bmc.machine.power === "off");

    expect(bmc.machine.commands.map(({ action }) => action)).toEqual(["on", "reset", "soft-off"]);
    expect(session.hint()).toEqual({ cipherSuite });
    await eventually(() => bmc.sessions() === 0);
  });

  it("sets and reads the boot override, and stops its expiry", async () => {
    await using bmc = await startBmc({ bootFlagExpiryMs: 30 });
    await using session = await open(bmc);
    const request = { device: "pxe", persistent: false, mode: "uefi" } as const;

    expect(await session.boot.plan(request, limit())).toBe(
      "Set System Boot Options: parameter 5 = a0 04 00 00 00",
    );
    await session.boot.write(request, limit());

    expect(await session.boot.read(limit())).toEqual(request);
    expect(bmc.machine.override).toEqual({ device: "pxe", enabled: "once", mode: "uefi" });
  });

  it("does not fall back to cipher suite 3 unless the entry allows it, whatever worked before", async () => {
    await using bmc = await startBmc({ cipherSuites: [3] });

    await expect(open(bmc, { hint: { cipherSuite: 3 } })).rejects.toMatchObject({
      class: "unsupported",
      message: expect.stringMatching(
        /^cipher suite 17: the BMC does not offer .* --ipmitool-allow-suite-3, IPMITOOL_ALLOW_SUITE_3=true or, .* ipmitool: \{allowSuite3: true\}$/,
      ),
    });
    expect(bmc.log).not.toContain("RAKP1");
  });

  it("falls back to cipher suite 3 where the entry allows it, logs that and remembers it", async () => {
    await using bmc = await startBmc({ cipherSuites: [3] });
    const log = recordingLogger();

    await using first = await open(bmc, { ipmitool: { allowSuite3: true }, log });
    await using second = await open(bmc, { ipmitool: { allowSuite3: true }, hint: first.hint() });

    expect(log.lines.map(({ message }) => message)).toContainEqual(
      expect.stringContaining("downgraded to 3"),
    );
    expect(first.hint()).toEqual({ cipherSuite: 3 });
    expect(first.roundTrips() - second.roundTrips()).toBe(1);
  });

  it("does everything else that IPMI has", async () => {
    const records = [Buffer.from("000002a5376969200004" + "0c216f31ff03", "hex")];
    await using bmc = await startBmc({ machine: { power: "on" }, log: { records }, sol: [1], userSlots: 4 });
    const { sel, users, sol, nmi, manager, inventory } = await open(bmc, {
      ipmitool: { privilege: "administrator" },
    });
    if (!sel || !users || !sol || !nmi || !manager || !inventory) throw new Error("a driver is missing");

    expect((await sel.list(limit())).map(({ message }) => message)).toEqual([
      "memory sensor 0x21: uncorrectable ECC error (module 3)",
    ]);
    await sel.clear(limit());
    expect(bmc.events.size).toBe(0);
    await users.create(
      { name: "worker", password: new Secret("canary-password"), role: "operator" },
      limit(),
    );
    expect(await users.list(limit())).toContainEqual({
      id: "3",
      name: "worker",
      role: "operator",
      enabled: true,
    });
    expect(bmc.users.find("worker")?.key.toString()).toContain("canary-password");
    const worker = { id: "3", name: "worker", role: "operator", enabled: true } as const;
    const trial = (password: string) => users.tryPassword(worker, new Secret(password), limit());
    expect([await trial("canary-password"), await trial("another")]).toEqual(["accepted", "refused"]);
    await sol.deactivate(limit());
    expect(bmc.sol.size).toBe(0);
    await nmi.send(limit());
    expect(bmc.machine.count("nmi")).toBe(1);
    expect(await manager.info(limit())).toMatchObject({ vendor: "Intel", firmware: "3.45" });
    expect((await inventory.read(limit())).system).toMatchObject({ vendor: "Example", serial: "SYS-1" });
    await manager.reset("cold", limit());
    expect(bmc.log).toContain("Cold Reset");
  });

  it("names the refusal of a password, and never the password", async () => {
    await using bmc = await startBmc({ passwordBytes: 16 });
    const { users } = await open(bmc, { ipmitool: { privilege: "administrator" } });
    const password = new Secret("canary-of-18-bytes");

    const error = await users
      ?.create({ name: "worker", password, role: "operator" }, limit())
      .catch((thrown: unknown) => thrown);

    expect(error).toMatchObject({ class: "unsupported", message: expect.stringContaining("0xCC") });
    expect(String(error) + JSON.stringify(error)).not.toContain("canary");
    expect(bmc.users.rows[2]?.name).toBe("");
  });

  it("names the option where administrator is needed", async () => {
    await using bmc = await startBmc();
    await using session = await open(bmc);

    await expect(session.manager?.reset("warm", limit())).rejects.toMatchObject({
      class: "auth",
      message: expect.stringMatching(/administrator.*option privilege/),
    });
  });

  it.each(["after", "within"] as const)(
    "reaches a controller whose answer comes %s the BMC's",
    async (answer) => {
      const machine = new SimulatedMachine({ power: "off" });
      onTestFinished(() => machine.close());
      const bridge = { channel: 7, address: 0x72 };
      await using bmc = await startBmc({
        machine: { power: "on" },
        satellites: [{ ...bridge, machine, answer }],
      });

      await using session = await open(bmc, { ipmitool: { bridge } });
      expect(await session.power.read(limit())).toBe("off");
      await session.power.send("on", limit());

      expect(machine.count("on")).toBe(1);
      expect(bmc.machine.commands).toEqual([]);
    },
  );

  it("needs no second run for the power state that opening has read", async () => {
    await using bmc = await startBmc();
    await using session = await open(bmc, { ipmitool: { cipherSuite: 17 } });

    expect(await session.power.read(limit())).toBe("off");

    expect(session.roundTrips()).toBe(2);
    expect(bmc.log.filter((name) => name === "Get Chassis Status")).toHaveLength(1);
  });

  it.each([
    ["a wrong password", { overrides: { password: "wrong" } }, "wrong password"],
    ["an unknown user", { overrides: { username: "unknown" } }, "unknown user name"],
    ["a missing BMC key", {}, "BMC key"],
  ])("names %s as such", async (_, options, reason) => {
    await using bmc = await startBmc(reason === "BMC key" ? { kg: "bmc key" } : {});

    await expect(open(bmc, options)).rejects.toMatchObject({
      class: "auth",
      message: expect.stringContaining(reason),
    });
  });

  it("logs in with a password of 20 bytes and a BMC key beside it, and sets another password", async () => {
    const password = "twenty bytes: pass$'";
    const users = [{ name: "admin", password, privilege: "administrator" as const }];
    await using bmc = await startBmc({ kg: "bmc key", users });

    await using session = await open(bmc, {
      overrides: { password },
      ipmitool: { kg: "bmc key", privilege: "administrator" },
    });
    await session.users?.create(
      { name: "worker", password: new Secret("canary"), role: "operator" },
      limit(),
    );

    expect(bmc.users.find("worker")?.key.toString()).toContain("canary");
  });

  it("turns the BMC's refusal into its class", async () => {
    await using bmc = await startBmc({ machine: { power: "on" } });
    await using session = await open(bmc);

    await expect(session.power.send("on", limit())).rejects.toMatchObject({ class: "state" });
  });

  it("lets cycle be sent once, and says that it may have been done", async () => {
    await using bmc = await startBmc({ machine: { power: "on" }, duplicates: "execute" });
    await using session = await open(bmc, { overrides: { requestTimeoutMs: 20_000 } });
    bmc.faults.losesAnswer = (name) => name === "Chassis Control";

    await expect(session.power.send("cycle", limit())).rejects.toMatchObject({
      class: "timeout",
      uncertain: true,
    });
    expect(bmc.machine.count("cycle")).toBe(1);
  });

  it("fails at once where the port is closed, without running the program", async () => {
    const { program, record } = await programThat(`echo ran > $RECORD`);
    await using bmc = await startBmc();
    const { port } = bmc;
    await bmc.close();
    bmc.close = async () => undefined;

    await expect(open({ port }, { ipmitool: { program } })).rejects.toMatchObject({ class: "unreachable" });
    expect(await record()).toBe("");
  });

  it("is unreachable within the connect time-out where nothing answers", async () => {
    await using bmc = await startBmc();
    bmc.faults.ignores = () => true;

    await expect(open(bmc, { overrides: { connectTimeoutMs: 300 } })).rejects.toMatchObject({
      class: "unreachable",
      message: "no IPMI answer within 300 ms",
    });
  });
});

describe("the program", () => {
  it("is unsupported where it is not installed", async () => {
    await using bmc = await startBmc();

    await expect(open(bmc, { ipmitool: { program: "no-such-ipmitool" } })).rejects.toMatchObject({
      class: "unsupported",
      message: expect.stringContaining("no-such-ipmitool"),
    });
  });

  it("gets the secrets through files without a name and standard input, not in argv or the environment", async () => {
    // The shell gives environ as it was when the process was started.
    const { program, record } = await programThat(`{
tr '\\0' '\\n' < /proc/$$/cmdline
tr '\\0' '\\n' < /proc/$$/environ
echo "fd 3: $(cat /dev/fd/3); $(readlink /proc/$$/fd/3); $(stat -Lc %a /dev/fd/3)"
echo "stdin: $(cat)"
} > $RECORD; echo " 00"`);
    await using bmc = await startBmc();
    const before = temporaryFiles();

    await using session = await open(bmc, {
      overrides: { password: "canary-password" },
      ipmitool: { program, kg: "canary-kg" },
    });

    const lines = (await record()).trim().split("\n");
    const [file, stdin] = lines.slice(-2);
    expect(file).toMatch(/^fd 3: canary-password; \S+ \(deleted\); 600$/);
    expect(stdin).toBe("stdin: canary-kg");
    const visible = lines.slice(0, -2);
    expect(visible).toContain("/dev/fd/3");
    expect(visible.join("\n")).not.toContain("canary");
    const names = visible.flatMap((line) => /^(\w+)=/.exec(line)?.[1] ?? []);
    expect(names.toSorted()).toEqual(["LC_ALL", "PATH"]);
    expect(temporaryFiles()).toEqual(before);
    expect(JSON.stringify(session.hint())).not.toContain("canary");
  });

  it("never has the password in an error", async () => {
    const { program } = await programThat(`echo "cannot do that" >&2; exit 1`);
    await using bmc = await startBmc();

    const error = await open(bmc, {
      overrides: { password: "canary-password" },
      ipmitool: { program },
    }).catch((thrown: unknown) => thrown);

    expect(error).toMatchObject({ class: "bmc", message: expect.stringContaining("cannot do that") });
    expect(String(error) + JSON.stringify(error)).not.toContain("canary");
  });

  it("is ended with all its children when its time expires, even when they ignore SIGTERM", async () => {
    const { program, record } = await programThat(`trap '' TERM
sleep 300 &
echo "$$ $!" > $RECORD
wait
sleep 300`);
    await using bmc = await startBmc();
    const overrides = { connectTimeoutMs: 500, requestTimeoutMs: 500 };

    await expect(open(bmc, { overrides, ipmitool: { program } })).rejects.toMatchObject({
      class: "timeout",
      message: expect.stringContaining("1000 ms"),
    });

    const pids = (await record()).trim().split(" ").map(Number);
    expect(pids).toHaveLength(2);
    await eventually(() => pids.every((pid) => !isAlive(pid)));
  });

  it("is ended with all its children when the call is aborted", async () => {
    const { program, record } = await programThat(`sleep 300 & echo "$$ $!" > $RECORD; wait`);
    await using bmc = await startBmc();
    const abort = new AbortController();

    const opening = open(bmc, { ipmitool: { program }, signal: abort.signal });
    let pids: number[] = [];
    while (pids.length < 2) {
      await systemClock.sleep(10);
      pids = (await record()).trim().split(" ").filter(Boolean).map(Number);
    }
    abort.abort(new Error("enough"));

    await expect(opening).rejects.toThrow("enough");
    await eventually(() => pids.every((pid) => !isAlive(pid)));
  });

  it("leaves no child of its own behind when it ends by itself", async () => {
    const { program, record } = await programThat(
      `sleep 300 >/dev/null 2>&1 & echo "$!" > $RECORD; echo " 01 00 00"`,
    );
    await using bmc = await startBmc();

    await open(bmc, { ipmitool: { program } });

    const pid = Number(await record());
    expect(pid).toBeGreaterThan(0);
    await eventually(() => !isAlive(pid));
  });

  it("may not print without end", async () => {
    const { program } = await programThat(`exec yes " 00"`);
    await using bmc = await startBmc();

    await expect(open(bmc, { ipmitool: { program } })).rejects.toMatchObject({
      class: "protocol",
      message: expect.stringContaining("printed too much"),
    });
  });
});

/** Files in the folder of the secrets' files that might be these files. */
function temporaryFiles(): string[] {
  return ["/dev/shm", tmpdir()].flatMap((folder) =>
    readdirSync(folder).filter((name) => /^pbnj-[0-9a-f]{32}$/.test(name)),
  );
}

/** A process that has ended but was not collected yet does not count. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0) && !isZombie(pid);
  } catch {
    return false;
  }
}

/** Linux; elsewhere such a process is collected by init at once. */
function isZombie(pid: number): boolean {
  try {
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

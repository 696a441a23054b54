import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { redfish } from "../../../shared/bmc/providers/redfish/redfish-provider.ts";
import { systemClock } from "../../../shared/clock.ts";
import { Connection } from "../../../shared/contract/connection.ts";
import { silentLogger } from "../../../shared/logger.ts";

const script = `
  import { redfishCommand } from "./simulators/redfish/main.ts";
  await redfishCommand().parseAsync(process.argv.slice(1), { from: "user" });
`;

test("the command serves a BMC until it is told to stop", async () => {
  const folder = await mkdtemp(join(tmpdir(), "redfish-"));
  const passwordFile = join(folder, "password");
  await writeFile(passwordFile, "from-a-file\n");
  const flags = [
    "--power",
    "off",
    "--profile",
    "dell-idrac9",
    "--user",
    "root",
    "--password-file",
    passwordFile,
  ];
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script, "--", ...flags], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  try {
    const [line] = await once(createInterface(child.stdout), "line");
    const facts: { url: string; fingerprint: string } = JSON.parse(String(line));
    const connection = Connection.parse({
      host: "127.0.0.1",
      username: "root",
      password: "from-a-file",
      tls: { fingerprint: facts.fingerprint },
      redfish: { port: Number(new URL(facts.url).port) },
    });

    const signal = new AbortController().signal;
    const session = await redfish.open(connection, { clock: systemClock, log: silentLogger }, signal);
    const state = await session.power.read(signal);
    await session.close();

    expect(state).toBe("off");
  } finally {
    child.kill("SIGTERM");
    await rm(folder, { recursive: true });
  }
  expect(await ended).toEqual([0, null]);
});

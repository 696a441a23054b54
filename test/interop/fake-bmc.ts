import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { onTestFinished } from "vitest";
import { freeUdpPort } from "./free-port.ts";
import { untilIpmiAnswers } from "./ipmi-peer.ts";

interface FakeBmc {
  readonly port: number;
  /** What it printed so far. */
  output(): string;
  hasEnded(): boolean;
}

/** The program itself has one password. */
const PROGRAM =
  "import sys; from pyghmi.cmd.fakebmc import FakeBmc; FakeBmc({'admin': sys.argv[2]}, port=int(sys.argv[1])).listen()";

/** pyghmi's fake BMC: cipher suite 3, one machine that is a variable. */
export async function startFakeBmc(password = "password"): Promise<FakeBmc> {
  const port = await freeUdpPort();
  const folder = await mkdtemp(join(tmpdir(), "pbnj-fakebmc-"));
  const child = execa("/usr/bin/python3", ["-c", PROGRAM, String(port), password], {
    cwd: folder,
    env: { PYTHONUNBUFFERED: "1" },
    stdin: "ignore",
    reject: false,
    all: true,
    forceKillAfterDelay: 1_000,
  });
  let output = "";
  let ended = false;
  child.all.on("data", (chunk) => {
    output += String(chunk);
  });
  void child.then(() => {
    ended = true;
  });
  onTestFinished(async () => {
    child.kill();
    await child;
    await rm(folder, { recursive: true });
  });
  await untilIpmiAnswers(port);
  return { port, output: () => output, hasEnded: () => ended };
}

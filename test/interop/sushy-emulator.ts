import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { execa } from "execa";
import type { PythonPackages } from "./python-packages.ts";

/** Its machines would take 1 to 11 s to change their power, by chance: they always take the shortest time. */
const EMULATOR_PROGRAM = `
import random, sys
random.randint = lambda shortest, longest: shortest
from sushy_tools.emulator.main import main
sys.exit(main())
`;

/** Writes a configuration of sushy-tools' emulator with user `admin` and this password. Resolves to its path. */
export async function configureEmulator(
  { python }: PythonPackages,
  folder: string,
  more: Readonly<Record<string, string>> = {},
  password = "calvin",
): Promise<string> {
  const hashing =
    "import bcrypt, sys; print(bcrypt.hashpw(sys.argv[1].encode(), bcrypt.gensalt(4)).decode())";
  const { stdout: hash } = await execa(python, ["-c", hashing, password]);
  await writeFile(join(folder, "htpasswd"), `admin:${hash}\n`);
  const settings = {
    SUSHY_EMULATOR_LISTEN_IP: "127.0.0.1",
    SUSHY_EMULATOR_LISTEN_PORT: 0,
    SUSHY_EMULATOR_STATE_DIR: folder,
    SUSHY_EMULATOR_AUTH_FILE: join(folder, "htpasswd"),
    ...more,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${JSON.stringify(value)}\n`);
  await writeFile(join(folder, "emulator.conf"), lines.join(""));
  return join(folder, "emulator.conf");
}

/** The port that the emulator has chosen. */
export async function emulatorPort(stderr: Readable): Promise<number> {
  const lines: string[] = [];
  for await (const line of createInterface({ input: stderr })) {
    lines.push(line);
    const port = /Running on http:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1];
    if (port === undefined) continue;
    // Nothing else reads it; a full pipe would stop the emulator.
    stderr.resume();
    return Number(port);
  }
  throw new Error(`the emulator did not start: ${lines.join("\n")}`);
}

/** The emulator with its fake driver, one machine that is off, and a password. The caller closes it. */
export async function runFakeEmulator(
  packages: PythonPackages,
): Promise<{ readonly port: number; readonly close: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "pbnj-sushy-"));
  const argv = ["-c", EMULATOR_PROGRAM, "--config", await configureEmulator(packages, folder), "--fake"];
  const child = execa(packages.python, argv, {
    stdin: "ignore",
    reject: false,
    forceKillAfterDelay: 1_000,
  });
  const close = async () => {
    child.kill();
    await child;
    await rm(folder, { recursive: true });
  };
  try {
    return { port: await emulatorPort(child.stderr), close };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PROGRAM } from "../cli/program.ts";

/** A home with `pbnj-worker` in the PATH, and files to complete. */
export async function completionHome() {
  const home = await mkdtemp(join(tmpdir(), "pbnj-completion-"));
  const bin = join(home, "bin");
  await mkdir(bin);
  await mkdir(join(home, "files/my folder"), { recursive: true });
  await writeFile(join(home, "files/my file"), "");
  await writeFile(join(home, "files/template.yaml"), "");
  const machine = { name: "node-01", host: "192.0.2.1", labels: { rack: "r1" } };
  await writeFile(join(home, "files/racks.yaml"), JSON.stringify({ machines: [machine] }));
  const compileCache = join(tmpdir(), "pbnj-worker-test-compile-cache");
  const setProgram = async (script: string) => {
    await writeFile(join(bin, "pbnj-worker"), `#!/bin/sh\n${script}\n`);
    await chmod(join(bin, "pbnj-worker"), 0o755);
  };
  await setProgram(`exec '${process.execPath}' '${PROGRAM}' "$@"`);
  return {
    home,
    setProgram,
    env: {
      PATH: `${bin}:${process.env["PATH"]}`,
      HOME: home,
      NODE_COMPILE_CACHE: compileCache,
      LC_ALL: "C.UTF-8",
    },
    // A shell that was just ended may still write its history.
    [Symbol.asyncDispose]: () => rm(home, { recursive: true, force: true, maxRetries: 10 }),
  };
}

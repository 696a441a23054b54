import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { codeBlocks } from "../../docs/markdown.ts";
import { findProgram } from "../programs.ts";
import { type Background, HOST_PROGRAMS, HostCopy } from "./host-copy.ts";

/** A reader follows README and install pages literally, in a copy of this host. */
const PAGE_TIMEOUT_MS = 30 * 60_000;
const PASSWORD = "calvin";

const missing = [...HOST_PROGRAMS, "docker-compose"].filter((program) => !findProgram(program));
if (process.getuid?.() !== 0) missing.push("root");
if (missing.length > 0) {
  const message = `${missing.join(", ")} ${missing.length > 1 ? "are" : "is"} missing: the pages that install`;
  if (process.env["REQUIRE_INTEROP"] === "1") throw new Error(`REQUIRE_INTEROP=1, but ${message}`);
  process.stderr.write(`skipped, ${message}\n`);
}

interface Page {
  /** Each block's commands. */
  readonly blocks: readonly (readonly string[])[];
  /** The files that the reader writes, by name. */
  readonly files: ReadonlyMap<string, string>;
}

async function readPage(path: string): Promise<Page> {
  const all = codeBlocks(path, await readFile(path, "utf8"));
  const named = all.flatMap(({ text }) => {
    const [, name] = /^# (\S+\.yaml)\n/.exec(text) ?? [];
    return name ? [[name, text] as const] : [];
  });
  return {
    blocks: all
      .filter(({ language }) => language === "sh")
      .map(({ text }) =>
        text
          .replaceAll(/\\\n\s*/g, "")
          .trim()
          .split("\n"),
      ),
    files: new Map(named),
  };
}

/** The reader's own machines and tink server, at the addresses of the pages: labs of which each has the right port. */
async function startOwnMachines(host: HostCopy, open: AsyncDisposableStack) {
  const start = async (address: string, port: number, machines: number) => {
    const folder = `/tmp/lab-${address}`;
    await host.shell(`mkdir -p ${folder} && echo ${PASSWORD} > ${folder}/bmc-password`);
    const flags = `--host ${address} --port ${port} --machines ${machines} --directory ${folder}`;
    const lab = open.use(host.background(`node cli/main.ts lab ${flags}`));
    await lab.untilSaid(/Ctrl\+C stops the lab/);
    return lab;
  };
  // The first machine has Redfish, the third IPMI.
  await start("192.0.2.11", 442, 1);
  await start("192.0.2.12", 620, 3);
  return (machines: number) => start("192.0.2.1", 42_113, machines);
}

const succeeded = (lab: Background, times: number) =>
  lab.untilSaid(new RegExp(`(?:workflow SUCCESS[\\s\\S]*){${times}}`));

describe.skipIf(missing.length > 0)("a new user", { timeout: PAGE_TIMEOUT_MS }, () => {
  let images: string;
  beforeAll(async () => {
    images = await mkdtemp(join(tmpdir(), "pbnj-images-"));
  });
  afterAll(() => rm(images, { recursive: true, force: true }));

  it("follows the README", async () => {
    const { blocks, files } = await readPage("README.md");
    const [, [lab = ""] = [], tries = [], check = [], own = [], build = [], containers = []] = blocks;
    await using host = await HostCopy.start(images);
    await using open = new AsyncDisposableStack();
    const run = (commands: readonly string[]) => host.shell(commands.join("\n"));

    let inLab = host.background(lab);
    await inLab.untilSaid(/Ctrl\+C stops the lab/);
    expect(await host.shell("stat -c %a lab/bmc-password")).toBe("600");
    expect((await run(tries)).match(/"ok":true/g)?.length).toBeGreaterThanOrEqual(4);

    const [doctor = "", start = ""] = check;
    expect(await host.shell(doctor)).toContain("no problem");
    {
      await using worker = host.background(start);
      await succeeded(inLab, 4);
      expect(await host.shell("curl --fail --silent http://127.0.0.1:42180/")).toContain("node-04");
      await worker[Symbol.asyncDispose]();
      expect(worker.said()).toContain("worker stopped");
    }

    const startTink = await startOwnMachines(host, open);
    const tink = await startTink(2);
    const [password = "", pin = "", ownDoctor = "", ownStart = ""] = own;
    await host.shell("cat > inventory.yaml", files.get("inventory.yaml"));
    await host.shell(password, `${PASSWORD}\n`);
    expect(await host.shell(pin)).toContain("192.0.2.11");
    expect(await host.shell(ownDoctor)).toContain("no problem");
    {
      await using _worker = host.background(ownStart);
      await succeeded(tink, 2);
    }

    await run(build);
    expect(await host.shell("pbnj-worker --version")).toMatch(/^\d+\.\d+\.\d+ \(commit [^)]+\)$/);
    expect(await run(containers)).toContain("no problem");
    // Ends the lab, like Enter.
    await inLab[Symbol.asyncDispose]();
    inLab = host.background(lab);
    await succeeded(inLab, 4);
    await host.shell("docker rm --force --volumes pbnj-worker");
    await inLab[Symbol.asyncDispose]();
  });

  it("installs with systemd", async () => {
    const { blocks, files } = await readPage("docs/how-to/install-with-systemd.md");
    const [program = [], unit = [], pin = [], passwords = [], start = [], containers = [], ...others] =
      blocks;
    await using host = await HostCopy.start(images);
    await using open = new AsyncDisposableStack();
    const startTink = await startOwnMachines(host, open);

    await host.shell(program.join("\n"));
    await host.shell(unit.join("\n"));
    // systemd passes no credentials in a container: the worker reads the same files from a folder of its own, as the page allows.
    const secrets = "/etc/pbnj-worker/secrets";
    for (const [path, text] of files) {
      const readable = text.replaceAll(/\S+bmc_\{machine\}_/g, `${secrets}/{machine}/`);
      await host.shell(`install -o root -g pbnj-worker -m 640 /dev/stdin ${path}`, readable);
    }
    expect(await host.shell(pin.join("\n"))).toContain("192.0.2.11");
    await host.shell(passwords.join("\n"), `${PASSWORD}\n`);
    await host.shell(
      `cp -r /etc/pbnj-worker/bmc ${secrets} && chown -R root:pbnj-worker ${secrets} && chmod -R g+rX ${secrets}`,
    );
    {
      const tink = await startTink(1);
      expect(await host.shell(start.join("\n"))).toContain("no problem");
      await succeeded(tink, 1);
      await tink[Symbol.asyncDispose]();
    }
    await host.shell(containers.join("\n"));
    const tink = await startTink(1);
    await succeeded(tink, 1);

    expect(await host.shell("journalctl --unit pbnj-worker")).toContain('"runtime":"docker"');
    expect(await host.shell("systemd-analyze security --no-pager pbnj-worker")).toContain(
      "pbnj-worker.service: 1.",
    );
    await host.shell("systemctl stop pbnj-worker");
    expect(others).toEqual([]);
  });

  it("installs with Docker Compose", async () => {
    const { blocks, files } = await readPage("docs/how-to/install-with-compose.md");
    const [build = [], folders = [], secrets = [], start = [], ...others] = blocks;
    await using host = await HostCopy.start(images);
    await using open = new AsyncDisposableStack();
    const startTink = await startOwnMachines(host, open);
    const tink = await startTink(1);

    await host.shell(build.join("\n"));
    const group = (await host.shell(folders.join("\n"))).trim().split("\n").at(-1);
    await host.shell(`sed -i 's/^DOCKER_GROUP=.*/DOCKER_GROUP=${group}/' .env`);
    for (const [path, text] of files) await host.shell(`cat > ${path}`, text);
    expect(await host.shell(secrets.join("\n"), `${PASSWORD}\n`)).toContain("192.0.2.11");
    expect(await host.shell(start.join("\n"))).toContain("no problem");
    await succeeded(tink, 1);

    await host.shell("docker compose --file deploy/compose.yaml --env-file .env down --volumes");
    expect(others).toEqual([]);
  });
});

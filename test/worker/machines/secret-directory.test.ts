import { mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import { readTextFile } from "../../../shared/read-text-file.ts";
import { parseInventory } from "../../../worker/machines/parse-inventory.ts";
import { SecretCommands } from "../../../worker/machines/secret-commands.ts";
import { fileFolder } from "../../support/test-folder.ts";

const READING = { commands: new SecretCommands(), signal: new AbortController().signal };

const { folder: root } = await fileFolder();
type Files = Readonly<Record<string, string>>;

/** A Secret as Kubernetes' atomic writer mounts it: the files are links into the generation that `..data` links to. */
async function mountSecret(directory: string, files: Files): Promise<void> {
  await mkdir(directory);
  await swapSecret(directory, 0, files);
  for (const name of Object.keys(files)) await symlink(join("..data", name), join(directory, name));
}

/** Puts the next generation in place and takes the last one away, as the kubelet does. */
async function swapSecret(directory: string, generation: number, files: Files): Promise<void> {
  const folder = `..generation-${generation}`;
  await mkdir(join(directory, folder));
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, folder, name), text);
  await symlink(folder, join(directory, "..data_tmp"));
  await rename(join(directory, "..data_tmp"), join(directory, "..data"));
  await rm(join(directory, `..generation-${generation - 1}`), { recursive: true, force: true });
}

async function writeFiles(directory: string, files: Files): Promise<void> {
  await mkdir(directory, { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
}

function resolver(entry: string) {
  const text = `machines: [{name: node-1, host: 192.0.2.1, ${entry}}]`;
  const parsed = parseInventory({
    path: join(root, "inventory.yaml"),
    text,
    env: {},
    readFile: readTextFile,
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const inventory = parsed.value;
  const machine = inventory.find("node-1");
  if (!machine) throw new Error("no machine");
  return { read: () => inventory.resolveConnection(machine, READING), warnings: parsed.warnings };
}

async function reasonOf(work: Promise<unknown>): Promise<string> {
  const thrown: unknown = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  return thrown instanceof BmcError ? `${thrown.class}: ${thrown.message}` : String(thrown);
}

describe("credentials in a directory", () => {
  it("are its files, with the machine's name in its path", async () => {
    await writeFiles(join(root, "plain/node-1"), { username: "root\n", password: "secret\n" });

    const { username, password, ipmi } = await resolver('credentials: {directory: "plain/{machine}"}').read();

    expect([username, password?.reveal(), ipmi.kg]).toEqual(["root", "secret", undefined]);
  });

  it("may have a Kg, which gives way to one that the entry names", async () => {
    await writeFiles(join(root, "with-kg"), { username: "root", password: "secret", kg: "key" });
    await writeFile(join(root, "other-kg"), "other");

    const { ipmi, ipmitool } = await resolver(
      "credentials: {directory: with-kg}, ipmitool: {kgFile: other-kg}",
    ).read();

    expect([ipmi.kg?.reveal(), ipmitool.kg?.reveal()]).toEqual(["key", "other"]);
  });

  it("are the token alone for a machine that needs no user", async () => {
    await writeFiles(join(root, "token"), { password: "token" });
    const entry =
      "homeassistant: {url: http://home.example, entity: switch.a}, credentials: {directory: token}";

    expect((await resolver(entry).read()).password?.reveal()).toBe("token");
  });

  it("are not read where nothing of them is needed", async () => {
    const hooked = resolver("rpc: {url: http://hooks.example}, credentials: {directory: absent}");

    expect(hooked.warnings).toEqual([]);
    expect((await hooked.read()).password).toBeUndefined();
  });

  it("of a Secret that is mounted are those of one generation, however often it is swapped", async () => {
    const directory = join(root, "mounted");
    const files = (generation: number) => ({
      username: `user-${generation}`,
      password: `user-${generation}`,
    });
    await mountSecret(directory, files(0));
    const { read } = resolver("credentials: {directory: mounted}");
    const seen = new Set<string>();
    const swapping = (async () => {
      for (let generation = 1; seen.size < 10; generation += 1) {
        await swapSecret(directory, generation, files(generation));
      }
    })();

    while (seen.size < 10) {
      const { username, password } = await read();
      seen.add(`${username} ${password?.reveal()}`);
    }
    await swapping;

    const mixed = [...seen].filter((pair) => !/^(\S+) \1$/.test(pair));
    expect(mixed).toEqual([]);
  });

  it("of a directory that is itself a link are those of one generation as well", async () => {
    await writeFiles(join(root, "first"), { username: "one", password: "one" });
    await writeFiles(join(root, "second"), { username: "two", password: "two" });
    await symlink("first", join(root, "current"));
    const { read } = resolver("credentials: {directory: current}");

    const before = await read();
    await symlink("second", join(root, "current.new"));
    await rename(join(root, "current.new"), join(root, "current"));
    const after = await read();

    expect([before.username, before.password?.reveal()]).toEqual(["one", "one"]);
    expect([after.username, after.password?.reveal()]).toEqual(["two", "two"]);
  });

  it.each([
    ["is not there", undefined, "absent does not exist"],
    ["lacks a file", { username: "root" }, "lacking cannot be used: its file password does not exist"],
    [
      "has an empty file",
      { username: "root", password: "\n" },
      "lacking cannot be used: its file password is empty",
    ],
    [
      "has a file of two lines",
      { username: "root", password: "canary-1\ncanary-2" },
      "lacking cannot be used: its file password holds more than one line",
    ],
    [
      "has a wrong Kg",
      { username: "root", password: "x", kg: "" },
      "lacking cannot be used: its file kg is empty",
    ],
  ])("are refused with the reason when the directory %s", async (_, files, expected) => {
    await rm(join(root, "lacking"), { recursive: true, force: true });
    if (files) await writeFiles(join(root, "lacking"), files);
    const name = files ? "lacking" : "absent";

    const reason = await reasonOf(resolver(`credentials: {directory: ${name}}`).read());

    expect(reason).toBe(`usage: machine node-1: credentials.directory ${root}/${expected}`);
  });

  it("are warned of as long as they are missing", async () => {
    await writeFiles(join(root, "half"), { username: "root" });

    expect(resolver("credentials: {directory: half}").warnings.map(({ message }) => message)).toEqual([
      `machine node-1: credentials.directory ${join(root, "half/password")} does not exist`,
    ]);
  });
});

describe("a webhook's secrets in a directory", () => {
  const entry = "rpc: {url: http://hooks.example, signature: {secrets: {sha256: [{directory: hooks}]}}}";

  it("are all its files, in the order of their names", async () => {
    await writeFiles(join(root, "hooks"), { "2-old": "old\n", "1-new": "new\n", ".hidden": "no" });

    const { rpc } = await resolver(entry).read();

    expect(rpc?.signature.secrets.sha256.map((secret) => secret.reveal())).toEqual(["new", "old"]);
  });

  it("are missed when it is empty: requests would go out unsigned", async () => {
    await rm(join(root, "hooks"), { recursive: true, force: true });
    await mkdir(join(root, "hooks"));

    expect(await reasonOf(resolver(entry).read())).toBe(
      `usage: machine node-1: rpc.signature.secrets.sha256 directory ${join(root, "hooks")} holds no files`,
    );
  });
});

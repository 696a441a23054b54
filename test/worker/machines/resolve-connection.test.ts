import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import { type Connection, serialiseConnection } from "../../../shared/contract/connection.ts";
import { readTextFile } from "../../../shared/read-text-file.ts";
import { parseInventory } from "../../../worker/machines/parse-inventory.ts";
import { SecretCommands } from "../../../worker/machines/secret-commands.ts";
import { fileFolder } from "../../support/test-folder.ts";

const CANARY = "canary-51d0";
const READING = { commands: new SecretCommands(), signal: new AbortController().signal };

const { folder } = await fileFolder();
const path = (name: string) => join(folder, name);

/** Resolves the connection of a machine with these credentials, as often as it is called. */
function resolver(
  credentials: string,
  env: Record<string, string | undefined> = {},
): () => Promise<Connection> {
  const text = `machines: [{name: node-1, host: 192.0.2.1, credentials: ${credentials}}]`;
  const parsed = parseInventory({ path: path("inventory.yaml"), text, env, readFile: readTextFile });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return () => parsed.value.resolveConnection({ name: "node-1", lockKey: "192.0.2.1" }, READING);
}

async function failure(resolve: () => Promise<Connection>): Promise<BmcError> {
  const thrown: unknown = await resolve().then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(thrown instanceof BmcError)) throw new Error(`expected a BmcError, got ${inspect(thrown)}`);
  return thrown;
}

describe("the secrets of a connection", () => {
  it("are read anew each time, so that they may be rotated", async () => {
    const env: Record<string, string> = { BMC_USER_NAME: "one" };
    const resolve = resolver("{usernameEnv: BMC_USER_NAME, passwordFile: rotated}", env);

    writeFileSync(path("rotated"), "first\n");
    const before = await resolve();
    writeFileSync(path("rotated"), "second");
    env["BMC_USER_NAME"] = "two";
    const after = await resolve();

    expect([before.username, before.password?.reveal()]).toEqual(["one", "first"]);
    expect([after.username, after.password?.reveal()]).toEqual(["two", "second"]);
  });

  it.each([
    ["one line end", "pass\n", "pass"],
    ["a line end of Windows", "pass\r\n", "pass"],
    ["spaces around it", " pa ss ", " pa ss "],
    ["other languages", "pässwörd", "pässwörd"],
  ])("are taken as they are with %s", async (_, content, expected) => {
    writeFileSync(path("as-is"), content);

    const connection = await resolver("{username: u, passwordFile: as-is}")();

    expect(connection.password?.reveal()).toBe(expected);
  });

  it("do not show in the connection, except where it is handed to an action", async () => {
    writeFileSync(path("hidden"), CANARY);

    const connection = await resolver("{username: u, passwordFile: hidden}")();

    expect(inspect(connection, { depth: 10 })).not.toContain(CANARY);
    expect(JSON.stringify(connection)).not.toContain(CANARY);
    expect(serialiseConnection(connection)).toContain(CANARY);
  });
});

describe("a connection is refused, with the place and never the content", () => {
  it.each([
    ["empty", "", "is empty"],
    ["no more than a line end", "\n", "is empty"],
    ["two lines", `${CANARY}\nmore\n`, "holds more than one line"],
    ["two line ends", `${CANARY}\n\n`, "holds more than one line"],
    ["a zero byte", `${CANARY}\0`, "holds more than one line"],
    ["too long", CANARY.repeat(1_000), "is larger than 4098 bytes"],
    ["just too long", "x".repeat(4_097), "holds more than 4096 bytes"],
    ["no text", Buffer.from([0xff, 0xfe, 0x00]), "is not UTF-8 text"],
  ])("when the file is %s", async (_, content, reason) => {
    writeFileSync(path("wrong"), content);

    const error = await failure(resolver("{username: u, passwordFile: wrong}"));

    expect(error.class).toBe("usage");
    expect(error.message).toBe(`machine node-1: passwordFile ${path("wrong")} ${reason}`);
    expect(inspect(error, { depth: 10 })).not.toContain(CANARY);
  });

  it("when there is no file", async () => {
    const error = await failure(resolver("{usernameFile: absent, passwordEnv: P}", { P: "x" }));

    expect(error.message).toBe(`machine node-1: usernameFile ${path("absent")} does not exist`);
  });

  it("when the file is a folder or a pipe, without waiting for a writer", async () => {
    execFileSync("mkfifo", [path("pipe")]);

    const pipe = await failure(resolver("{username: u, passwordFile: pipe}"));
    const directory = await failure(resolver("{username: u, passwordFile: .}"));

    expect(pipe.message).toBe(`machine node-1: passwordFile ${path("pipe")} is not a file`);
    expect(directory.message).toBe(`machine node-1: passwordFile ${folder} is not a file`);
  });

  it("when the variable is missing, empty or holds more than a line", async () => {
    const credentials = "{username: u, passwordEnv: SECRET_PASSWORD}";

    expect((await failure(resolver(credentials))).message).toBe(
      "machine node-1: passwordEnv SECRET_PASSWORD is not set",
    );
    expect((await failure(resolver(credentials, { SECRET_PASSWORD: "" }))).message).toBe(
      "machine node-1: passwordEnv SECRET_PASSWORD is empty",
    );
    expect((await failure(resolver(credentials, { SECRET_PASSWORD: `${CANARY}\nx` }))).message).toBe(
      "machine node-1: passwordEnv SECRET_PASSWORD holds more than one line",
    );
  });

  it("when the machine is not in the inventory", async () => {
    const parsed = parseInventory({ path: "i.yaml", text: "machines: []", env: {}, readFile: readTextFile });
    if (!parsed.ok) throw new Error("not parsed");

    const error = await failure(() =>
      parsed.value.resolveConnection({ name: "ghost", lockKey: "h" }, READING),
    );

    expect(error.message).toBe("there is no machine ghost in the inventory");
  });

  it("when the machine has got another BMC since its turn was taken", async () => {
    const text = "machines: [{name: node-1, host: 192.0.2.1}]";
    const parsed = parseInventory({ path: "i.yaml", text, env: {}, readFile: readTextFile });
    if (!parsed.ok) throw new Error("not parsed");

    const error = await failure(() =>
      parsed.value.resolveConnection({ name: "node-1", lockKey: "192.0.2.9" }, READING),
    );

    expect(error.message).toBe(
      "machine node-1: its BMC in the inventory changed while the action waited: nothing was sent",
    );
  });

  it("when the worker stops, as stopped", async () => {
    const text =
      "machines: [{name: node-1, host: 192.0.2.1, credentials: {username: u, passwordFile: rotated}}]";
    const parsed = parseInventory({ path: path("i.yaml"), text, env: {}, readFile: readTextFile });
    if (!parsed.ok) throw new Error("not parsed");
    const signal = AbortSignal.abort(new Error("the worker stops"));

    const reading = parsed.value.resolveConnection(
      { name: "node-1", lockKey: "192.0.2.1" },
      { ...READING, signal },
    );

    await expect(reading).rejects.toThrow("the worker stops");
  });
});

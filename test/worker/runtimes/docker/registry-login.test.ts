import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { Secret } from "../../../../shared/secret.ts";
import { parseRegistryName, registryAuth } from "../../../../worker/runtimes/docker/registry-login.ts";
import { fileFolder } from "../../../support/test-folder.ts";

const never = new AbortController().signal;
const path = process.env["PATH"];

const { folder } = await fileFolder();
afterEach(() => {
  process.env["PATH"] = path;
});

const basic = (login: string) => ({ auth: Buffer.from(login).toString("base64") });

async function loginFor(image: { registry?: string; repository: string }, file: unknown) {
  const loginFile = join(folder, "config.json");
  await writeFile(loginFile, typeof file === "string" ? file : JSON.stringify(file));
  return decode(await registryAuth(image, { loginFile }, never));
}

function decode(header: string | undefined): unknown {
  return header === undefined ? undefined : JSON.parse(Buffer.from(header, "base64url").toString());
}

/** Puts a credential helper into the path. */
async function installHelper(name: string, script: string): Promise<void> {
  const program = join(folder, `docker-credential-${name}`);
  await writeFile(program, `#!/bin/sh\nread server\n${script}\n`);
  await chmod(program, 0o755);
  process.env["PATH"] = `${folder}:${path}`;
}

const IMAGE = { registry: "registry.example:5000", repository: "team/power-on" };

describe("the login file", () => {
  it.each([
    ["registry.example:5000", basic("u:p:q"), { username: "u", password: "p:q" }],
    ["https://registry.example:5000", basic("u:p"), { username: "u", password: "p" }],
    ["https://registry.example:5000/v2/", { username: "u", password: "p" }, { username: "u", password: "p" }],
    ["registry.example:5000/team", basic("u:p"), { username: "u", password: "p" }],
    ["registry.example:5000", { ...basic("u:"), identitytoken: "t" }, { identitytoken: "t" }],
  ])("has a login under %s", async (key, auth, expected) => {
    expect(await loginFor(IMAGE, { auths: { "other.example": basic("x:y"), [key]: auth } })).toEqual({
      ...expected,
      serveraddress: "registry.example:5000",
    });
  });

  it("has Docker's own registry under the address of old", async () => {
    const auths = { "https://index.docker.io/v1/": basic("u:p") };

    expect(await loginFor({ repository: "acme/tool" }, { auths })).toEqual({ username: "u", password: "p" });
    expect(await loginFor({ registry: "docker.io", repository: "acme/tool" }, { auths })).toEqual({
      username: "u",
      password: "p",
    });
  });

  it("prefers the entry for more of the image's name", async () => {
    const auths = { "registry.example:5000": basic("all:p"), "registry.example:5000/team": basic("team:p") };

    expect(await loginFor(IMAGE, { auths })).toMatchObject({ username: "team" });
    expect(await loginFor({ ...IMAGE, repository: "teams/x" }, { auths })).toMatchObject({ username: "all" });
  });

  it("may have no login for a registry, or not exist", async () => {
    expect(await loginFor(IMAGE, { auths: { "registry.example": basic("u:p") } })).toBeUndefined();
    expect(await loginFor(IMAGE, { auths: { "registry.example:5000": {} } })).toBeUndefined();
    expect(await registryAuth(IMAGE, { loginFile: join(folder, "none.json") }, never)).toBeUndefined();
    expect(await registryAuth(IMAGE, {}, never)).toBeUndefined();
  });

  it("has less precedence than the login of the settings", async () => {
    const registries = [{ registry: IMAGE.registry, username: "set", password: new Secret("p") }];
    await writeFile(join(folder, "c.json"), JSON.stringify({ auths: { [IMAGE.registry]: basic("u:p") } }));

    const header = await registryAuth(IMAGE, { registries, loginFile: join(folder, "c.json") }, never);

    expect(decode(header)).toMatchObject({ username: "set" });
  });

  it.each(["{", "[]", '{"auths": {"registry.example:5000": {"auth": 7, "password": "canary"}}}'])(
    "that cannot be understood (%s) is a failure that does not quote it",
    async (text) => {
      const failure = await loginFor(IMAGE, text).catch((thrown: unknown) => thrown);

      expect(failure).toMatchObject({
        class: "usage",
        message: expect.stringContaining("config.json does not"),
      });
      expect(String(failure)).not.toContain("canary");
    },
  );
});

describe("a credential helper", () => {
  it("is asked for its registries, in place of the common one", async () => {
    await installHelper(
      "own",
      `printf '{"ServerURL":"%s","Username":"u","Secret":"of %s"}' "$server" "$server"`,
    );
    const file = { credHelpers: { "registry.example:5000": "own" }, credsStore: "none" };

    expect(await loginFor(IMAGE, file)).toMatchObject({ password: "of registry.example:5000" });
  });

  it("may have a token, and knows Docker's registry by its address", async () => {
    await installHelper("common", `printf '{"Username":"<token>","Secret":"%s"}' "$server"`);

    expect(await loginFor({ repository: "x/y" }, { credsStore: "common" })).toEqual({
      identitytoken: "https://index.docker.io/v1/",
    });
  });

  it("without a login leaves the file's, or none", async () => {
    await installHelper("empty", "echo credentials not found in native keychain; exit 1");

    expect(await loginFor(IMAGE, { credsStore: "empty" })).toBeUndefined();
    expect(
      await loginFor(IMAGE, { credsStore: "empty", auths: { [IMAGE.registry]: basic("u:p") } }),
    ).toMatchObject({ username: "u" });
  });

  it.each([
    [
      "broken",
      "echo the vault is sealed; exit 1",
      /docker-credential-broken gave no login .*: the vault is sealed/,
    ],
    ["garbled", "echo hello", /docker-credential-garbled printed no valid login/],
    ["../x", "", /is not the name of a credential helper/],
    ["missing-here", undefined, /docker-credential-missing-here gave no login .*ENOENT/],
  ])("that fails (%s) fails the pull with its reason", async (name, script, reason) => {
    if (script) await installHelper(name, script);

    await expect(loginFor(IMAGE, { credsStore: name })).rejects.toThrow(reason);
  });
});

it.each([
  ["registry.example", "registry.example"],
  ["https://registry.example:5000/v2/", "registry.example:5000"],
  ["localhost:5000", "localhost:5000"],
  ["[::1]:5000", "[::1]:5000"],
  ["registry.example/team", undefined],
  ["https://user@registry.example", undefined],
  ["", undefined],
])("the registry %j is understood as %s", (text, expected) => {
  expect(parseRegistryName(text)).toBe(expected);
});

import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { formatProblem } from "../../../../shared/document/problem.ts";
import { createCertificate } from "../../../../simulators/certificate.ts";
import { loadConfig } from "../../../../worker/main/load-config.ts";
import { fileFolder } from "../../../support/test-folder.ts";

const SECRET = "canary-0123456789abcdef0123456789abcdef";
const { cert, key } = createCertificate({ commonName: "worker" });
const publicKey = generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "pem" }).toString();

const { folder } = await fileFolder();
function write(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const load = (flags: Readonly<Record<string, unknown>>) =>
  loadConfig({ flags: { pbnjAddress: "0.0.0.0:50051", ...flags }, env: {} }, "serve");

function problems(flags: Readonly<Record<string, unknown>>): readonly string[] {
  const loaded = load(flags);
  return loaded.ok ? [] : loaded.problems.map(formatProblem);
}

test("an address beyond loopback needs tokens, client certificates, or a word that neither is wanted", () => {
  expect(problems({})).toEqual([
    "--pbnj-address: is not a loopback address, so it needs authentication. Fix: set --pbnj-jwt-key-file, --pbnj-jwt-secret-file or --pbnj-client-ca-file; or set --pbnj-auth to none, and everyone who reaches the address can control machines",
  ]);
  expect(problems({ pbnjAddress: "[::1]:50051" })).toEqual([]);
  expect(problems({ pbnjAddress: undefined })).toEqual([]);
  expect(problems({ pbnjAuth: "none" })).toEqual([]);
  expect(problems({ pbnjJwtSecretFile: write("jwt", SECRET) })).toEqual([]);
  expect(problems({ pbnjJwtKeyFile: write("jwt.pub", publicKey) })).toEqual([]);
});

test("the files are read, and no secret of them is printed", () => {
  const [pbnjCertFile, pbnjKeyFile] = [write("tls.crt", cert), write("tls.key", key)];
  const loaded = load({
    ...{ pbnjCertFile, pbnjKeyFile, pbnjClientCaFile: pbnjCertFile },
    ...{ pbnjJwtSecretFile: write("jwt", SECRET), pbnjJwtKeyFile: write("jwt.pub", publicKey) },
    ...{ pbnjJwtIssuer: "https://issuer.example.org", pbnjJwtAudience: "pbnj" },
  });

  if (!loaded.ok) throw new Error("not loaded");
  const { pbnj } = loaded.config;
  expect(pbnj).toMatchObject({
    allowUnauthenticated: false,
    issuer: "https://issuer.example.org",
    audience: "pbnj",
    files: { certificate: { text: cert }, ca: { text: cert }, jwtKeys: { text: publicKey } },
  });
  expect(pbnj?.files.jwtSecret?.text.reveal()).toBe(SECRET);
  expect(pbnj?.files.key?.text.reveal()).toBe(key);
  expect(inspect(loaded, { depth: 20 })).not.toMatch(/canary|PRIVATE KEY/);
  expect(loaded.warnings).toEqual([]);
});

test("tokens without TLS are a warning", () => {
  const loaded = load({ pbnjJwtSecretFile: write("jwt", SECRET) });

  expect(loaded.ok && loaded.warnings.map(formatProblem)).toEqual([
    expect.stringContaining("--pbnj-jwt-secret-file: is used without TLS"),
  ]);
});

test.each([
  [{ pbnjJwtKeyFile: "secret" }, "holds no key"],
  [{ pbnjJwtSecretFile: "public" }, "not a secret"],
  [{ pbnjJwtIssuer: "a", pbnjAuth: "none" }, "--pbnj-jwt-issuer: has no effect without tokens"],
  [{ pbnjJwtAudience: "a", pbnjAuth: "none" }, "--pbnj-jwt-audience: has no effect without tokens"],
  [{ pbnjJwtSecretFile: "secret", pbnjAuth: "none" }, "--pbnj-auth: is none, so"],
  [
    { pbnjClientCaFile: "cert" },
    "--pbnj-client-ca-file: needs TLS: set --pbnj-cert-file and --pbnj-key-file",
  ],
  [{ pbnjAuth: "none", pbnjCertFile: "cert" }, "--pbnj-cert-file: needs its private key"],
])("%j is refused: %s", (given, message) => {
  const files: Readonly<Record<string, string>> = {
    secret: write("secret", SECRET),
    public: write("public", publicKey),
    cert: write("cert", cert),
  };
  const flags = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, files[value] ?? value]),
  );

  expect(problems(flags)).toEqual([expect.stringContaining(message)]);
});

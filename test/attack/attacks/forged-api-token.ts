import { createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { WorkerProgram } from "../../support/worker-program.ts";
import { type Attack, unless } from "../attack.ts";
import { openLab } from "../lab.ts";
import { PBNJ_API } from "../policy.ts";

const SERVICES = "github.com.tinkerbell.pbnj.api.v1";
const OFF = JSON.stringify({
  authn: { externalAuthn: { host: { host: "node-1" } } },
  powerAction: "POWER_ACTION_HARDOFF",
});

export const attack: Attack = {
  tries: "a client powers a machine off through PBnJ's API, without a token or with a forged one",
  holds: "without authentication no address of the network is served; with it every forged token is refused",
  async run(setting) {
    await using open = new WorkerProgram(["serve", "--pbnj-address", "0.0.0.0:0"]);
    const end = await Promise.race([open.ended, sleep(15_000, "runs")]);
    if (typeof end !== "object" || end.code !== 2) return ["it serves the network without authentication"];
    await using folder = await mkdtempDisposable(join(tmpdir(), "pbnj-attack-jwt-"));
    const keyFile = join(folder.path, "jwt.pub");
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const pem = publicKey.export({ type: "spki", format: "pem" }).toString();
    await writeFile(keyFile, pem);
    await using lab = await openLab({
      setting,
      machineOptions: { power: "on" },
      argv: [...["--http-address", "127.0.0.1:0", ...PBNJ_API], ...["--pbnj-jwt-key-file", keyFile]],
    });
    const url = String((await lab.worker.untilLogged("serving PBnJ's API"))["url"]);
    const call = (method: string, body: string, headers: Readonly<Record<string, string>>) =>
      fetch(`${url}/${SERVICES}.${method}`, {
        ...{ method: "POST", body, headers: { "content-type": "application/json", ...headers } },
      });
    const reasons: string[] = [];
    for (const [name, token] of Object.entries(forgedTokens(pem, privateKey))) {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const { status } = await call("Machine/Power", OFF, headers);
      reasons.push(...unless(status === 401, `${name}: ${status}`));
    }
    const right = await call("Task/Status", '{"taskId":"none"}', {
      authorization: `Bearer ${es256({ exp: soon() }, privateKey)}`,
    });

    return [
      ...reasons,
      ...unless(right.status === 404, `the right token gets ${right.status}`),
      ...unless(lab.machine().power === "on", "the machine is off"),
    ];
  },
};

const soon = () => Math.floor(Date.now() / 1_000) + 60;

/** By what is wrong with them. */
function forgedTokens(pem: string, privateKey: KeyObject): Readonly<Record<string, string | undefined>> {
  const claims = { exp: soon() };
  const other = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  const hs256 = unsigned("HS256", claims);
  const right = es256(claims, privateKey);
  return {
    "no token": undefined,
    "no signature": `${unsigned("none", claims)}.`,
    "the public key as a secret": `${hs256}.${createHmac("sha256", pem).update(hs256).digest("base64url")}`,
    "another key": es256(claims, other),
    "another's signature": `${unsigned("ES256", { ...claims, sub: "admin" })}.${right.split(".").at(-1)}`,
    "a signature of zeros": `${unsigned("ES256", claims)}.${Buffer.alloc(64).toString("base64url")}`,
    expired: es256({ exp: soon() - 3_600 }, privateKey),
    "no expiry": es256({}, privateKey),
  };
}

function unsigned(alg: string, claims: object): string {
  return [{ alg }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
}

function es256(claims: object, key: KeyObject): string {
  const text = unsigned("ES256", claims);
  const signature = sign("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" });
  return `${text}.${signature.toString("base64url")}`;
}

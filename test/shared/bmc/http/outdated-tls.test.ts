import { generateKeyPairSync } from "node:crypto";
import type { AddressInfo } from "node:net";
import { createServer, type TlsOptions } from "node:tls";
import { describe, expect, it } from "vitest";
import { HttpConnection } from "../../../../shared/bmc/http/http-connection.ts";
import { BmcError } from "../../../../shared/contract/bmc-error.ts";
import { createCertificate, fingerprintOf } from "../../../../simulators/certificate.ts";

const altNames = ["127.0.0.1"];
const authority = createCertificate({ commonName: "Lab CA", authority: true });
const shortKey = generateKeyPairSync("rsa", { modulusLength: 1_024 }).privateKey;
const weak = createCertificate({
  commonName: "BMC",
  altNames,
  issuer: authority,
  key: shortKey.export({ type: "pkcs8", format: "pem" }).toString(),
});
const good = createCertificate({ commonName: "BMC", altNames, issuer: authority });
const OLD = "DEFAULT@SECLEVEL=0";

/** What a request to a BMC with this TLS ends with; undefined if it is answered. */
async function errorWith(options: TlsOptions, fingerprint?: string): Promise<BmcError | undefined> {
  const server = createServer(options, (socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => socket.end("HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n"));
  });
  server.on("tlsClientError", () => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const http = new HttpConnection({
    scheme: "https",
    host: "127.0.0.1",
    port: (server.address() as AddressInfo).port,
    tls: { verify: true, fallback: false, ca: authority.cert, ...(fingerprint && { fingerprint }) },
    connectTimeoutMs: 5_000,
    requestTimeoutMs: 5_000,
    maxBodyBytes: 1_000,
  });
  try {
    const request = { method: "GET", path: "/", headers: {}, doing: "GET /", isWrite: false };
    await http.send(request, new AbortController().signal);
    return undefined;
  } catch (thrown) {
    return BmcError.from(thrown);
  } finally {
    await http.close();
    await new Promise((resolve) => server.close(resolve));
  }
}

describe("TLS that is too old says what is wrong with it", () => {
  it("a short key, which can be pinned all the same", async () => {
    const options = { ...weak, ciphers: OLD };

    const error = await errorWith(options);

    expect(error).toMatchObject({
      class: "tls",
      message: expect.stringContaining("too weak to be verified: RSA key of 1024 bits (fingerprint "),
    });
    expect(error?.message).not.toContain("UNSPECIFIED");
    expect(await errorWith(options, fingerprintOf(weak))).toBeUndefined();
  });

  it.each<[string, TlsOptions, string]>([
    [
      "TLS 1.1",
      { ...good, ciphers: OLD, minVersion: "TLSv1", maxVersion: "TLSv1.1" },
      "the BMC speaks only TLS 1.1 or older",
    ],
    [
      "cipher suites without encryption",
      { ...good, ciphers: "ECDHE-ECDSA-NULL-SHA@SECLEVEL=0", maxVersion: "TLSv1.2" },
      "the BMC offers no cipher suite, key and signature that are strong enough",
    ],
  ])("%s, with the firmware as remedy", async (_, options, reason) => {
    const error = await errorWith(options);

    expect(error).toMatchObject({ class: "tls", message: expect.stringContaining(reason) });
    expect(error?.message).toContain("; update the BMC's firmware, or name only other providers");
  });
});

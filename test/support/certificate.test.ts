import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { connect, createServer } from "node:tls";
import { expect, test } from "vitest";
import { createCertificate, fingerprintOf } from "../../simulators/certificate.ts";

const authority = createCertificate({ commonName: "Test CA", authority: true });

test("a certificate carries its names and is signed by its issuer", () => {
  const made = createCertificate({
    commonName: "bmc",
    altNames: ["127.0.0.1", "2001:db8::7", "bmc.example.org"],
    issuer: authority,
  });

  const certificate = new X509Certificate(made.cert);

  const issuer = new X509Certificate(authority.cert);
  expect(certificate.subject).toBe("CN=bmc");
  expect(certificate.checkIssued(issuer)).toBe(true);
  expect(certificate.verify(issuer.publicKey)).toBe(true);
  expect(certificate.checkIP("2001:db8::7")).toBe("2001:db8::7");
  expect(certificate.checkHost("bmc.example.org")).toBe("bmc.example.org");
  expect(certificate.ca).toBe(false);
  expect(issuer.ca).toBe(true);
});

test("a certificate without an issuer signs itself, and no two are alike", () => {
  const [first, second] = [createCertificate({ commonName: "a" }), createCertificate({ commonName: "a" })];

  const certificate = new X509Certificate(first.cert);

  expect(certificate.verify(certificate.publicKey)).toBe(true);
  expect(fingerprintOf(first)).toBe(certificate.fingerprint256.replaceAll(":", "").toLowerCase());
  expect(fingerprintOf(first)).not.toBe(fingerprintOf(second));
});

test("server and client certificates pass mutual TLS", async () => {
  const server = createServer({
    ...createCertificate({ commonName: "server", altNames: ["127.0.0.1"], issuer: authority }),
    ca: authority.cert,
    requestCert: true,
    rejectUnauthorized: true,
  });
  server.on("secureConnection", (socket) => socket.end(String(socket.getPeerCertificate().subject.CN)));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("not listening");

  const client = connect({
    host: "127.0.0.1",
    port: address.port,
    ca: authority.cert,
    ...createCertificate({ commonName: "worker", issuer: authority }),
  });
  const [greeting] = await once(client, "data");
  client.destroy();
  server.close();

  expect(String(greeting)).toBe("worker");
});

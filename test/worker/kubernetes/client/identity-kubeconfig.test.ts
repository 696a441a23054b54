import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { createCertificate } from "../../../../simulators/certificate.ts";
import { parseIdentityKubeconfig } from "../../../../worker/kubernetes/client/identity-kubeconfig.ts";

const { cert, key } = createCertificate({ commonName: "edge" });
const base64 = (text: string) => Buffer.from(text).toString("base64");
const CLUSTER = { server: "https://edge.example:6443", "certificate-authority-data": base64(cert) };
const USER = { token: "t0ken" };

interface Parts {
  readonly cluster?: object;
  readonly user?: object;
  readonly current?: string;
}

function text({ cluster = CLUSTER, user = USER, current = "one" }: Parts = {}): string {
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster }],
    users: [
      { name: "u", user },
      { name: "risky", user: { exec: { command: "/bin/sh" } } },
    ],
    contexts: [
      { name: "one", context: { cluster: "c", user: "u", namespace: "bmcs" } },
      { name: "other", context: { cluster: "c", user: "risky" } },
      { name: "lost", context: { cluster: "gone", user: "u" } },
    ],
    "current-context": current,
  });
}

describe("a kubeconfig that users of a cluster wrote", () => {
  it("gives server, CA, token or client certificate, and namespace of one context", () => {
    expect(parseIdentityKubeconfig(text(), undefined)).toEqual({
      server: "https://edge.example:6443",
      ca: base64(cert),
      token: "t0ken",
      namespace: "bmcs",
    });
    const user = { "client-certificate-data": base64(cert), "client-key-data": base64(key) };
    expect(parseIdentityKubeconfig(text({ user, current: "" }), "one")).toMatchObject({ key: base64(key) });
  });

  it.each<[string, Parts, string]>([
    ["a program for the token", { user: { exec: { command: "/bin/sh" } } }, "user.exec runs a program"],
    ["a plug-in", { user: { "auth-provider": { name: "gcp" } } }, "user.auth-provider runs a program"],
    ["a token file", { user: { tokenFile: "/etc/shadow" } }, "user.tokenFile names a file: use token"],
    ["a key file", { user: { token: "t", "client-key": "/k" } }, "user.client-key names a file"],
    [
      "a CA file",
      { cluster: { ...CLUSTER, "certificate-authority": "/ca" } },
      "cluster.certificate-authority names",
    ],
    ["impersonation", { user: { token: "t", as: "root" } }, "user.as is not known"],
    ["a password", { user: { username: "u", password: "p" } }, "user.username is not allowed"],
    [
      "a proxy",
      { cluster: { ...CLUSTER, "proxy-url": "http://p" } },
      "cluster.proxy-url is allowed only in a",
    ],
    ["no verification", { cluster: { ...CLUSTER, "insecure-skip-tls-verify": true } }, "must not be true"],
    ["no TLS", { cluster: { server: "http://edge.example" } }, "cluster.server must be an https URL"],
    [
      "a login in the URL",
      { cluster: { server: "https://u:p@edge.example" } },
      "cluster.server must be an https URL",
    ],
    ["a header in the token", { user: { token: "a\nHost: b" } }, "user.token must be one line"],
    [
      "a broken CA",
      { cluster: { ...CLUSTER, "certificate-authority-data": base64("x") } },
      "has certificates or a key",
    ],
    [
      "a key without certificate",
      { user: { token: "t", "client-key-data": base64(key) } },
      "user needs both",
    ],
    ["no credentials", { user: {} }, "user has no token and no client certificate"],
    ["another context's cluster", { current: "lost" }, "lacks the cluster of the context"],
    ["a risky user of the chosen context", { current: "other" }, "user.exec runs a program"],
    ["no context", { current: "" }, "has no current-context: set contextName"],
    ["an unknown context", { current: "nowhere" }, "lacks the chosen context"],
  ])("is refused with %s", (_, parts, problem) => {
    expect(() => parseIdentityKubeconfig(text(parts), undefined)).toThrow(problem);
  });

  it("is refused if it is too long or not YAML, without quoting it", () => {
    expect(() => parseIdentityKubeconfig("a".repeat(70_000), undefined)).toThrow("is longer than");
    expect(() => parseIdentityKubeconfig("token: *s3cret", undefined)).toThrow(
      /^(?!.*s3cret)kubeconfig is not valid/,
    );
  });
});

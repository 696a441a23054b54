import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { engineImage, parseImageReference } from "../../../shared/contract/image-reference.ts";
import { matchesImagePattern } from "../../../worker/policy/image-rule.ts";

const SHA256 = `sha256:${"0123456789abcdef".repeat(4)}`;

describe("parseImageReference", () => {
  it.each([
    ["power", { repository: "power", name: "power" }],
    ["power:v1", { repository: "power", name: "power", tag: "v1" }],
    ["acme/power", { repository: "acme/power", name: "power" }],
    [
      "registry.example/acme/power:v1",
      { registry: "registry.example", repository: "acme/power", name: "power", tag: "v1" },
    ],
    ["localhost/power", { registry: "localhost", repository: "power", name: "power" }],
    ["registry:5000/power", { registry: "registry:5000", repository: "power", name: "power" }],
    [
      "127.0.0.1:5000/a/b/c:latest",
      { registry: "127.0.0.1:5000", repository: "a/b/c", name: "c", tag: "latest" },
    ],
    [
      "[2001:db8::1]:5000/power:v1",
      { registry: "[2001:db8::1]:5000", repository: "power", name: "power", tag: "v1" },
    ],
    [`power@${SHA256}`, { repository: "power", name: "power", digest: SHA256 }],
    [
      `registry.example/power:v1@${SHA256}`,
      { registry: "registry.example", repository: "power", name: "power", tag: "v1", digest: SHA256 },
    ],
    ["a__b/c---d.e_f", { repository: "a__b/c---d.e_f", name: "c---d.e_f" }],
    ["Registry/power", { registry: "Registry", repository: "power", name: "power" }],
  ])("reads the parts of %s", (text, parts) => {
    expect(parseImageReference(text)).toEqual(parts);
  });

  it.each([
    [""],
    [" power"],
    ["power "],
    ["Power"],
    ["registry.example/"],
    ["registry.example//power"],
    ["/power"],
    ["power:"],
    ["power:-v1"],
    [`power:${"v".repeat(129)}`],
    ["power:v1:v2"],
    ["power@"],
    ["power@sha256:abc"],
    [`power@sha256:${"A".repeat(64)}`],
    [`power@md5:${"a".repeat(32)}`],
    ["-acme/power"],
    ["acme/po wer"],
    ["acme/power\n"],
    ["https://registry.example/power"],
    ["a._b"],
    ["a".repeat(256)],
    ["a".repeat(64)],
  ])("refuses %j", (text) => {
    expect(parseImageReference(text)).toBeUndefined();
  });

  it("parses every reference to parts that make the same text", () => {
    const text = fc.stringMatching(/^[a-z0-9./:@_-]{1,40}$/);
    fc.assert(
      fc.property(text, (reference) => {
        const parts = parseImageReference(reference);
        if (parts === undefined) return;
        const { registry, repository, tag, digest } = parts;
        const together = [
          registry === undefined ? "" : `${registry}/`,
          repository,
          tag === undefined ? "" : `:${tag}`,
          digest === undefined ? "" : `@${digest}`,
        ].join("");
        expect(together).toBe(reference);
      }),
      { numRuns: 2_000 },
    );
  });

  it("parses a hostile name in linear time", () => {
    const started = process.cpuUsage();

    expect(parseImageReference(`${"a-".repeat(200)}!`)).toBeUndefined();
    expect(parseImageReference(`${"-".repeat(100_000)}`)).toBeUndefined();

    // The CPU time of this process alone, because the machine may be busy.
    expect(process.cpuUsage(started).user).toBeLessThan(1_000_000);
  });
});

describe("engineImage", () => {
  it.each([
    ["alpine", "docker.io/library/alpine:latest"],
    ["acme/power:v1", "docker.io/acme/power:v1"],
    ["docker.io/alpine", "docker.io/library/alpine:latest"],
    ["Registry.example:5000/acme/power", "registry.example:5000/acme/power:latest"],
    [`acme/power:v1@${SHA256}`, `docker.io/acme/power@${SHA256}`],
    // An engine would take these for the IDs of local images.
    [SHA256, `docker.io/library/${SHA256}`],
    ["0123456789ab", "docker.io/library/0123456789ab:latest"],
  ])("of %s is %s", (text, full) => {
    expect(engineImage(text)).toBe(full);
  });

  it.each(["a".repeat(64), "UPPER", "a b", ""])("refuses %s", (text) => {
    expect(() => engineImage(text)).toThrow("is not an image reference");
  });
});

it.each([
  ["alpine", "docker.io/library/alpine:latest"],
  ["Docker.io/alpine", "docker.io/library/alpine:latest"],
  ["index.docker.io/library/alpine:3", "docker.io/library/alpine:3"],
  ["INDEX.docker.io/alpine:3", "docker.io/library/alpine:3"],
])("an engine gets %s as %s, which the policy judges as well", (text, canonical) => {
  const reference = parseImageReference(text);
  if (!reference) throw new Error("it is no reference");

  expect(engineImage(text)).toBe(canonical);
  expect(matchesImagePattern("docker.io/library/*", reference)).toBe(true);
  expect(matchesImagePattern("index.docker.io/alpine", reference)).toBe(true);
});

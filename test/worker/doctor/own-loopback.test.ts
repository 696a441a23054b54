import { describe, expect, it } from "vitest";
import { explainOwnLoopback } from "../../../worker/doctor/own-loopback.ts";
import type { Finding } from "../../../worker/findings/finding.ts";

const REFUSED = "connection refused";
const problem = (subject: string, detail: string): Finding => ({
  ...{ check: "tink-server", state: "problem", subject, detail, remedy: "start the server" },
});

describe("the fix for a connection inside a container", () => {
  it.each(["127.0.0.1:24113", "localhost:443", "[::1]:24113"])(
    "names the container's own loopback: %s",
    (subject) => {
      const { remedy } = explainOwnLoopback(problem(subject, REFUSED));

      expect(remedy).toMatch(
        /^inside a container, \S+ is the container's own loopback: .*pbnj-worker lab --host <address>/,
      );
      expect(remedy).toMatch(/Otherwise start the server$/);
    },
  );

  it.each([
    ["192.0.2.1:24113", REFUSED],
    ["10.127.0.0.1.example:443", REFUSED],
    ["127.0.0.1:24113", "the certificate has expired"],
  ])("stays as it is for %s: %s", (subject, detail) => {
    const finding = problem(subject, detail);

    expect(explainOwnLoopback(finding)).toBe(finding);
  });
});

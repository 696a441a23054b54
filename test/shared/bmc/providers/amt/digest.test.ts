import { describe, expect, test } from "vitest";
import {
  authorize,
  type DigestChallenge,
  parseChallenge,
} from "../../../../../shared/bmc/providers/amt/digest.ts";

const account = { username: "Mufasa", password: "Circle of Life" };
/** The example of RFC 7616 section 3.9.1. */
const example = {
  realm: "http-auth@example.org",
  nonce: "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v",
  opaque: "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS",
  algorithmGiven: true,
  qop: true,
  stale: false,
} satisfies Omit<DigestChallenge, "algorithm">;
const request = {
  method: "GET",
  uri: "/dir/index.html",
  count: 1,
  clientNonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ",
};

describe("the answer to a challenge", () => {
  test.each([
    ["MD5", "8ca523f5e9506fed4657c9700eebdbec"],
    ["SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"],
  ] as const)("with %s is that of RFC 7616", (algorithm, response) => {
    const header = authorize({ ...example, algorithm }, account, request);

    expect(header).toBe(
      `Digest username="Mufasa", realm="http-auth@example.org", nonce="${example.nonce}", uri="/dir/index.html", ` +
        `algorithm=${algorithm}, response="${response}", opaque="${example.opaque}", qop=auth, nc=00000001, ` +
        `cnonce="${request.clientNonce}"`,
    );
  });

  test("without quality of protection is that of RFC 2069", () => {
    const old: DigestChallenge = {
      realm: "testrealm@host.com",
      nonce: "dcd98b7102dd2f0e8b11d0f600bfb0c093",
      algorithm: "MD5",
      algorithmGiven: false,
      qop: false,
      stale: false,
    };

    const header = authorize(old, { username: "Mufasa", password: "CircleOfLife" }, request);

    expect(header).toBe(
      'Digest username="Mufasa", realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", ' +
        'uri="/dir/index.html", response="1949323746fe6a43ef61f9606e7febea"',
    );
  });

  test("escapes quotes, counts in hex and never repeats a client nonce", () => {
    const challenge = { ...example, realm: 'a "b" \\c', algorithm: "MD5" } as const;
    const again = { method: "POST", uri: "/wsman", count: 255 };

    const [one, two] = [authorize(challenge, account, again), authorize(challenge, account, again)];

    expect(one).toContain('realm="a \\"b\\" \\\\c"');
    expect(one).toContain("nc=000000ff");
    expect(one).not.toBe(two);
    expect(one).not.toContain(account.password);
  });
});

describe("a challenge", () => {
  test("is read as AMT sends it", () => {
    const header = 'Digest realm="Digest:56ABC7BE", nonce="fVNueyE=",stale="false",qop="auth-int, auth"';

    expect(parseChallenge(header)).toEqual({
      realm: "Digest:56ABC7BE",
      nonce: "fVNueyE=",
      algorithm: "MD5",
      algorithmGiven: false,
      qop: true,
      stale: false,
    });
  });

  test("is found beside another scheme, whose realm is not taken", () => {
    const header = 'Basic realm="one", Digest realm="a, \\"b\\"", nonce=n, STALE=TRUE, Basic realm="two"';

    expect(parseChallenge(header)).toMatchObject({ realm: 'a, "b"', nonce: "n", stale: true, qop: false });
  });

  test.each([undefined, "", 'Basic realm="a"', "Negotiate"])("is none in %j", (header) => {
    expect(parseChallenge(header)).toBeUndefined();
  });

  test.each([
    ['Digest nonce="a"', /lacks its realm/],
    ['Digest realm="a", nonce=""', /lacks its realm or nonce/],
    ['Digest realm="a", nonce="b", algorithm=MD5-sess', /MD5-sess is not supported/],
    ['Digest realm="a", nonce="b", qop="auth-int"', /auth-int is not supported/],
  ])("%s is class protocol", (header, reason) => {
    expect(() => parseChallenge(header)).toThrowError(
      expect.objectContaining({ class: "protocol", message: expect.stringMatching(reason) }),
    );
  });
});

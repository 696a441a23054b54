import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  imageSpellings,
  isSameImage,
  mediaTypeOf,
  parseImageAddress,
  withoutCredentials,
} from "../../../../shared/bmc/operations/image-address.ts";

describe("an address of an image", () => {
  test.each([
    ["http://192.0.2.9/x.iso", "http", "192.0.2.9", "/x.iso"],
    ["HTTPS://images.example:8443/a/x.iso?k=1#f", "https", "images.example:8443", "/a/x.iso?k=1#f"],
    ["nfs://192.0.2.9/export/a%20b.iso", "nfs", "192.0.2.9", "/export/a b.iso"],
    ["192.0.2.9:/export/x.iso", "nfs", "192.0.2.9", "/export/x.iso"],
    ["[2001:db8::9]:/export/x.iso", "nfs", "[2001:db8::9]", "/export/x.iso"],
    ["cifs://host/share/x.iso", "cifs", "host", "/share/x.iso"],
    ["smb://host/share/dir/x.iso", "cifs", "host", "/share/dir/x.iso"],
    ["//host/My Share/x.iso", "cifs", "host", "/My Share/x.iso"],
    ["\\\\host\\share\\x.iso", "cifs", "host", "/share/x.iso"],
    ["cifs://[2001:db8::9]:445/share\\x.iso", "cifs", "[2001:db8::9]:445", "/share/x.iso"],
  ])("%s is read", (text, protocol, host, path) => {
    expect(parseImageAddress(text)).toEqual({ protocol, host, path });
  });

  test.each([
    "",
    "x.iso",
    "http:/192.0.2.9/x.iso",
    "ftp://192.0.2.9/x.iso",
    "C:/x.iso",
    "http://192.0.2.9",
    "http://user:secret@192.0.2.9/x.iso",
    "nfs://user:secret@192.0.2.9/x.iso",
    "cifs://host/user:secret@share/x.iso",
    "//user:secret@host/share/x.iso",
    "//DOMAIN;user@host/share/x.iso",
    "user:secret@host:/export/x.iso",
    "cifs://host/share/us%40er/x.iso",
    "nfs://host/",
    "host:/",
    "cifs://host/share",
    "//host/share/",
    "nfs://host/%ZZ.iso",
    "nfs://host/a%2fb.iso",
    "nfs://host/a%0ab.iso",
    "host:/a\nb.iso",
    "nfs://host/a\\b.iso",
    "http://ho[st/x.iso",
    "http://host:port/x.iso",
  ])("%j is none", (text) => {
    expect(parseImageAddress(text)).toBeUndefined();
  });
});

test.each([
  ["http://h/x.iso", ["http://h/x.iso"], ["http://h/x.iso"]],
  [
    "nas:/e/a b.iso",
    ["nfs://nas/e/a%20b.iso", "nas:/e/a b.iso"],
    ["nas:/e/a b.iso", "nfs://nas/e/a%20b.iso"],
  ],
  ["nfs://nas:2050/e/x.iso", ["nfs://nas:2050/e/x.iso"], ["nfs://nas:2050/e/x.iso"]],
  [
    "smb://h/s/x.iso",
    ["cifs://h/s/x.iso", "smb://h/s/x.iso", "//h/s/x.iso"],
    ["//h/s/x.iso", "cifs://h/s/x.iso", "smb://h/s/x.iso"],
  ],
])("%s is written as a URI %j, or as a host and a path %j", (url, uris, shares) => {
  expect(imageSpellings(url, "uri")).toEqual(uris);
  expect(imageSpellings(url, "share")).toEqual(shares);
});

describe("a BMC shows the image", () => {
  const CIFS = "//host/Share/dir/x.iso";
  test.each([
    ["http://h/a/x.iso", "http://h/a/x.iso"],
    ["http://H:80/a/x.iso", "http://h/a/x.iso"],
    ["x.iso", "http://h/a/x.iso"],
    ["/a/x.iso", "http://h/a/x.iso?k=1"],
    ["http://someone:secret@h/a/x.iso", "http://h/a/x.iso"],
    ["nfs://nas/e/a%20b.iso", "nas:/e/a b.iso"],
    ["nas:/e//x.iso", "nfs://nas:2049/e/x.iso"],
    ["smb://HOST/share/dir/X.iso", CIFS],
    ["\\\\host\\Share\\dir\\x.iso", CIFS],
    ["cifs://user:secret@host/Share/dir/x.iso", CIFS],
    ["\\Share\\dir\\x.iso", CIFS],
  ])("as %s, asked for %s", (shown, url) => {
    expect(isSameImage(shown, url)).toBe(true);
  });

  test.each([
    ["http://h/b/x.iso", "http://h/a/x.iso"],
    ["https://h/a/x.iso", "http://h/a/x.iso"],
    ["http://g/a/x.iso", "http://h/a/x.iso"],
    ["ax.iso", "http://h/a/x.iso"],
    ["X.iso", "http://h/a/x.iso"],
    ["", "http://h/a/x.iso"],
    ["/", "http://h/a/x.iso"],
    ["gas:/e/x.iso", "nas:/e/x.iso"],
    ["//host/other/dir/x.iso", CIFS],
  ])("not as %s, asked for %s", (shown, url) => {
    expect(isSameImage(shown, url)).toBe(false);
  });
});

test.each([
  ["http://user:pa/ss@h/x.iso", "http://h/x.iso"],
  ["//user:secret@h/s/x.iso", "//h/s/x.iso"],
  ["\\\\user:secret@h\\s\\x.iso", "\\\\h\\s\\x.iso"],
  ["http://h/x.iso", "http://h/x.iso"],
])("%s is shown as %s", (shown, safe) => {
  expect(withoutCredentials(shown)).toBe(safe);
});

test.each([
  ["http://h/x.IMG?k=1", "usb"],
  ["nas:/e/x.img", "usb"],
  ["http://h/x.iso?file=a.img", "cd"],
  ["http://h/img", "cd"],
])("%s is a %s", (url, type) => {
  expect(mediaTypeOf(url)).toBe(type);
});

const name = fc.stringMatching(/^[A-Za-z0-9 äß%+_-]{1,12}$/).filter((text) => text.trim() !== "");
const address = fc.record({
  protocol: fc.constantFrom("nfs", "cifs"),
  host: fc.domain(),
  path: fc.array(name, { minLength: 2, maxLength: 5 }).map((parts) => `/${parts.join("/")}.iso`),
});

test("every spelling of a share is read back as the same address", () => {
  fc.assert(
    fc.property(address, ({ protocol, host, path }) => {
      const url = protocol === "nfs" ? `${host}:${path}` : `//${host}${path}`;
      for (const wanted of ["uri", "share"] as const) {
        for (const spelling of imageSpellings(url, wanted)) {
          expect(parseImageAddress(spelling)).toEqual({ protocol, host, path });
          expect(isSameImage(spelling, url)).toBe(true);
        }
      }
    }),
  );
});

test("no address with a login and a password is read, whatever it looks like", () => {
  const login = fc.stringMatching(/^[a-z\\/;:%]{1,8}$/);
  const form = fc.constantFrom("http://", "nfs://", "smb://", "//", "\\\\", "");
  fc.assert(
    fc.property(form, login, login, fc.domain(), (start, user, password, host) => {
      for (const rest of ["/share/x.iso", ":/export/x.iso"]) {
        expect(parseImageAddress(`${start}${user}:${password}@${host}${rest}`)).toBeUndefined();
      }
    }),
  );
});

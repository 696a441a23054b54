import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BmcReading } from "../../../shared/bmc/recording/record-bmc.ts";
import { Connection } from "../../../shared/contract/connection.ts";
import { roleOf } from "../../../shared/recording/allow-list.ts";
import { Anonymiser } from "../../../shared/recording/anonymise.ts";
import { recordingText } from "../../../shared/recording/recording.ts";
import { StandIns } from "../../../shared/recording/stand-ins.ts";
import { redactor } from "../../../shared/secret-forms.ts";
import type { TappedHttp, TappedIpmi } from "../../../shared/tracing/wire-tap.ts";

const connection = Connection.parse({ host: "bmc.invalid", username: "admin", password: "calvin-83d1c2" });

/** What the recording has, in every notation in which it may be there. */
function written(reading: BmcReading): string {
  const anonymiser = new Anonymiser(redactor({ connection }), {
    standIns: new StandIns(Buffer.alloc(32, 7)),
  });
  const text = recordingText(reading.anonymous(anonymiser, connection)).toLowerCase();
  const encoded = text.match(/[\da-z+/]{8,}/g) ?? [];
  return [
    text,
    text.replace(/%([\da-f]{2})/g, (_, byte: string) => String.fromCharCode(Number.parseInt(byte, 16))),
    ...encoded.map((one) => Buffer.from(one, "hex").toString("latin1")),
  ]
    .join("\n")
    .toLowerCase();
}

const digits = (length: number) =>
  fc
    .array(fc.integer({ min: 0, max: 9 }), { minLength: length, maxLength: length })
    .map((all) => all.join(""));
const hex = (length: number) =>
  fc
    .array(fc.constantFrom(..."0123456789abcdef"), { minLength: length, maxLength: length })
    .map((all) => all.join(""));
const word = fc
  .array(fc.constantFrom(..."bcdfghjklmnpqrstvwxz"), { minLength: 4, maxLength: 9 })
  .map((all) => `qx${all.join("")}`);
const parted = (text: string, size: number, gap: string) =>
  (text.match(new RegExp(`.{${size}}`, "g")) ?? []).join(gap);

/** A value that identifies, and what of it must be nowhere. */
interface Canary {
  readonly text: string;
  readonly never: string;
}
const same = (text: string): Canary => ({ text, never: text });

const canaries: fc.Arbitrary<Canary> = fc.oneof(
  word.map(same),
  word.map((name) => same(name.toUpperCase())),
  fc.tuple(word, digits(2)).map(([name, number]) => same(`${name}${number}`)),
  word.map((name) => ({ text: `${name}@corp.example`, never: name })),
  word.map((name) => ({ text: `CORP\\${name}`, never: name })),
  word.map((name) => ({ text: `/home/${name}/images/boot.iso`, never: name })),
  word.map((name) => ({ text: `https://files.${name}.example/x?token=${name}`, never: name })),
  word.map((name) => ({ text: `cn=${name},ou=people,dc=${name}`, never: name })),
  word.map((name) => ({ text: Buffer.from(name).toString("hex"), never: name })),
  word.map((name) => ({ text: Buffer.from(name).toString("hex"), never: Buffer.from(name).toString("hex") })),
  word.map((name) => ({
    text: Buffer.from(name).toString("base64"),
    never: Buffer.from(name).toString("base64").replace(/.?=+$/, ""),
  })),
  word.map((name) => ({
    text: [...name].map((one) => `%${one.charCodeAt(0).toString(16)}`).join(""),
    never: name,
  })),
  hex(12).map(same),
  hex(12).map((mac) => same(parted(mac, 2, ":"))),
  hex(12).map((mac) => same(parted(mac, 2, "-").toUpperCase())),
  hex(12).map((mac) => same(parted(mac, 4, "."))),
  hex(12).map((mac) => ({ text: `PciRoot(0x0)/Pci(0x1,0x0)/MAC(${mac},0x1)/IPv4(0.0.0.0)`, never: mac })),
  hex(12).map((mac) => ({ text: `NIC.${mac}`, never: mac })),
  hex(12).map((mac) => ({ text: `UEFI PXEv4 (MAC:${mac.toUpperCase()})`, never: mac })),
  hex(12).map((mac) => ({ text: `Boot0007 HTTP(S) IPv4 Intel NIC [${mac}] Port 1`, never: mac })),
  word.map((serial) => ({ text: `SSD 960GB ${serial.toUpperCase()} Bay 3`, never: serial })),
  word.map((user) => ({ text: `login by ${user} from the console`, never: user })),
  word.map((user) => ({ text: `C:\\Users\\${user}\\Desktop\\boot.iso`, never: user })),
  word.map((group) => ({ text: `CN=${group} Admins,OU=${group},DC=${group},DC=example`, never: group })),
  hex(16).map((wwn) => ({ text: `FibreChannel WWPN ${wwn.toUpperCase()}`, never: wwn })),
  hex(16).map(same),
  hex(16).map((wwn) => ({ text: `naa.${wwn}`, never: wwn })),
  hex(16).map((wwn) => ({ text: `0x${wwn}`, never: wwn })),
  hex(16).map((wwn) => same(parted(wwn, 2, ":"))),
  hex(32).map((id) => same(id.replace(/(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-"))),
  fc
    .oneof(digits(4), digits(5))
    .filter((pin) => !pin.startsWith("0"))
    .map(same),
  fc
    .tuple(fc.integer({ min: 11, max: 126 }), fc.integer({ min: 1, max: 254 }))
    .map(([one, other]) => same(`${one}.77.201.${other}`)),
  hex(4).map((group) => same(`2a00:1450:4001:${group}::200e`)),
);
/** Stand-ins are random: a short number may be in one by chance. */
const isIn = (text: string, never: string) =>
  /^\d{4,5}$/.test(never)
    ? new RegExp(`(?<![\\w.])${never}(?![\\w.])`).test(text)
    : text.includes(never.toLowerCase());

const FIELDS = [
  ...[
    "Name",
    "Id",
    "Description",
    "DisplayName",
    "Model",
    "Manufacturer",
    "PartNumber",
    "SerialNumber",
    "AssetTag",
    "HostName",
  ],
  ...[
    "UserName",
    "SystemID",
    "UUID",
    "Password",
    "Pin",
    "Whatever",
    "Message",
    "Resolution",
    "FirmwareVersion",
    "Version",
  ],
  ...[
    "BootOptionReference",
    "UefiDevicePath",
    "ServiceLabel",
    "Location",
    "GroupName",
    "DomainName",
    "Value",
    "EventId",
    "State",
    "Health",
  ],
  ...[
    "MACAddress",
    "WWNSource",
    "Identifier",
    "DurableName",
    "ImageName",
    "Image",
    "MessageId",
    "Severity",
    "target",
    "@odata.type",
    "@odata.etag",
  ],
];

const resource = ({ text }: Canary, field: string): Record<string, unknown> => ({
  Id: "1",
  [field]: text,
  Deep: [{ [field]: [[text], { Value: text }] }],
  Oem: { Contoso: { [text]: 1, [field]: `${text} ` } },
  Status: {
    Conditions: [
      { MessageArgs: [text, `"${text}"`], Message: `login by ${text} from ${text} failed: '${text}'` },
    ],
  },
  "Settings@Redfish.AllowableValues": [text],
  Links: {
    Chassis: [
      {
        "@odata.id": `/redfish/v1/Chassis/${encodeURIComponent(text)}?filter=${encodeURIComponent(text)}#/${field}`,
      },
    ],
  },
  ...(/^\d+$/.test(text) && roleOf(field) !== "measure"
    ? { Code: Number(text), [`${field}Code`]: Number(text) }
    : {}),
});

const error = ({ text }: Canary) => ({
  error: {
    code: "Base.1.8.GeneralError",
    message: `the user ${text.toLowerCase()} may not use ${text}`,
    [text]: text,
  },
});

function withTree(canary: Canary, field: string): BmcReading {
  const reading = new BmcReading();
  const path = encodeURIComponent(canary.text);
  reading.tree = {
    resources: new Map([[`/redfish/v1/Systems/${path}`, resource(canary, field)]]),
    refusals: new Map([
      [
        `/redfish/v1/Managers/${path}`,
        {
          status: 400,
          headers: { server: canary.text, link: `<${canary.text}>; rel=x` },
          body: error(canary),
        },
      ],
    ]),
    times: new Map([
      [`/redfish/v1/Systems/${path}`, 9_000],
      ["/redfish/v1", 1],
      ["/redfish/v1/Systems", 1],
    ]),
    unread: [{ path: `/redfish/v1/X/${path}`, reason: `no answer of ${canary.text}` }],
    ...{ etag: "strong", clockSkewMs: undefined, requests: 1, bytes: 1 },
  };
  const headers = {
    "content-type": "application/json",
    location: `/redfish/v1/T/${path}`,
    etag: `"${canary.text}"`,
    "www-authenticate": `Basic realm="${canary.text}"`,
    server: `web/${canary.text}`,
    "x-auth-token": canary.text,
  };
  const exchange: TappedHttp = {
    ...{
      origin: "https://bmc.invalid",
      method: "PATCH",
      path: `/redfish/v1/Systems/${path}?token=${path}&$filter=x%20eq%20${path}`,
    },
    ...{ headers, body: JSON.stringify(resource(canary, field)), startedMs: 0, endedMs: 1, connection: 1 },
    answer: { status: 400, headers, body: Buffer.from(JSON.stringify(error(canary))) },
  };
  reading.wire.http(exchange);
  reading.wire.http({
    ...exchange,
    answer: { status: 400, headers, body: Buffer.from(`The user ${canary.text} may not`) },
  });
  reading.wire.http({ ...exchange, error: new Error(`connect ${canary.text}`) });
  return reading;
}

const RUNS = 400;

describe("what identifies is nowhere in a recording", () => {
  it("of a tree and of an exchange, whatever it is and wherever it stands", () => {
    fc.assert(
      fc.property(canaries, fc.constantFrom(...FIELDS), (canary, field) => {
        expect(isIn(written(withTree(canary, field)), canary.never), `${field}: ${canary.text}`).toBe(false);
      }),
      { numRuns: RUNS, seed: Number(process.env["PBNJ_TEST_SEED"] ?? 1) },
    );
  });

  const tapped = (netFn: number, code: number, data: Uint8Array, answer: Uint8Array): TappedIpmi => ({
    ...{ command: "Command", netFn, code, data, answer, completionCode: 0, startedMs: 0, endedMs: 1 },
  });
  const NAME_AT: Readonly<Record<number, number>> = { 1: 47, 2: 31, 3: 16, 17: 15, 18: 15 };

  it("of IPMI: names of sensors and users, the FRU, events, and bytes after an answer", () => {
    fc.assert(
      fc.property(
        word,
        fc.constantFrom(1, 2, 3, 0x11, 0x12, 0xc0),
        fc.integer({ min: 5, max: 40 }),
        (name, type, part) => {
          const at = NAME_AT[type] ?? 5;
          const record = Buffer.concat([
            Buffer.from([1, 0, 0x51, type, at + name.length]),
            Buffer.alloc(at - 5),
            Buffer.from([0xc0 | name.length]),
            Buffer.from(name),
            Buffer.from(name),
          ]);
          const ask = (offset: number) =>
            tapped(
              0x0a,
              0x23,
              Buffer.from([0, 0, 1, 0, offset, part]),
              Buffer.concat([Buffer.from([0xff, 0xff]), record.subarray(offset, offset + part)]),
            );
          const parts = Array.from({ length: Math.ceil(record.length / part) }, (_, index) =>
            ask(index * part),
          );
          const rest = [
            tapped(
              0x0a,
              0x43,
              Buffer.from([0, 0, 1, 0, 0, 0xff]),
              Buffer.concat([Buffer.from([0xff, 0xff, 1, 0, 0xe0]), Buffer.from(name)]),
            ),
            tapped(
              0x00,
              0x01,
              Buffer.alloc(0),
              Buffer.concat([Buffer.from([1, 0, 0, 0]), Buffer.from(name)]),
            ),
            tapped(0x06, 0x46, Buffer.from([2]), Buffer.from(name)),
            tapped(0x30, 0x99, Buffer.from(name), Buffer.from(name)),
            tapped(0x0a, 0x11, Buffer.from([0, 0, 0, 16]), Buffer.from(name)),
          ];
          const commands = [...parts, ...rest];
          const reading = new BmcReading();
          for (const command of commands) reading.wire.ipmi(command);
          reading.ipmi = {
            ...{ commands, cipherSuites: undefined, bootFlags: undefined, unread: [] },
            users: [{ id: "2", name, role: "operator", enabled: true }],
            networks: [{ mode: "static", hostName: name }] as never,
            hardware: {
              system: { vendor: name, model: name, serial: name },
              chassis: { serial: name },
              mainboard: { serial: name },
            } as never,
          };

          const text = written(reading);

          expect(text.includes(name), `${type}: ${name}`).toBe(false);
        },
      ),
      { numRuns: RUNS / 4, seed: Number(process.env["PBNJ_TEST_SEED"] ?? 1) },
    );
  });
});

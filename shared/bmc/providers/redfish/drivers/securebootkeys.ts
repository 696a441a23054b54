import * as z from "zod/mini";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { defined } from "../../../../defined.ts";
import { withoutEndSlashes } from "../../../../end-slashes.ts";
import { type Identity, identityIn, sendToTarget, TargetMoved } from "../../../operations/identity.ts";
import {
  describeSecureBootKey,
  hexOf,
  isSameKey,
  type NewSecureBootKey,
  readCertificate,
  SECURE_BOOT_DATABASES,
  type SecureBootDatabase,
  type SecureBootKey,
  titleOf,
} from "../../../operations/secure-boot-key.ts";
import type {
  SecureBootKeyList,
  SecureBootKeyRules,
  SecureBootKeysDriver,
} from "../../../operations/securebootkeys.ts";
import type { Unread } from "../../../operations/unread.ts";
import type { Resources } from "../resources/resources.ts";
import {
  type Database,
  databasePaths,
  findDatabase,
  findSecureBoot,
  SECURE_BOOT_MODES,
} from "../resources/secure-boot-resource.ts";
import { describeWrite, type WriteRequest } from "../resources/writer.ts";
import { lastPart } from "../service/paths.ts";
import { identifying, lenient } from "../service/schema.ts";
import { parseResource, type Resource } from "../service/service.ts";

const Named = lenient(z.object({ CommonName: lenient(z.string()) }));

/** Certificate (DSP0268). iDRAC sends `CertificateString` as null. */
const Certificate = z.object({
  CertificateString: identifying(lenient(z.string())),
  Subject: Named,
  Issuer: Named,
  ValidNotAfter: lenient(z.string()),
  UefiSignatureOwner: lenient(z.string()),
});

/** Signature (DSP0268). */
const Signature = z.object({
  SignatureString: identifying(lenient(z.string())),
  UefiSignatureOwner: lenient(z.string()),
});

/** BIOS attributes. One of them may select between the vendor's keys and others. */
const Bios = z.object({ Attributes: lenient(z.record(z.string(), z.unknown())) });
/** `SecureBootPolicy` of Dell (Standard, Custom), `SecureBootConfiguration_SecureBootPolicy` of Lenovo (FactoryPolicy, CustomPolicy). */
const POLICY = /(^|_)SecureBootPolicy$/;
const CUSTOM = /^custom/i;

/** The database of forbidden signatures has several hundred entries on a server. */
const MOST_KEYS = 5_000;
const MOST_REQUESTS = 1_500;

const COLLECTIONS = { certificate: "Certificates", signature: "Signatures" } as const;

/** `SecureBootDatabases` of the system's SecureBoot resource. */
export function redfishSecureBootKeys(resources: Resources): SecureBootKeysDriver {
  const { system, members, writer } = resources;
  const { service } = system;
  // The paths are permanent; only their contents change.
  let paths: Awaited<ReturnType<typeof databasePaths>> | undefined;
  const found = new Map<SecureBootDatabase, Resource<Database>>();

  const find = async (name: SecureBootDatabase, signal: AbortSignal) => {
    paths ??= await databasePaths(resources, await findSecureBoot(resources, signal), signal);
    const database = found.get(name) ?? (await findDatabase(resources, paths, name, signal));
    found.set(name, database);
    return database;
  };
  const collectionOf = async (
    database: SecureBootDatabase,
    kind: SecureBootKey["kind"],
    signal: AbortSignal,
  ): Promise<string> => {
    const { value } = await find(database, signal);
    const path = service.localPath(value[COLLECTIONS[kind]]?.["@odata.id"]);
    if (path !== undefined) return path;
    throw new BmcError("unsupported", `the BMC's ${titleOf(database)} takes no ${kind}`);
  };
  const enrollment = async (
    database: SecureBootDatabase,
    key: NewSecureBootKey,
    signal: AbortSignal,
  ): Promise<WriteRequest> => {
    const path = await collectionOf(database, key.kind, signal);
    const owner = defined({ UefiSignatureOwner: key.owner });
    const body =
      key.kind === "certificate"
        ? { CertificateString: key.pem, CertificateType: "PEM", ...owner }
        : { ...SHA256, SignatureString: key.fingerprint.toUpperCase(), ...owner };
    return { method: "POST", path, body };
  };
  const removal = async (key: SecureBootKey, signal: AbortSignal): Promise<WriteRequest> => {
    const collection = await collectionOf(key.database, key.kind, signal);
    const path = `${withoutEndSlashes(collection)}/${key.id}`;
    const identify = (body: unknown) => identityOf(keyOf(key, path, body));
    const targets = [{ what: describeSecureBootKey(key), path, identity: identityOf(key), identify }];
    return { method: "DELETE", path, targets };
  };
  /** Finds a key at its present place. */
  const findAgain = async (key: SecureBootKey, signal: AbortSignal): Promise<SecureBootKey> => {
    const [same, ...others] = (await list(key.database, signal)).keys.filter((each) => isSameKey(each, key));
    if (same && others.length === 0) return same;
    throw new TargetMoved(describeSecureBootKey(key), `ID ${key.id}`, "another key or none");
  };
  const list = async (database: SecureBootDatabase, signal: AbortSignal): Promise<SecureBootKeyList> => {
    const { value } = await find(database, signal);
    const unread: Unread[] = [];
    const limits = {
      members: MOST_KEYS,
      requests: { left: MOST_REQUESTS },
      unread: (gap: Unread) => void unread.push(gap),
    };
    const certificates = service.localPath(value.Certificates?.["@odata.id"]);
    const signatures = service.localPath(value.Signatures?.["@odata.id"]);
    const listed = certificates && (await members.read(certificates, Certificate, signal, limits));
    const hashes = signatures && (await members.read(signatures, Signature, signal, limits));
    const keys: SecureBootKey[] = [
      ...(listed || []).map((each) => certificateOf(database, each)),
      ...(hashes || []).map((each) => signatureOf(database, each)),
    ];
    return { keys, ...(unread.length > 0 ? { unread } : {}) };
  };

  return {
    async databases(signal) {
      const listed = await databasePaths(resources, await findSecureBoot(resources, signal), signal);
      paths = listed;
      return SECURE_BOOT_DATABASES.filter((name) => listed.has(name));
    },
    async rules(signal) {
      const secureBoot = await findSecureBoot(resources, signal);
      const path = service.localPath(system.last.value.Bios?.["@odata.id"]);
      const bios = path === undefined ? undefined : await service.find(path, Bios, signal);
      const mode = SECURE_BOOT_MODES[secureBoot?.value.SecureBootMode ?? ""];
      return defined({ mode, policy: policyOf(bios?.value.Attributes ?? {}) });
    },
    list,
    planEnroll: async (database, key, signal) => describeWrite(await enrollment(database, key, signal)),
    async enroll(database, key, signal) {
      await writer.write(await enrollment(database, key, signal), signal);
    },
    planRemove: async (key, signal) => describeWrite(await removal(key, signal)),
    async remove(key, signal) {
      await sendToTarget(async (again) => {
        const at = again ? await findAgain(key, signal) : key;
        await writer.write(await removal(at, signal), signal);
      });
    },
  };
}

const SHA256 = { SignatureTypeRegistry: "UEFI", SignatureType: "EFI_CERT_SHA256_GUID" } as const;

function policyOf(attributes: Readonly<Record<string, unknown>>): SecureBootKeyRules["policy"] {
  const [found] = Object.entries(attributes).filter(([name]) => POLICY.test(name));
  if (!found || typeof found[1] !== "string") return undefined;
  const [attribute, value] = found;
  return { attribute, value, isCustom: CUSTOM.test(value) };
}

/** The key at the place of another one. */
function keyOf({ database, kind }: SecureBootKey, path: string, body: unknown): SecureBootKey {
  return kind === "certificate"
    ? certificateOf(database, parseResource(path, body, Certificate))
    : signatureOf(database, parseResource(path, body, Signature));
}

/** The identity of a key: its fingerprint, otherwise what the BMC shows of a certificate. */
function identityOf({ fingerprint, subject, issuer, notAfter }: SecureBootKey): Identity {
  if (fingerprint !== undefined) return identityIn({ Fingerprint: fingerprint });
  const shown = [subject, issuer, notAfter].filter((each) => each !== undefined);
  return identityIn({ Subject: shown.join(", ") });
}

function certificateOf(
  database: SecureBootDatabase,
  { path, value }: Resource<z.infer<typeof Certificate>>,
): SecureBootKey {
  const identity = readCertificate(value.CertificateString ?? "");
  const { Subject, Issuer, ValidNotAfter, UefiSignatureOwner } = value;
  return {
    database,
    kind: "certificate",
    id: lastPart(path),
    ...defined({
      subject: identity?.subject ?? Subject?.CommonName,
      issuer: identity?.issuer ?? Issuer?.CommonName,
      notAfter: identity?.notAfter ?? isoTime(ValidNotAfter),
      fingerprint: identity?.fingerprint,
      owner: UefiSignatureOwner,
    }),
  };
}

function signatureOf(
  database: SecureBootDatabase,
  { path, value }: Resource<z.infer<typeof Signature>>,
): SecureBootKey {
  const { SignatureString: hash, UefiSignatureOwner: owner } = value;
  const fingerprint = hash === undefined ? undefined : hexOf(hash);
  return { database, kind: "signature", id: lastPart(path), ...defined({ fingerprint, owner }) };
}

/** Normalizes a time. Some BMCs omit the zero of a month or a day: `2026-6-24T20:51:29+00:00`. */
function isoTime(text: string | undefined): string | undefined {
  const padded = text?.replace(
    /^(\d{4})-(\d{1,2})-(\d{1,2})T/,
    (_, year: string, month: string, day: string) =>
      [year, month.padStart(2, "0"), `${day.padStart(2, "0")}T`].join("-"),
  );
  const time = Date.parse(padded ?? "");
  return Number.isNaN(time) ? undefined : new Date(time).toISOString();
}

import { z } from "zod";
import {
  defaultKeys,
  KEY_DATABASES,
  type SimulatedKey,
  type SimulatedKeyDatabase,
  type SimulatedMachine,
} from "../machine.ts";
import { type Answer, methodNotAllowed, noContent, notFound, ok, refusal } from "./answer.ts";
import { checkIfMatch, withTag } from "./etag.ts";
import type { RedfishProfile } from "./profiles.ts";
import { collection, type ResourceRequest, type ResourceService } from "./resource-service.ts";
import { resource } from "./schema-types.ts";

const DATABASE_RESETS = ["ResetAllKeysToDefault", "DeleteAllKeys"] as const;
const KEY_RESETS = ["ResetAllKeysToDefault", "DeleteAllKeys", "DeletePK"] as const;

/** UEFI Secure Boot of a System. Settings take effect when the machine boots. */
export class SimulatedSecureBoot implements ResourceService {
  readonly #path: string;
  readonly #machine: SimulatedMachine;
  readonly #profile: RedfishProfile;

  constructor(systemPath: string, machine: SimulatedMachine, profile: RedfishProfile) {
    this.#path = `${systemPath}/SecureBoot`;
    this.#machine = machine;
    this.#profile = profile;
  }

  answer({ method, path, body, ifMatch }: ResourceRequest): Answer | undefined {
    const { secureBoot } = this.#machine;
    const target = `${this.#path}/Actions/SecureBoot.ResetKeys`;
    if (path === target) return method === "POST" ? this.#resetKeys(body) : methodNotAllowed(method);
    if (path.startsWith(`${this.#path}/SecureBootDatabases`)) return this.#databases(method, path, body);
    if (path !== this.#path) return undefined;
    const current = resource(path, "SecureBoot", {
      Name: "UEFI Secure Boot",
      SecureBootEnable: secureBoot.enabled,
      SecureBootCurrentBoot: secureBoot.active ? "Enabled" : "Disabled",
      SecureBootDatabases: { "@odata.id": `${path}/SecureBootDatabases` },
      SecureBootMode: secureBoot.hasKeys ? "UserMode" : "SetupMode",
      Actions: {
        "#SecureBoot.ResetKeys": { target, "ResetKeysType@Redfish.AllowableValues": KEY_RESETS },
      },
    });
    if (method === "GET") return withTag(current, this.#profile);
    if (method !== "PATCH") return methodNotAllowed(method);
    const refused = checkIfMatch(ifMatch, current, this.#profile);
    if (refused) return refused;
    const parsed = z.strictObject({ SecureBootEnable: z.boolean() }).safeParse(body);
    if (!parsed.success) return refusal(400, "Base.1.8.PropertyUnknown", "A property is not known.");
    secureBoot.enabled = parsed.data.SecureBootEnable;
    return noContent;
  }

  #resetKeys(body: unknown): Answer {
    const parsed = z.strictObject({ ResetKeysType: z.enum(KEY_RESETS) }).safeParse(body);
    if (!parsed.success) {
      return refusal(400, "Base.1.8.ActionParameterValueNotInList", "ResetKeysType is not in the list.");
    }
    this.#machine.secureBoot.keysAfterBoot = parsed.data.ResetKeysType === "ResetAllKeysToDefault";
    return noContent;
  }

  #databases(method: string, path: string, body: unknown): Answer {
    const own = `${this.#path}/SecureBootDatabases`;
    if (path === own) {
      const members = KEY_DATABASES.map((name) => `${own}/${name}`);
      return method === "GET"
        ? ok(collection(path, "SecureBootDatabase", members))
        : methodNotAllowed(method);
    }
    const [id, kind, keyId, ...more] = path.slice(own.length + 1).split("/");
    const name = KEY_DATABASES.find((each) => each === id);
    if (!name) return notFound(path);
    if (kind === undefined) return method === "GET" ? ok(database(path)) : methodNotAllowed(method);
    if (kind === "Actions" && method === "POST") return this.#resetDatabase(name, body);
    const held = KEY_KINDS.find((each) => each === kind);
    if (!held || more.length > 0) return notFound(path);
    const keys = this.#machine.secureBoot.databases[name];
    const members = keys.filter((key) => key.kind === held);
    if (keyId === undefined) {
      if (method === "POST") return this.#enroll(name, held, body, path);
      const paths = members.map((key) => `${path}/${key.id}`);
      return method === "GET" ? ok(collection(path, SCHEMAS[held], paths)) : methodNotAllowed(method);
    }
    const key = members.find((each) => each.id === keyId);
    if (!key) return notFound(path);
    if (method === "GET") return ok(resource(path, SCHEMAS[held], { Name: held, ...key.fields }));
    if (method !== "DELETE") return methodNotAllowed(method);
    // IDs are positions in the list, as with AMI.
    const left = members.filter((each) => each !== key).map((each, at) => ({ ...each, id: String(at + 1) }));
    this.#change(name, [...keys.filter((each) => each.kind !== held), ...left]);
    return noContent;
  }

  #enroll(name: SimulatedKeyDatabase, kind: SimulatedKey["kind"], body: unknown, path: string): Answer {
    const parsed = ENROLLED[kind].safeParse(body);
    if (!parsed.success) return refusal(400, "Base.1.8.PropertyUnknown", "A property is not known.");
    const keys = this.#machine.secureBoot.databases[name];
    const id = String(keys.filter((key) => key.kind === kind).length + 1);
    this.#change(name, [...keys, { id, kind, fields: parsed.data }]);
    if (name === "PK") this.#machine.secureBoot.keysAfterBoot = true;
    return { status: 201, headers: { location: `${path}/${id}` } };
  }

  #resetDatabase(name: SimulatedKeyDatabase, body: unknown): Answer {
    const parsed = z.strictObject({ ResetKeysType: z.enum(DATABASE_RESETS) }).safeParse(body);
    if (!parsed.success) {
      return refusal(400, "Base.1.8.ActionParameterValueNotInList", "ResetKeysType is not in the list.");
    }
    const { secureBoot } = this.#machine;
    const keys = parsed.data.ResetKeysType === "DeleteAllKeys" ? [] : defaultKeys()[name];
    secureBoot.databasesAfterBoot = { ...secureBoot.databasesAfterBoot, [name]: keys };
    if (name === "PK") secureBoot.keysAfterBoot = keys.length > 0;
    return noContent;
  }

  #change(name: SimulatedKeyDatabase, keys: readonly SimulatedKey[]): void {
    const { secureBoot } = this.#machine;
    if (secureBoot.keyChanges === "at-once") secureBoot.databases[name] = keys;
    else secureBoot.databasesAfterBoot = { ...secureBoot.databasesAfterBoot, [name]: keys };
  }
}

const KEY_KINDS = ["Certificates", "Signatures"] as const;
const SCHEMAS = { Certificates: "Certificate", Signatures: "Signature" } as const;
const ENROLLED = {
  Certificates: z.strictObject({
    CertificateString: z.string().startsWith("-----BEGIN CERTIFICATE-----"),
    CertificateType: z.literal("PEM"),
    UefiSignatureOwner: z.string().optional(),
  }),
  Signatures: z.strictObject({
    SignatureTypeRegistry: z.literal("UEFI"),
    SignatureType: z.literal("EFI_CERT_SHA256_GUID"),
    SignatureString: z.string().regex(/^[0-9A-F]{64}$/),
    UefiSignatureOwner: z.string().optional(),
  }),
} as const;

function database(path: string) {
  const id = path.split("/").at(-1) ?? "";
  return resource(path, "SecureBootDatabase", {
    Name: `${id} Database`,
    DatabaseId: id,
    ...Object.fromEntries(
      KEY_KINDS.filter((kind) => kind === "Certificates" || id.startsWith("d")).map((kind) => [
        kind,
        { "@odata.id": `${path}/${kind}` },
      ]),
    ),
    Actions: {
      "#SecureBootDatabase.ResetKeys": {
        target: `${path}/Actions/SecureBootDatabase.ResetKeys`,
        "ResetKeysType@Redfish.AllowableValues": DATABASE_RESETS,
      },
    },
  });
}

import * as z from "zod/mini";

/** BMCs send null, empty and wrongly typed fields. Such a field counts as absent. */
export const lenient = <T extends z.ZodMiniType>(schema: T) => z.catch(z.optional(schema), undefined);

const IDENTIFYING = z.registry();

/** A property that identifies a member. If `$expand` omits it, the member is read separately. */
export function identifying<T extends z.ZodMiniType>(schema: T): T {
  IDENTIFYING.add(schema);
  return schema;
}

export function isIdentifying(schema: z.core.$ZodType | undefined): boolean {
  return schema !== undefined && IDENTIFYING.has(schema);
}

/** A path on the same BMC; never a URL, which could lead elsewhere. */
export const Path = z.string().check(z.regex(/^\/(?!\/)[^\s\\]*$/));

/** The strings of a list with elements of any type. An empty list means nothing, so it counts as absent. */
export const Values = z.pipe(
  z.array(z.unknown()),
  z.transform((values: unknown[]) => {
    const texts = values.filter((value) => typeof value === "string");
    return texts.length > 0 ? texts : undefined;
  }),
);

/** A text or a list of texts. An empty list means nothing. */
const OneOrMore = z.union([
  z.pipe(
    z.string(),
    z.transform((text: string) => [text]),
  ),
  Values,
]);

export const Link = z.object({ "@odata.id": z.string() });

/** The links of a list with elements of any type. */
export const Links = z.catch(
  z.pipe(
    z.array(z.unknown()),
    z.transform((entries: unknown[]) =>
      entries.flatMap((entry) => {
        const link = Link.safeParse(entry);
        return link.success ? [link.data] : [];
      }),
    ),
  ),
  [],
);

/** A member of a collection: a link, or the whole resource if the BMC expands. */
const Member = z.record(z.string(), z.unknown());

/**
 * One page of a collection (DSP0266 section 7.6.7). Some BMCs send null for no members. An answer without the property says
 * nothing about them.
 */
export const Collection = z.object({
  Members: z.pipe(
    z.nullish(z.array(z.catch(Member, {}))),
    z.transform((members) => (members === null ? [] : members)),
  ),
  "Members@odata.count": lenient(z.number()),
  "Members@odata.nextLink": lenient(z.string()),
  "@odata.nextLink": lenient(z.string()),
});
export type Collection = z.infer<typeof Collection>;

export const ServiceRoot = z.object({
  Vendor: lenient(z.string()),
  RedfishVersion: lenient(z.string()),
  UUID: lenient(z.string()),
  Systems: lenient(Link),
  Links: lenient(z.object({ Sessions: lenient(Link) })),
  AccountService: lenient(Link),
  Registries: lenient(Link),
  ProtocolFeaturesSupported: lenient(
    z.object({
      ExpandQuery: lenient(z.object({ NoLinks: lenient(z.boolean()), ExpandAll: lenient(z.boolean()) })),
    }),
  ),
});
export type ServiceRoot = z.infer<typeof ServiceRoot>;

export const Boot = z.object({
  BootSourceOverrideTarget: lenient(z.string()),
  BootSourceOverrideEnabled: lenient(z.string()),
  BootSourceOverrideMode: lenient(z.string()),
  BootOrder: lenient(z.array(z.string())),
  BootOptions: lenient(Link),
  HttpBootUri: lenient(z.string()),
  "BootSourceOverrideTarget@Redfish.AllowableValues": lenient(Values),
  "BootSourceOverrideEnabled@Redfish.AllowableValues": lenient(Values),
  "BootSourceOverrideMode@Redfish.AllowableValues": lenient(Values),
});
export type Boot = z.infer<typeof Boot>;

export const ResetAction = z.object({
  target: lenient(z.string()),
  "ResetType@Redfish.AllowableValues": lenient(Values),
  "@Redfish.ActionInfo": lenient(z.string()),
});
export type ResetAction = z.infer<typeof ResetAction>;

/** The fields of a System or a Chassis for its identify LED. */
export const Indicator = z.object({
  LocationIndicatorActive: lenient(z.boolean()),
  IndicatorLED: lenient(z.string()),
  "IndicatorLED@Redfish.AllowableValues": lenient(Values),
});

/** Since version 1.13 of the schema. */
const BootProgress = z.object({
  LastState: lenient(z.string()),
  LastStateTime: lenient(z.string()),
  OemLastState: lenient(z.string()),
});

/** The address of the console and, if it is shared, the command that leads to it on the BMC's command line. */
const SshService = z.object({
  ServiceEnabled: lenient(z.boolean()),
  Port: lenient(z.int().check(z.minimum(1), z.maximum(65_535))),
  SharedWithManagerCLI: lenient(z.boolean()),
  ConsoleEntryCommand: lenient(z.string().check(z.regex(/^[\x20-\x7e]{1,100}$/))),
});

/** The used fields of a ComputerSystem. */
export const System = z.extend(Indicator, {
  "@odata.id": lenient(z.string()),
  "@odata.etag": lenient(z.string()),
  Id: lenient(z.string()),
  Name: lenient(z.string()),
  Manufacturer: lenient(z.string()),
  Model: lenient(z.string()),
  SerialNumber: lenient(z.string()),
  UUID: lenient(z.string()),
  BiosVersion: lenient(z.string()),
  PowerState: lenient(z.string()),
  Boot: lenient(Boot),
  BootProgress: lenient(BootProgress),
  LastResetTime: lenient(z.string()),
  LastResetCause: lenient(OneOrMore),
  SerialConsole: lenient(z.object({ SSH: lenient(SshService) })),
  Actions: lenient(z.object({ "#ComputerSystem.Reset": lenient(ResetAction) })),
  "@Redfish.Settings": lenient(z.object({ SettingsObject: lenient(Link) })),
  Oem: lenient(z.record(z.string(), z.unknown())),
  Links: lenient(z.object({ ManagedBy: Links, Chassis: Links })),
  SecureBoot: lenient(Link),
  Bios: lenient(Link),
  PowerRestorePolicy: lenient(z.string()),
  "PowerRestorePolicy@Redfish.AllowableValues": lenient(Values),
  VirtualMedia: lenient(Link),
  LogServices: lenient(Link),
  Processors: lenient(Link),
  Memory: lenient(Link),
  TrustedModules: z.optional(z.unknown()),
  MemorySummary: lenient(z.object({ TotalSystemMemoryGiB: lenient(z.number()) })),
  Storage: lenient(Link),
  SimpleStorage: lenient(Link),
  EthernetInterfaces: lenient(Link),
});
export type System = z.infer<typeof System>;

/** A resource that accepts the boot override: the System, or its settings resource. */
export const BootSettings = z.object({ "@odata.etag": lenient(z.string()), Boot: lenient(Boot) });

/** Any resource, only for its entity tag. */
export const Tagged = z.object({ "@odata.etag": lenient(z.string()) });

export const ActionInfo = z.object({
  Parameters: z.array(
    z.object({ Name: lenient(z.string()), Required: lenient(z.boolean()), AllowableValues: lenient(Values) }),
  ),
});

export const SessionResource = z.object({ "@odata.id": lenient(z.string()) });

/** The texts of a list in their places; values that are neither text nor a number become empty. */
const Arguments = z.array(z.catch(z.pipe(z.union([z.string(), z.number()]), z.transform(String)), ""));

/** A message. HPE's older BMCs call the field `MessageID`. */
export const Message = z.pipe(
  z.object({
    MessageId: lenient(z.string()),
    MessageID: lenient(z.string()),
    Message: lenient(z.string()),
    MessageArgs: lenient(Arguments),
    RelatedProperties: lenient(Arguments),
    Resolution: lenient(z.string()),
    MessageSeverity: lenient(z.string()),
    /** Before version 1.1 of the schema. */
    Severity: lenient(z.string()),
  }),
  z.transform(({ MessageID, MessageId = MessageID, ...others }) => ({ ...others, MessageId })),
);
export type Message = z.infer<typeof Message>;

export const Messages = z.catch(z.array(z.catch(Message, { MessageId: undefined })), []);

/** DSP0266 section 8.6: the code and the message beside the extended information. */
export const ErrorBody = z.object({
  error: z.object({ code: lenient(z.string()), message: lenient(z.string()) }),
});

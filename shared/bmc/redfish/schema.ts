import * as z from "zod/mini";

/** BMCs send null, empty and wrongly typed fields: such a field is as good as absent. */
const lenient = <T extends z.ZodMiniType>(schema: T) => z.catch(z.optional(schema), undefined);

/** Strings of a list that may hold anything; an empty list tells nothing, so it is absent. */
const Values = z.pipe(
  z.array(z.unknown()),
  z.transform((values: unknown[]) => {
    const texts = values.filter((value) => typeof value === "string");
    return texts.length > 0 ? texts : undefined;
  }),
);

const Link = z.object({ "@odata.id": z.string() });

export const Collection = z.object({ Members: z.array(Link) });
export type Collection = z.infer<typeof Collection>;

export const ServiceRoot = z.object({ Systems: lenient(Link) });

export const Boot = z.object({
  BootSourceOverrideTarget: lenient(z.string()),
  BootSourceOverrideEnabled: lenient(z.string()),
  BootSourceOverrideMode: lenient(z.string()),
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

/** A ComputerSystem, as far as power and boot need it. */
export const System = z.object({
  "@odata.id": lenient(z.string()),
  "@odata.etag": lenient(z.string()),
  Id: lenient(z.string()),
  Manufacturer: lenient(z.string()),
  Model: lenient(z.string()),
  PowerState: lenient(z.string()),
  Boot: lenient(Boot),
  Actions: lenient(z.object({ "#ComputerSystem.Reset": lenient(ResetAction) })),
  "@Redfish.Settings": lenient(z.object({ SettingsObject: Link })),
  Oem: lenient(z.record(z.string(), z.unknown())),
});
export type System = z.infer<typeof System>;

/** A resource that takes the boot override: the System, or what its `@Redfish.Settings` points to. */
export const BootSettings = z.object({ "@odata.etag": lenient(z.string()), Boot: lenient(Boot) });
export type BootSettings = z.infer<typeof BootSettings>;

export const ActionInfo = z.object({
  Parameters: z.array(z.object({ Name: lenient(z.string()), AllowableValues: lenient(Values) })),
});

export const SessionResource = z.object({ "@odata.id": lenient(z.string()) });

const Message = z.object({
  MessageId: lenient(z.string()),
  Message: lenient(z.string()),
  MessageArgs: lenient(Values),
});
export type Message = z.infer<typeof Message>;

const Messages = z.catch(z.array(Message), []);

/** DSP0266 section 8.6: one code and message, and the messages that say what it is about. */
export const ErrorBody = z.object({
  error: z.object({
    code: lenient(z.string()),
    message: lenient(z.string()),
    "@Message.ExtendedInfo": Messages,
  }),
});

export const Task = z.object({
  TaskState: lenient(z.string()),
  TaskStatus: lenient(z.string()),
  Messages,
});
export type Task = z.infer<typeof Task>;

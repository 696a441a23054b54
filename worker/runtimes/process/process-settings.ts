import type { ConfigPart } from "../../config/part.ts";
import { setting } from "../../config/setting.ts";
import { Text } from "../../document/value-types.ts";

const settings = {
  actionsDirectory: setting(Text.optional(), {
    description: "Folder with the actions",
    type: "folder",
    defaultText: "the actions of this installation",
    chart: "none",
  }),
};

export const processSettings = { group: "Process runtime", settings } satisfies ConfigPart<object>;

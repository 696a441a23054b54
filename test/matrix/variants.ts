import type { Subject } from "../actions/subject.ts";

/** An action with its example, or with other variables. */
export interface MatrixSubject extends Subject {
  /** The action's name, with that of the variant. */
  readonly title: string;
  /** Beside the example's. `{folder}` is the run's own folder. */
  readonly variables: Readonly<Record<string, string>>;
}

/** What the examples leave out: an empty variable takes one of the example's away. */
const VARIANTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "power-off:hard": { MODE: "hard" },
  "power-off:soft": { MODE: "soft" },
  "power-off:short": { SOFT_TIMEOUT: "10s", STATE_TIMEOUT: "15s" },
  // Intel AMT leaves the boot mode as it is.
  "set-pxe-once:keep": { MODE: "keep" },
  "update-user:own": {
    USER_NAME: "admin",
    PASSWORD_FILE: "",
    PASSWORD_GENERATE: "true",
    PASSWORD_GENERATE_FILE: "{folder}/admin",
  },
  "update-firmware:any-version": { FIRMWARE_VERSION: "" },
};

/** The subject, and its variants. */
export function withVariants(subject: Subject): readonly MatrixSubject[] {
  const named = Object.entries(VARIANTS).filter(([title]) => title.startsWith(`${subject.name}:`));
  return [["", {}] as const, ...named].map(([title, variables]) => ({
    ...subject,
    title: title || subject.name,
    variables,
  }));
}

import { defined } from "../defined.ts";
import {
  CAPABILITIES,
  type Capability,
  type Session,
  type SessionPrivilege,
  type Unverified,
} from "./provider.ts";

/** What an open session tells of itself and its BMC without a request. */
export interface SessionDescription {
  /** What the provider can do beyond power and boot; whether this BMC offers it may take a request to know. */
  readonly capabilities: readonly Capability[];
  /** Absent where boot overrides and media can be read back. */
  readonly unverified: { readonly boot?: Unverified; readonly media?: Unverified };
  /** As in `Session`. */
  readonly privilege?: SessionPrivilege;
  /** As in `Session`. */
  readonly certificateExpiresMs?: number;
}

export function describeSession(session: Session): SessionDescription {
  const { boot, media, privilege } = session;
  const certificateExpiresMs = session.certificateExpiresMs?.();
  return {
    capabilities: CAPABILITIES.filter((name) => session[name] !== undefined),
    unverified: {
      ...defined({ boot: boot.unverified }),
      ...(media?.unverified === undefined ? {} : { media: media.unverified }),
    },
    ...defined({ privilege, certificateExpiresMs }),
  };
}

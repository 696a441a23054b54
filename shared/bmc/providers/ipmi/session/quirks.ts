import { padKey } from "../commands/credentials.ts";

/** A form in which a BMC may have stored the password. */
export interface PasswordForm {
  readonly name: string;
  readonly key: (password: Buffer) => Buffer;
}

const STANDARD_PASSWORD: PasswordForm = { name: "standard", key: padKey };

/**
 * BMCs whose user table still has the 16-byte passwords of IPMI 1.5 silently truncate longer ones, and operators set 20-byte
 * passwords through other interfaces. RAKP2 shows which form the BMC has, so trying both costs no packet and no failed
 * login.
 */
const CUT_PASSWORD: PasswordForm = {
  name: "password-cut-to-16-bytes",
  key: (password) => padKey(password.subarray(0, 16)),
};

/** The forms to compare with RAKP2, the standard one first. */
export function passwordForms(password: Buffer): readonly PasswordForm[] {
  return password.length > 16 ? [STANDARD_PASSWORD, CUT_PASSWORD] : [STANDARD_PASSWORD];
}

/** IANA enterprise numbers of Supermicro: its own, and that of its older firmware. */
const SUPERMICRO = new Set([10_876, 47_488]);

/** Supermicro boots the first UEFI disk for selector 9 ("primary remote media"), not for 2. */
export function bootsUefiDiskAsRemoteMedia(manufacturer: number | undefined): boolean {
  return manufacturer !== undefined && SUPERMICRO.has(manufacturer);
}

/** The IANA enterprise number of MontaVista, in the configurations included with OpenIPMI's `ipmi_sim`. */
const MONTAVISTA = 4_753;

/** `ipmi_sim` uses the boot device but reports it with all flags zero, the valid bit included (OpenIPMI 2.0.33). */
export function reportsNoBootFlags(manufacturer: number | undefined): boolean {
  return manufacturer === MONTAVISTA;
}

import type { IdentityKind } from "./pseudonyms.ts";

/** What the name of a field says of its value. */
export type FieldRule = "secret" | "free text" | "allowed" | "unknown" | IdentityKind;

/** Below these, and in fields whose names have these words, is what opens a BMC. */
const SECRET =
  /passw|passphrase|passcode|\bpwd|pwd$|secret|token|credential|priv(ate)?key|community|(encryption|auth|api|access|shared|preshared|session|ssh|public|host|crypto|hmac|license|licence|activation|k[gr]?)key|^k[gr]$|keytab|hash|salt|cookie|certificatestring|csrstring|pkcs|nonce|challenge|bindpw|^pin$|^psk$|signaturestring|fingerprint|sshhostkey|pem$|^keys?$|keydata|mastersecret|seed/i;
/** They count or limit secrets, and hold none. */
const MEASURE =
  /(length|min|max|count|wordage|days|policy|threshold|timeout|expir\w*|enabled?|required|supported|type|algorithm|protection|status|state|mode|allowablevalues|readonly|hidden|changerequired)$/i;

const IDENTITY: readonly (readonly [RegExp, IdentityKind])[] = [
  [/(^|[a-z])uuid|guid$/i, "UUID"],
  [/mac(address(es)?)?$|macaddress|^permanentaddress$/i, "MAC address"],
  [
    /serial(no|number|num)?$|servicetag|servicecode|^sku$|^systemid$|^nodeid$|^durablename$|^ww(n|pn|nn|id)|wwn|^chipid$|engineid|^deviceid_?serial|^boardid$|^unitid$|^eventid$|^contextid$/i,
    "serial number",
  ],
  [/asset(tag|name|owner|number)?$/i, "asset tag"],
  [/licen[cs]e(id|number|serial|string)?$|entitlement|^order(id|number)/i, "licence"],
  [
    /host_?name|^fqdn|domainname|^domain$|^dnsname|servername$|^systemname$|^racname$|^dnsracname$|^nodename$|^clustername$/i,
    "host name",
  ],
  [
    /user_?names?$|loginname|^username|^login$|^user$|accountname|^owner$|contact|e?mail(address)?$|groupdn|groupsid|(local|remote)(user|group)|searchfilter|distinguishedname|bind?dn|^subject$|^issuer$|^commonname$|personname|initiatorname|targetname|createdby/i,
    "user name",
  ],
  [
    /^(location|country|city|street|streetname|building|room|row|rack|rackname|aisle|datacenter|site|territory|district|division|neighborhood|leadingstreetdirection|landmark|postalcode|pobox|county|floor|latitude|longitude|altitudemeters|altitude|gpscoords|placetype|community|additionalinfo|additionalcode|houseno|housenumber|organization(alunit)?|state\/province|syslocation|info)$/i,
    "location",
  ],
  [
    /^ip$|ip(v[46])?(address(es)?|dns\w*|gateway)?$|^address(es)?$|gateways?$|servers?(address(es)?)?$|^(primary|secondary)?dns\d*$|^nameservers?$|^ntp\d$|destination$|serviceaddresses$|hostaddress/i,
    "address",
  ],
];

/** Written by people or about them. */
const FREE_TEXT = /^(message|messageargs|description|oemmessage|comment|note|text|action|resolution)s?$/i;

/** Names whose values are words of specifications, makes, versions and measures. */
const ALLOWED = new Set(
  `Id Name MemberId Model Manufacturer Vendor VendorName PartNumber SparePartNumber ProductPartNumber PCAPartNumber Product ProductName
  Family Socket Slot SlotName Technology State Health HealthRollup PowerState LastState Severity MessageId MessageSeverity Registry
  RedfishVersion FirmwareVersion BiosVersion Version Revision RoleId AssignedPrivileges OemPrivileges AccountTypes Language Languages
  OwningEntity RegistryVersion RegistryPrefix AttributeName AttributeRegistry DisplayName DisplayNameShort HelpText WarningText MenuPath MenuName
  ValueName ValueDisplayName Type DataType MapFromAttribute MapFromCondition MapFromProperty MapFromValue MapToValue MapToAttribute MapToProperty MapTerms
  DependencyFor ValueExpression Uri Created Updated DateTime DateTimeLocalOffset TimeZoneName TimeZone Timestamp EventTimestamp Date Time
  ProductionDate ValidNotBefore ValidNotAfter LastResetTime LastResetCause LastStateTime BuildDate ReleaseDate InstallDate KeyUsage BootOptionReference
  BootOrder Alias UefiDevicePath UEFIDevicePath DeviceInstance Sensor SensorNumber ReadingUnits SetPointUnits PhysicalContext
  PhysicalSubContext DeviceName DeviceLocator LocationOrdinalValue ServiceLabel Reference Orientation BitRate Parity DataBits StopBits
  FlowControl PinOut Port Ports Links target title VLANId SubnetMask PrefixLength Prefix AddressOrigin AddressState LinkStatus
  LinkNetworkTechnology BaseModuleType MemoryDeviceType MemoryMedia RankCount ErrorCorrection DeviceClass ClassCode VendorID VendorId
  DeviceId SubsystemId SubsystemVendorId RevisionId PCIeType MaxPCIeType FunctionType DeviceType MediaType MediaTypes ConnectedVia
  DatabaseId SignatureType SignatureTypeRegistry CertificateType TransferMethod RAIDType RAIDTypes VolumeType Encryption EncryptionTypes HotspareType RaidStatus DriveFormFactor FormFactor
  PredictedMediaLifeLeftPercent InstructionSet ProcessorArchitecture ProcessorType EffectiveFamily EffectiveModel Step MicrocodeInfo
  SoftwareId Oem EventTypes SyslogFilter ChassisType SystemType ManagerType SubProtocols OverWritePolicy LogEntryType EntryType EntryCode
  OemRecordFormat SensorType ResetType ApplyTime TaskState TaskStatus JobState JobType JobStatus HttpMethod HttpMethods TargetUri
  UtcOffset BootSourceOverrideTarget BootSourceOverrideEnabled BootSourceOverrideMode UefiTargetBootSourceOverride Cached code message
  IndicatorLED ConsoleEntryCommand HotKeySequenceDisplay ServiceEnabled MinCollectionInterval Fqdd FQDD Category Group ClassDescription
  CurrentInterface ProtocolVersion CompatibleIds HostInterfaceType InterfaceType SupportedApplyTimes SpeedUnit Length Media
  EncryptionAbility EncryptionStatus StatusIndicator MediaLifeLeft Associativity CurrentSRAMType SystemCacheType EccType Characteristics
  IdentificationRegisters DurableNameFormat ApplicationName BootString StructuredBootString StructuredName CorrelatableID
  LedColor ExternalInterface PlatformType Generation RaidLevel RAIDLevel Level License Tier`
    .split(/\s+/)
    .filter((name) => name !== ""),
);
const ALLOWED_ENDINGS =
  /(version|status|state|health|mode|modes|type|types|units?|policy|protocols?|capabilit(y|ies)|supported|allowablevalues|supportedvalues|architecture|format|level|function|redundancy|speed|class|category|severity|enabled|enable|algorithm|support)$/i;
/** Of versions it cannot be told that they are no addresses. */
export const VERSION_NAME = /version|firmware|revision|build|release|package|softwareid/i;

/**
 * The last part of `Users.2.UserName` and of `ResetType@Redfish.AllowableValues` is what says what a value is; an annotation's own
 * name only if the field's does not.
 */
export function ruleOf(field: string): FieldRule {
  const [property = "", annotation] = field.split("@");
  const name = property.split(".").at(-1) ?? "";
  if (SECRET.test(name) && !MEASURE.test(annotation ?? name)) return "secret";
  if (annotation !== undefined) return ALLOWED_ENDINGS.test(annotation) ? "allowed" : "unknown";
  if (ALLOWED.has(name)) return "allowed";
  const identity = IDENTITY.find(([pattern]) => pattern.test(name));
  if (identity) return identity[1];
  if (FREE_TEXT.test(name)) return "free text";
  return ALLOWED_ENDINGS.test(name) ? "allowed" : "unknown";
}

/** Words of specifications: values that stay whatever their field is called. */
export const VOCABULARY = new Set(
  `enabled disabled enable disable on off none auto automatic manual yes no true false ok warning critical normal absent present
  unknown other standard default custom standby redundant uefi legacy bios pxe hdd cd usb dhcp static slaac ipv4 ipv6 http https tftp
  nfs cifs ftp ssh telnet ipmi kvmip redfish administrator operator readonly optimal ready online offline failed good bad full half
  up down low medium high minimum maximum immediate onreset always never once continuous user deployed setup audit local remote
  internal external primary secondary active inactive locked unlocked open closed success completed running pending new
  alwayson alwaysoff laststate restore uri notconnected dedicated shared failover all any active-passive en en-us utc
  supported notsupported notapplicable notavailable notconfigured fatal firmware dram sha1 sha256 sha384 sha512 rsa none nochange`
    .split(/\s+/)
    .filter((word) => word !== ""),
);

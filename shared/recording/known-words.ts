// Written by scripts/known-words.ts.

/** Words of Redfish schemas and registries, of IPMI, AMT and makers, and of this project. */
export const KNOWN_WORDS = `a01 a02 a02p a04 a07 a32 a42 a43 a47 a64 aaaabjru aaaaeaaaabcayaaa aaaans aas abandon abb abcdef abcdefa abcdefghijkmnopqrstuvwxyz
abcdefghjklmnpqrstuvwxyz abefh ability able abort aborted aborting about above abs absence absent absolute abstraction abu ac120v ac208v ac230v ac240v
ac277v ac400v ac480v acbel accelerate acceleration accelerationfunction accelerator accelerators accept acceptable acceptance accepted accepting
accepts access accessed accesses accessibility accessible accessing accleration accommodate according accordingly account accounts accountservice
accumulate accumulated accumulation accumulative accuracy acdt achievable achieve achieved achieving achighline acht acinput acinputtype acknowledge
acknowledged acknowledgement aclowline acmidline acode acordc acoutput acpi acpower acpowerloss acpwrrcvry acquisition across acs acsctl acst act
action actions activate activated activates activation active activity actual actually actuation acutilityinput acvoltagetype acwiderange acwst adapter
adapters adaptive add adddcsetting added addin adding addition additional additionally additions additive addr address addressability addressed
addresses addressing addresspool adds adequate adgroup adj adjacent adjust adjusted adjustment adjustments adm admin administrate administration
administrator administrators admit adopt adptr adr adt adv advanced advantage advertise advertised advertisement advised advisor advisory advlic aead
aedt aer aes aesni aest affect affected affects affiliated affinity afresh africa aft after afterward afterwards again against agent agentless agesa
aggregate aggregates aggregation aggregationservice aggregationsource aggregator aggressive agn ago agreement ahci ahead ahs ahsdata ahsv ahw air aires
airflow aisle aix akdt akst alarm alarms alaska alert alertmail alerts alg algo algorithm algorithms alias alignment alive alives all alletra alloc
allocate allocated allocates allocating allocation allocations allotted allow allowable allowance allowdeny allowed allowing allows almost almt alofa
alone along alpha alpn already also alt alter altered alternate alternative although altitude altname alto alua always alwaysip amail amb amba ambient
amd america american americas ami among amount amp ampere amplifier amps ams amt an ana anacharacteristics analog analysis analytics analyze anapg
anchors and andi anew angle announce announcement anonymise anonymiser anonymous another ansi ansible answer answered answering answers anti antivirus
any anycast anything anyway aoc apac apache apart apd apethernet apgenz api apic apos app apparent apparentk apparentkvah apparentva appear appears
append appended applet applicable application applications applied applies apply applying appropriate apps apr april arbitration architecture
architectures archive are area arg args argument arguments argv ari aria arizona arm arma armed armv9 around arp arr arrange array arrived ars art
artesyn as ascii asciitacac asf ashrae asi asic asicic asid aside asids ask asked asking asks aspeed aspm aspml asr asrock assemblies assembly
assemblys assert asserted asset assign assignable assigned assignment assist assistance assistant assisted assists associate associated association
associations associative associativity assumed assuming ast astana asus asym asymmetric async asynchronous at ata atc atlantic ato atomic atos ats att
attach attachdetachnamespacesresponse attached attachment attachments attack attacker attacks attempt attempted attempting attempts attribute
attributes attribution attrs audience audio audit aug august auth authentic authenticate authenticated authenticates authentication authenticator
authorised authority authorization authorize authorized authpriv auto autoconfiguration autodiscovery automatic automatically automaticrearm autoneg
autonomous aux auxiliary avaiable availability available average averageiobytes averaging avg avocent avoid avx await awaited aware away b00 b01 b21
back backend background backoff backplane backpressure backup backupand bad badfish bak balance balanced balancing band bandwidth bandwidths bandwith
bank banner bar bard bardpeaknc bare barometric barrier base baseboard baseconfigs based basedn baseline basename baseosboot
baseosbootinstallationstatus basespeedmhz basic basis batch batches batt batteries battery batterys battpg baud bautomatic bay bays bbasic bbbbbbbbbbbb
bboot bbs bcd bcleared bclose bcm bcode bds be bearer beat became because become becomes been before begin begins begun behavior behaviour behind bei
beijing being belongs below benchmarking benchmarks benefit benefits benefitting bern beside best better between beyond bfd bg256c bgp bianca bias
bidirectional bif bifurcate bifurcated bifurcation big bigint bill bin binary bind binddn binding bins bios biosattributeregistrya
biosattributeregistryu bioses biospost biosrtd bioss bit bitmap bits bkernel bkupdata blade blades blank blanks blink blinking blnk blob block blocked
blocking blocks blocksizemib blue bluefield bmc bmchpel bmci bmciak bmclak bmclib bmcswpg bmcweb bmp bno board boards bodies body bond bool boolean
boost boot boot000a boot000b boot000c boot000d boot000e boot000f boot001a boot001b boot001c boot001d boot001e boot001f bootable booted booterror
booting bootloader bootmanager bootoption bootorder bootp bootpi boots bootstrap bootstrapping boottohd bootup bos both bottom bound boundaries
boundary bounded bounds box bp0 bp1 bp2 bp3 bp4 bpb bpe bpower bps bpsu brackets brake branch branches brand branded brasilia brcm brd breach break
breaker breaking breaks bridge bridged bridging broadcast broadcom broken brownout browser brsp bsd bshut bsys bsystem bto bucket budget budgeting
buenos buffer buffers build buildbrain building built builtin bundle burst bus buses busy but button buttonswitch buyout bwatch by bypass bypasses byte
bytes c13 c14 c19 c20 c620 cable cabled cables cacertificates cache cachecade cached caches cachesizeinmb cachesizemib cacloginuri cacsmartcard cage
calculable calculatable calculated calculation calculator caledonia calibrate calibration california call callback called calls came can canad canada
canbefrued canberra cancel cancelled cancelling cand candidate candidates cannot canonical cap capabilities capabilitiess capability capable capacity
capacitygb capacitygib capacitymib capacitysource cape capital capping capsule capture captured card cards carefully carried carrier carry cartridge
case cases cassini casupported cat catalog catalogue catch categories category cause caused causes causing caution cbc cbcdessnmp cbcl cbcr cbm cbrt
ccix ccm cconnect ccx cdata cdfp cdmediatype cdn cdrom cdt cdu cdus cduscount cecot cecriticalsel cee ceil cel cell celsius center centered central
centric cert certain certauth certificate certificatelocations certificates certificateservice certified certmap certs cest cet cfb cfg cfm cft cgi cha
chadt chain chains challenge challenged challenges chan chance change changed changepdstate changes changing channel channels chap chaptacac char
character characteristics characterization characters charge chargeah charging charset chassis chast chatter chcny check checked checking checks
checksum checkvdvalues chennai child children chimney chinese chip chipset choice choices chongqing choose chooses chose chosen chs chunk chunked
chunkoffsetmib chunks cid cidr cifs cim cimc cinfo cipher cipheriv ciphers circuit circuits circular circumstances cisco city cjr cke claim clarity
class classes classification classifications classofservice clean cleaned clear clearable cleared clearing clears cli clicking client clientcertificate
clients climbed cliuart clk clkreq clock clocked clocking clocks clone close closed closer closes closing cloud clp clr cluster clustered clustering
clusters cm4 cm6 cmc cmcip cmm cmos cmp cmstatus cnc cnonce cnt cntlr cntr code codes codewords coefficient coherency cold colection collab
collaboration collaborative collect collection collections collector collision collisions colon color com com1irq4 com2irq3 combination combine
combined come comes comm command commander commands commas comment commit common commonauthinfo commons communicate communication communications
communities community comp compact company compare compared comparison compatibility compatible compile complement complete completed completely
completion complex complexity compliance compliant complies component componentintegrity components compose composed composing composite composition
compositionreservation compositions compositionservice compress compressed compressing compression compressor computational compute computer
computersystem computing comvc con con1con2 con2con1 concat concerns concurrency concurrent condition conditions conditionss conducted confidentiality
config configs configurable configuration configurations configuratons configure configured configures configuring confirm confirmation confirmed
confirms conflict conflicts congestion connect connected connecting connection connectionmethod connections connectivity connector connectors connectx
conns cons conscious consent conservative consider considerations consistency consistencygroup consistent consists console consoles const constant
constants constrained construct constructor consult consume consumed consumer consuming consumption contact contacts contain contained container
containerd containerimage containers containing containment contains content contents context contexts contiguous continue continues continuous
continuously contorl contoso contract contradict control controlable controlled controller controllers controlling controls convenient conversion
convert converter cookie cool coolant coolantconnector cooled cooling coolingloop coolingunit coordinated coords copied copies copper coprocessor copy
copyback copyright cor cord cords core coreids cores corp corporation corr correct correctable corrected correcting correction correctioninms corrects
correlatable correlation corresponding corresponds corrupted corruption cost costs could count countdown counted counter counters country counts
coverage covered cper cpld cpldpal cpu cpu1temp cpu2temp cpuburn cpuc cpuic cpupalimit cpus cram crammd crash cray crb crc create created creates
creating creation creative credential credentialed credentials credit credits crest crio criteria critical criticality crl cron cross crossing crtl
crypto cryptographic cs csc csfp csfpsfp csm csp csr cst cstates csv cto ctobmaas ctr ctrl cts cubic cumulative cups cupsiio current currently cursor
curve custom customer customers customization customized customizing cut cvt cwe cxl cxlcache cxlio cxllogicaldevice cxlmem cyclades cycle cycled
cycles d2k daemon daily damage damaged damping dapc dashboard dashes data database databases datacenter datagram datapoint
dataprotectionloscapabilities datas datastoragelineofservice datastorageloscapabilities date day daylight days db25 db9 dbdefault dbecounterfb
dbecountergrrf dbg dbp dbpm dbr dbt dbx dc1 dc12v dc16v dc240v dc3 dc380v dc48v dc5v dc9v dcbsettings dcbus dcbx dci dcim dcinputtype dclookupenable
dcmi dcneg48v dcpmm dcpower dcregulator dcs dcscm dcu dcuip dcvoltagetype ddns ddr ddr4e ddrsdram ddrsgram ddrt deactivate deactivated deactivation
dead deadline deallocated deassert deasserted debian debug dec december decide decided decides decimal decipher decipheriv decision declaration declare
decode decoded decoder decoders decommission decompose decompress decrease decreases decreasing decrypt decryption dedicate dedicated deduplicate
deduplicated deduplication deep deeper deepest default defaults defective defer deferred deferring define defined defines definite definition
definitions deflate deg degraded degrees degreesc del delay delayed delays delegated deletable delete deleted deletepk deletes deleting deletion delhi
deliver delivered delivery dell delld4d dellemc delli delllclogentry delllcservice dellpcieslots dellpciessd dellpciessds dellv delta demand demote
demoted demotion denial denied dense density deny denying denys depend dependencies dependency dependent depending depends deploy deployed deployment
deprecated depreciation depth depthmm der derivation derive derived des describe described describes description descriptions descriptor descriptors
design designate designator designed desired desk dest destination destinations destroy destroys destructive deta detach detached detaching detail
detailed details detect detected detecting detection detections detector detectors detects determine determined determines determining determinism
deterministic dev development device devices dew df009 dgma dgram dgxh dhabi dhc dhchap dhcp dhcpi dhcpv dhcpv4 dhcpv6 dhe dhg dhhc dhhcnv dhs diag
diagnostic diagnostics diags diameter dict did die dielectric dies differ difference differences different differential differs diffie digest digi
digital digits dim dimm dimma dimmb dimmg dimms dimmslota dimmslotb dimmvshort dir direct directed direction directly directory directoryatos dirgroup
dirgroupb dirname dirty dis disable disabled disabledos disablei disablement disables disabling disc discard discarded discards discharge discharging
disconnect disconnected discouraged discover discovered discovering discovery discrete discretetrigger disjoint disk diskprotocol disks disparity
dispatch display displayed displays disposable dispose disposition dissipation dist distance distinct distinguished distinguisher distribute
distributed distribution district distrusted divide divides dividing division dkm dl325 dl360 dl365 dl380a dl385 dlfcap dlinks dll dma dmar dmi dmt
dmtf dns do docker dockerv1 dockerv2 docking docs docsis document documentation doe does dog doing dom domain domaincontents domains done door doors
dormant dot dotted double doubled doubt down downgrade downgraded download downloaded downloads downstream downtime dpat dpc dpm dport dpu dpufqdd
dpuos dra drac dracsso draft dram drams drawbacks drawer draws drift drive driver drivers drives drop dropped drops drtm drul drv dry dsa dsassh dsp
dst dsx dtr dts dual due duid dumb dump dup dupl duplex duplicate duplicated duplicates duplication durable duration during duty dvd dvi dwell dword
dyn dynamic dynamically eacces each eaptls earlier earliest early eastern ebgp ecat ecc eccerate ecdh ecdhe ecdsa ecdsassh echo ecn econn econnrefused
ecpf ecrc ed edge edit edmx edo edpc edpcosfirst edsff edsffe edt eee eemi eeprom eest eet effect effective effects efficiency efficient efficiently
efgh efi egm egress ehost eia eid eight einj einval eisdir eist either eject ejected ejection ekaterinburg elapsed electrical electronics elem element
elements elevator else elsewhere email emb embed embedded emc emergency emm emmc empty ems emsn emulated emulation emulator emulex enable enabled
enablefor enablei enablement enablemktme enables enabling encipher encipherment enclave enclosure enclosures encode encoded encoding encountered
encrypt encryptable encrypted encrypting encryption end ended ending endorsement endpoint endpointetag endpointgroup endpoints ends endurance energy
energyk energykwh energywh enet enforce enforced enforcement enforces eng engagement engaging engine engineering engines english enhance enhanced
enhancements enhances enoent enotsup enough enroll enrolled enrolling enrollment ensure ensures ent enter entered entering enterprise enters entire
entities entitled entitlement entity entries entry entrys enum enumerate enumerated enumerates enumerating enumeration enumerations env envelope
environment environmental environmentmetrics environments eoi eon epb eperm epi epipe epo epoc epoch epochs eport epp epr epyc equ equal equally equals
equipment equipments eqvr eraid erasable erase erased erases erasing erasure erk erms erot err error errorf errors errs ers esc escape escapes escn
esdram esi eskm especially essence essential est establish established establishment estimate estimated eswitch esx esxi etag etc eth ethernet
ethernetinterface ethernetnics etimedout ets etype eui eula eval evb even evenly event eventdestination eventing eventrecord events eventservice every
everything everywhere evi evictions evpn ex ex235a ex420 ex425 exact exactly example examples exceeded exceeding exceeds except exception excerpt
excess excessive exchange exchanger exchangers exchanges exclude exclusion exclusive exclusively exec executables execute executed executes executing
execution exercised exhaust exhaustion exist existing exists exit exp expand expandable expanded expander expanding expands expansion expect
expectation expected expects expense expensed experience experienced experiencing expiration expire expired expires expiry explained explains exponent
exponentially exponents export exporte exported exporter exportlclog expose exposed exposei exposes express expression ext extend extended extendedinfo
extender extends extensible extension extensions extent extents extentsizemib external externalaccountprovider externally exthostpf extra extract
extref f8h fabric fabricadapter fabrics facilities facility fact factor factors factory facts fail failed failedover failing failover fails failsafe
failure failures fair fallback falling false family fan fan1a fan2a fan3a fan4a fan5a fan6a fandiametermm fans far fast fastlinq fat fatal fault faults
faultstring favor fbl fccrc fcfabricname fci fcinvalidcrcs fclinkfailures fcode fcoe fcoemac fcoepktrxcount fcoepkttxcount fcoeprotocol fcp
fcportprotocol fcports fcprotocol fcrxkbcount fcrxsequences fcs fcscanpolicy fcsensor fctxkbcount fctxsequences fcwwn fdh fdr feaa feature features feb
february fec fecl federal federated federation fedgrp feeder feeders feff female fet fetch fetched fetches few fewer fewest ffdhe fff ffff ffffffff ffh
fhhl fhw fiber fibre ficon field fields fifo figure file filename filepath files fileshare filesystem fill filled filler filter filtered filters final
finally find finding fingerprint finish finished finite fips fipvlan fire firewall firmware first fit fits fitting fivr fivrpg fix fixed flag flags
flap flash flashed flat flex flexible flexibleloms flight flights flit float floating floor floorpdus floorpduscount floppy flow flowchart flport fluid
fluorocarbon flush fmax fmeasurement fmt fod fold folded folder folders follow followed following follows for forbidden force forced forces foreground
foreign forest forever forged forgery forget forgets forgot forgotten fori form format formats formatted formed forms formulation forward forwarded
forwarding found four fpga fpi fpmode fport fqdd fqdds fqdn fql fraction fracture fractured fracturing fragment frame frames framing framings frb free
freely freeze freq frequencies frequency frequencyhz frequencymhz frequently fresh fri friday frm frmw from fromm front frozen fru fsrm fstat ftp
fujitsu fulfilled full fullness fully func function functional functionalities functionality functioning functions funtions further fuse fused fuses
fusion future fvfile fwfileuri fwinfo fwlocalias fwpkg fwrepo fwscan fwupdate fwupdateipaddr fwupdatepath fwverify g200ew3 g2e1 gain gap gaps gateway
gateways gauge gave gb200 gb300 gbe gbps gbs gbt gcid gclookupenable gcm gcmsha gcrootdomain gcxlid gddr gddr5x geforce gen general generally generate
generatecsrresponse generated generating generation generations generator generic genuine genz geographic geometry georgetown geq get getconnected
geteuid getnvmedomain getpciedevice getpcieslots getrsstatus gets getting getuid ggo gh200 ghes ghesv ghz gib gibibytes gigabit gigabyte gigabytes
github give given gives glance glis global globally gmaker gmi gmt goal goes gofish going gold golden golint gone good google got govern governs gport
gps gpss gpt gpu gpus grace graceful gracefully grant granted grants granularity graph graphic graphical graphics graphicscontroller graviton gray
grayed greater greatest green greenland greenwich greyed grid grl group groupdn grouping groups growing grp grrf gss gst gtps gtr guarantee guaranteed
guarantees guard guess guessed guest guests gui guid guide guided guidelines gunzip gwssc gxawl gzip gzxrf h100 h262 habits had hala half halt hand
handle handled handler handles handling hands handshake hang hanio hanoi happen happened hard hardware hardwarepm harness has hash hashes hashing hat
have having hawaii hba hbla hbm hbm2e hcls hdd hdisk hdm hdmi hdr he head header headers headroom heal healing health healths healthy heard heart
heartbeat heat heater heatermetrics heaters heating heatk heatremovedkw heavy heavyio heci height heightmm held hellman help helper helpful helps
hemisphere here hewlett hex hexadecimal hgx hibernation hidden hide hiding hierarchies hierarchy high higher highest highly hiitempsensors hindered
hint hints historical history hit hitachi hlcu hld hma hmac hmacmd hmacsha hmb hmc hmlt hmn hmnlb hms hni hold holder holding holds hole home
homeassistant hong hop host hosted hostedservices hosting hostinterface hostname hostprivnvhost hostprivnvport hosts hot hotkey hotkeys hotplug
hotspare hour hours house houston how howe however hpc hpd hpe hpebiosmessageregistry hpecdu hpegpu hpei hpeilo hpeiloaccount hpeilodatetime
hpeilolicense hpeilosession hpesc hpet hpg hpm hpp hpsso hpsumpid hpsut hpswpg hpux hq9309d href hsa hsbp hsc hsn hss hssmezzcard hst html htt http
httpboot httpd https httpv httpv4 httpv6 huawei hub human humidity hundreds hung husk hwcertificates hwdata hwp hwprefetcher hwrev hwthread hybrid
hybridcap hydrocarbon hynix hyper hyperthreading hyperv hypervisor hypervisors hysteresis i210 i2c i2cbuses i2t i350 iak iana ibgp ibm ibmi iccp ici
icru ict id ideal idempotent identical identification identified identifier identifiers identifies identify identity ider idevid idi idid idieee idle
idled idling idra idrac idrac9 idrachardreset idracreset idracresetcfg idracsettings ids idsdm idsdmsd idx iec ieee iel ierr ies if iface ignore
ignored ignores iio ikvm ilkm illegal ilo iloconfigpriv iloers iloeventlog iloevents iloidevid iloldevid ilolog iloname ilorbsuenabled ilorepo
iloserviceport image images imc img iml imm immediate immediately immersion immutable impact impacts implement implementation implementations
implements implies import important imported imports imposed impossible improper improve improved improvements improves imul in inaccessible inactive
inactivity inafailedarray inband inc incapable inch include included includeip includes including inclusive incoming incompatibility incompatible
incomplete inconsistency inconsistent incorrect incorrectly increase increased increases increasing increment increments indefinite indefinitely
independent independently indeterminate index indexes indicate indicated indicates indicating indication indications indicator indicators indices
indirectly individual individually indus industry infer infineon infini infinite infinity infix influenced info inform information informational infos
infosight infrastructure ing ingress inhibit init initial initialisation initialising initialization initialize initialized initializing initials
initiate initiated initiator initrd inj inject injection inlet inline inner ino input inputs ins insert inserted inserting inserts inside insight
insightonline insist insisting inspected inspection inspur install installation installed installer installing installs instance instanceof instances
instant instantaneous instead instinct instructed instruction instructions instrumentation insufficient insyde int int18h int19h intake integer
integral integrated integrity integritys intel intelligent intelligently intelnmversion intelupilinken intended intensive interactive interconnect
interface interfaces interfere interleavable interleave interleaved interleaveset interleaving interlock intermediate internal internalsdcard
international internet interpret interpretation interpreted interrupt interrupted intersection interswitch interval intervals intervening intervention
intf intlv into intrasocket intrusion inv invalid invalidate invalidcrcs invalidtxwords inventec inventories inventory invitom invocation invoke
involve involved involvement ioat iobusutil iobypass ioconnectivitylineofservice ioconnectivityloscapabilities iodc ioh ioid iommu ionv iooptions
ioperformancelineofservice ioperformanceloscapabilities iops iosensitive iostallcount iostatistics iot iousage iov ioworkload ip4 ip6 ipaddress
ipaddresslower ipaddresstype ipaddressupper ipass ipbaseddrive ipblocking ipc ipducapable ipex ipl ipmanager ipmb ipmi ipmisol ipmitool iprov ips ipsec
ipv ipv4 ipv6 ipv6duid ipv6url ipver ipxe iqn irc irdt irmc ironic ironics irq irreparable irst is isa isabled isc iscsi iscsiboot iscsichaptype
iscsilun iscsinicsource iscsios iscsisources isid islamabad island islands isle iso isolated iss issop1 issue issued issuer issuers issues issuing ist
it item items iterable iterations ito itoa its itself itue ivoc iwarp jabber jan january japanese java jayawardenepura jbof jbofnv jdf jedhe jggg jid
jitter job jobs jobservice john join joined joules journal journaling jpeg json jst jtag judge jul july jumper jun junction june just jwt jwzjq k k06g
kafka kathmandu kcm kcs kdc keep keepalive keeping keeps kek kept kerberos kern kernel kex key keyboard keyboards keymanagement keymgr keynvmeof keyof
keypolicy keys keyservice keystone keystroke keystrokes keytab keyword keywords kgroup kgroups killed kind kinds kingston kioxia kit kk4155h kmip kms
kmsconfig knob know known knows kolkata kong kubernetes kuid kvm kvmip kx4 kxvyh kydnd kymgr l0p l0s l14 l15 l1cache l1only l21 l22 l2cache l3cache
l4cache l5cache l6cache l7cache lab label labels lack lacking lacks ladder lag lags lak lake lan landmark lane lanes lanfcsrxerrors lang language
languages lanplus large larger largest last lasting lat late latencies latency later latest latin latitude lattice launch launcher layer layout layouts
lba lcache lcattributes lcd lcdata lcl lclk lclog lcmxo lcmxo3d lcp lcsettings ldap ldaps ldevid lead leading leads leaf leak leakdetection learn
learned lease leases least leave leaves leaving led leds left legacy len length lenient lenovo leq less lessee lessor let lets letter letters level
levels levelselection lfm lhdt lhst liant lib library libredfish lic licen licence licenced licensable license licensed licenses licenseservice
licensing life lifecycle lifetime lifetimes light lights like lim limit limitations limited limiter limiting limits lin line linear linearisation
linearisations linearise lines linger link linked links lint linux lio liquid lisa list listed listen listener listeners listening listing lists lit
liteon literal liters little live lived lkm llc lldp llr llt lmce lmceen lmem lnk lnvo load loaded loader loaders loading loadline loads loc local
locale locales localhost locality localize locally locate located location locations locator lock lockdown locked locking lockout locks lockup lockups
locpld log logentriesetag logentry logged logger logging logic logical logicalsizemib login logins logo logon logout logs logservice logui loi lol lom
loms long longer longest longitude look looked looks lookup lookups loop loopback loops loose lorbsu lord lose loses losing loss losses lossless losso
lost low lower lowered lowering lowerings lowers lowest lp5 lpddr lpi lpm lpr lrdimm lrpt lss lstat ltd lteon lun lunid luns m001 m08 m10 m11 m2m mac
machine machines machinethis macos macs made madt magt mail main mainboard mainly mains mainsystemchassis maintain maintained maintenance major make
maker makers makes making male malformed malicious man manage manageability manageable managed management managementuris manager manageraccount
managerdiagnosticdata managers manages managing mand mandatory manifest manifests manipulate manipulates manipulation manner manual manually
manufacture manufacturer manufacturers manufacturing many map mapped mapping mappings maps mar march margin marginal margins mark marked marker
marketplace markup marshal marshaled marshall mart marvell mask maskable mass master match matched matcher matches matching math matrox mauth max
maximum maximumsizekb maxpcieslots maxpcietype maxspeedmhz may maybe mba mbf mbit mbps mca mcfg mchain mcm mcommunication mconfig mctp mcu mcx mcx512f
md2 md5 md5v3key mdl mdt me mean meaning meanings means meant meanwhile measurement measurements measures measuring mebibytes mechanism mechanisms med
media mediacontroller median medias medium mega megabytes megarac megatreds megatrends mellanox mem memabcd memabcdvddpg memabcdvpppg memabcdvttpg
member members memefgh memefghvddpg memefghvpppg memefghvttpg memopmode memories memory memorychunk memorychunks memorydomain memorymetrics
memoryregion memorys memoryset memorysizemib memorysummary memspecrd memtest menu menus meo merge merged message messageids messages messaging met
metadata metal meter metering meters method methodology methods meticulous metres metric metricdefinition metricids metricreport metricreportdefinition
metrics metricses metricss metricsuris mezz mezzanine mfa mfirmware mfpga mfpga0 mfr mfs mfwupdate mgmt mgr mgt mhz mi1 mi200 mib micro microcode
microcontroller micron microseconds microsoft mid middle middleware midentity mig might migrate migration miibhtc milan milestone milli milliseconds
milliwatts min mine minfo mini minimal minimaldl minimize minimum minor minority mins minspeedmhz minus minute minutes mips mirror mirrored mirroring
mirrors misc miscellaneous miscount mismatch mismatched misplaced miss missed misses missing mission mistake mitigation mixed mktme mlc mld mlicense
mlnx mmc mmcfg mmeasurement mmeasurements mmio mmt mnodemap mobile mod mode model modelname models moderate modes modification modified modifier
modifies modify modifying modular modulate module modules modulus moisture moment momentary mon monday moniker monitor monitored monitoring monitors
monolithic monotonic montavista month monthly months more most mostly motherboard motor mount mountain mouse mov move moved moverview moves movsb mpwr
mpwrsettings mr216i mr416i mrequester mresponder mrf mrpt ms2idi mscha mschapv1 mschapv2 msdt msg msi msingle msr mst mt mtfddak mtfdkba mtfdkbz mtls
mto mtu much multi multicast multihop multimedia multipart multipath multiple multiplier mumbai murc musb must mutable mutex mutlicast mutual mutually
mvm mwait mware my mzql mztl mzxlr n naa nack nak name named nameless nameplate names namesake namespace namespaces naming nand nano nanoseconds nap
native natural nav nbio ncn ncsi ncsirx ncsitx ndc ndcs ndp ndr ndt near nearest nearline neat necessary need needed needs neg negative negotiate
negotiated negotiation neighbor neighborhood neither nema nemal neq nested net netboot netconf netmask network networkadapter networkdevicefunction
networking networkinterface networkport networks neutral never new newer newest newfoundland news next nfpga nfs nfsv3 nfsv4 nfv nguid nibble nic
nicportstats nicrotcapable nics nid nil nist nistb nistk nistp nistt nlport nmi no noaccess nocstates node nodemap nodes nofollow noisy nolint nominal
non nonblock nonbootable nonce none nonfde noniorequests nonnegative nonrecoverable nonredundant nop nor normal normally north not notation note noted
notes nothing notice notification notifications notified notify noting nov november now npar npiv nplusm npm nport npport nps npt nqn nsh nsid nst ntc
nte ntp nuku nul null nullable nullish num numa number numbered numbers numberv numeric nuvoton nvdim nvdimm nvdimmf nvdimmn nvdimmp nvdimms nvidia nvl
nvlink nvlinkerrors nvlinkfabric nvm nvme nvmedevicetype nvmedomain nvmeo nvmeof nvmeofkeytype nvmeofsecrets nvmepooltype nvmeproperties nvmeprotocol
nvmesmart nvmesmartdata nvmeversion nvram nvswitch nzdt nzst oad oam oat oauth2 oberon object objective objectives objects observe observed obstacle
obtain obtained obtaining occupancy occupation occur occurred occurrence occurrences occurs oci ocp ocr ocsp oct octet october odata odatacontext
odatacount odataetag odataid odatatype odd odim oem oemnv oemos of ofa ofed off offer offered offers officer offline offload offloaded offset offsetmib
offsets often ok old older oldest omit omitempty omsa on onboard once one ones onetime online only onpowerup onto oob opal opaque opcode open openbmc
opened opening openmanage opens openstack openu openurackunits operate operates operating operatingsystem operation operational operations operator
opportunistic opportunistically oprom ops opt optane optee optic optical optimal optimization optimizations optimize optimized optimizer optimizes
optimizing optimum option optional optionally options opts or order ordered ordering ordinal org organization organizational orientation oriented
origin original originator origins osacpicx osaka osappdata osb osbmc osbootstarted osc oscontrol oscontrolled oscxc2 oscxc3 osd osdbpm osdistribution
osdriverstate osettings osfileuri osfirst osfp osfpsfp osinfo osipaddress osname ospm osrunning osstopshutdown ossystemtype osversion otel other others
otherwise othroughput otlp otp out outage outbound outboundconnection outcome outcomes outdated outer outgoing outlet outletgroup outlets output
outside outsource outsourced outweigh ova over overall overclocking overflow overflowed overload overprovisioning overridden override overrides overrun
oversize oversized overview overwrite overwritepd ovf own owned owner owners ownership owning p p2p p408i p4w p5w pacific pack package packagecstate
packagecstates packages packard packet packets pad padded padding pads pae page paged pages paging pair pairs palo pam panel panic pap paptacac par
parallel param parameter parameters params parent parental parentbased parity parking parks parse parsed parser part partial particular partition
partitioned partitioning partitions partof parts party pass passcode passed passive passord passphrase passphraselimit password passwords patch patches
path pathname paths patience patrol pattern patterns pause paused pauses payload payloads paz pbf pbm pbnj pbr pca pcb pcc pcd pch pci pcie pcie5
pcieacsctl pciecableclass pciedevice pciedevices pcieerrors pciefunction pciefunctions pciehalflength pcieinterface pcieprotocol pcierxbytes pcieslot
pcieslotlfm pcieslots pciessd pcietxbytes pcietype pcietypes pcievdm pciid pcr pcrs pcs pct pcu pdb pdr pdt pdu pduring pdz peak peci peer peers pem
pemchain pen penalty pending per perc percent percentage percents percnv perf perform performance performances performed performing performs perhaps
period periodic periodically peripheral permanent permanenti permission permissions permit perpetual persistence persistency persistent persists person
personnel pfault pfd pfnumofvfvalid pfr pftotalsf pg530 pg548 pgfail phase phoenix phone phosphor phrase phy physical physically pic pick pidt piece
pieces pii pin ping pinned pino pins pipe pipeline pipelined pkcs pkdefault pkg pkgc pkgclatneg pki pkt pkts place placed placeholder placement places
plain plan planar plane planes planned plans platform platforms platinum platter play played pld pldm pldmv1 please pll plug pluggable plus pmax pmbus
pmbwoptimized pmcrqos pmem pmm pmr png pobox pod point pointed points poison poisoned poke policies policy policys poll polling polls poly pong
ponumber pool pools pop populated population por port portal portions portland ports pos positive possession possible post postal postaladdress
postponed potential potentially power powercontrol powerdetection powerdomain powered poweredge powerhistory powering powerlimit poweroff powers
powersubsystem powersupply powersupplyconverter powerunit powervm ppb ppd ppi ppid ppin ppr pps practical pre preboot precedence precision precondition
preconfigured predecessor predefined predictable predicted prediction predictive predictor prefault prefer preference preferred prefers prefetch
prefetcher prefix prefixes preflight preliminary premium preos prep prepare prepared prepares preparing prescriptive presence present presented
preserve preserved press pressed pressing pressure pressurek pressurekpa pressurepa pretty prevent prevented preventing prevents preview previous
previously prim primary primergy principal print printable printed printf printing prior priorities prioritization prioritized priority priv privacy
private privilege privileges prm prmode prmrr pro prob probe probing problem problematic problems proc proc1id proc2id proc3id proc4id procamdiovt
procc1e proccstates procedure proceed process processes processing processor processormetrics processors prod prodabr prodfam prodgen prodnam prodtag
producer producing product production profile profiles program programmable programmatic programmatically programme programming programs progress
progressed project proliant promise promises prompt prompts proof proofs prop propagate proper properly properties property proportional proprietary
protect protected protecting protection protections protects proto protobuf protocol protocols prototype prove proven proves provide provided provider
providerfee providers provides providing province provision provisioned provisioning proximity proxy ps1 ps2 psa psec psid psk psrapidon psredpolicy
psrollupstatus pssf psso pst pstate pstates psu psurpm pt0h0m5s pt0s pt1 pt10m pt20s ptcapability ptmode ptr pub public publication pull pulled pulls
pump pumps pun purchase purchased purchasing purpose purposes push put putty pvnn pvnnswpg pwd pwm pwr pwrd pws pxe pxev4 pxev6 pxm pxvru qcow qct qemu
qibad qlogic qop qos qpi qsfp qsfpdd qsfpddsfp qsfpsfp qsw quadfurcate quadsproject qualified qualifier quality quanta quantity quarterly query
querying question queue queued queues quick quiesced quiet quirk quirks quit quito quot quota quote quoted quotes r r2e09a r4k44a r640 rac racadm race
rack rackmount rackpdus rackpduscount racks radius raid raid10e raid1e raid6tp rail rails raised rakp random range ranges rank rapid rapl rare ras rate
rated ratedspeedmhz rates rather rating ratings ratio raw raws rawsensor rblinks rbsu rcd rcvry rda rdbms rdimm rdma rdmaos rdmarx rdmatx rdnt rdoc
rdonly rdp rdpartycard reach reachable reached react reaction reactions reactive reactivek reactivekvarh reacts read readable readback reader readers
reading readings readiokibytes readiorequests readonly readonlyuser reads ready real reallocated realm realpath realtime rear reason reasons reassembly
reassigned rebind reboot rebooting reboots rebuild receive received receiver receivers receives receiving recent receptacle recheck rechecked
rechecking recieve recipient recipients recognize recognized recommendation recommendations recommended reconfiguration reconfigure reconnect
reconnecting reconstruct record recordby recorded recorder recording records recover recoverable recovery rectifier recurrence red redact redacted
redactor redfish redfishdbreset redfishtool redhat redir redirect redirected redirection redirects redmond reduce reduced reduces reducing reduction
redundancies redundancy redundant ref refer reference referenceable referenced references referred refers refine reflash reflect refresh refreshed
refreshx refusal refusals refuse refused refuses reg regardless regex region regions regionsizemib register registered registeredclient registers
registration registries registry registrys registrystore regular regulator reinitiatedhs reinstalled reject rejected rejects rekey related relates
relationship relative relaxed relay release released relevant reliability relies reloaded relp relying remain remaining remains remap remapping remark
remarks remedies remedy remember remembered remote remotely removable removal remove removed removedk removing rename renamed renamevd renegotiation
renew renewal renewed renewing reopen reorder reordering rep repair repaired repairs repeat repeatable repeated repeater repeats repetitions replace
replaceable replaced replacement replaces replacing replay replenish replica replicainfo replicate replication reply repo report reported reporting
reports repository represent representation representative representing represents repudiation req request requested requester requestor requests
require required requirement requirements requires requiring res rescue resend reservation reservations reserve reserved reserves reserving reservoir
reservoirs reset resetdb resetpk resets resetting resevoirs reside residency resident resilience resiliency resilient resize resolution resolv resolve
resolved resolvers resource resourceblock resources resp respective respectively respond responder responding response responsible rest restart
restarted restarting restarts restful resting restore restored restores restoring restricted restrictions resubmit resubmitted result resulted
resulting results resume resumed resync resyncing retain retention retire retired retrain retransfer retransmission retries retrieve retrieved retry
retrying retrypolicytype return returned returns reuse reused rev reveal reverse reversed revert revertible reverting reverts review revision revoke
revoked revs rewrite rewrites rfb rfc rfs rhmenu ribcl right rightmost rights rinse rips risc riscv rise riser rising risk risking ritable rj11 rj45
rks rmc rmcp rmp rms rmss ro3704c road robin roce roceprotocol rocev2 rock role roles roll rollback rolled rollover rollup rom romdmt roms room root
rose rosetta rot rotation rotational rotor round rounded route routeentry router routes routesetentry routing row rows rpc rpcsec rpcsecgss rpm rs232
rs485 rsa rsassh rse rshim rslog rsp rsyslog rtc rtid rtmcf rtp rts rtu rufio rule rules run rune rung runner runners running runs runt runtime rv32
rv64 rx5xx rxbb rxbroadcast rxbytes rxdiscards rxerrors rxexchanges rxfcs rxflowcontrol rxframes rxinputpower rxjabberpkt rxmutlicast rxpfc
rxqueuesempty rxqueuesfull rxruntpkt rxsequences rxstompedecrc rxunicast ryzen s2600bpb safe safely said salp salt same samoa sample sampled sampler
samples sampling samsung san sanitization sanitize sanupn sapporo sas sashd sashdsfp sat sata sataporta sataportamodel sataportb sataportbmodel
sataportc sataportcmodel sataportd sataportdmodel sataporte sataportemodel sataportf sataportfmodel sataportg sataportgmodel sataporth sataporthmodel
sataporti sataportimodel sataportj sataportjmodel sataportk sataportkmodel sataportl sataportlmodel sataportm sataportmmodel sataportn sataportnmodel
satellite satellites satisfies satisfy saturday sav save saved saver savi saving savings saw say says sbe sbecounterfb scalar scale scaling scan
scanned scanning scans scep sched schedule scheduled scheduler schedules scheduling schema schemas scheme schemes sci scientific sco scope score scp
scrambling screen screenshot screenshots script scripted scripting scripts scrncap scrub scrubbed scrubber scrubbing scsi scsilun scsimac sctp scv sda
sdb sdcard sdcard1 sdcard2 sdpm sdr sdram sdramfbdimm sdramfbdimmprobe sdrs sds sea seagate seal sealed seam seamldr search searches seat seated seats
sec secbootpolicy second secondary seconds secret secrets section sector secur secure secureboot securebootdatabase securebootkeys secureclientauth
secured secureport secureserver securesyslogenable securing security securitypolicy see seed seen segment segments sekm sekmcsr sel select selected
selecting selection selective selectively selector selectors selects self selftest seloem sem semantic semantics semi semicolon send sender sending
sends sensing sensitive sensitivity sensor sensors sent sentence sep separate separated separator seperated september seq sequence sequences sequential
sequentially seral serial serialise series serve served server serverconfiglock servername serveros servers service serviceability serviced servicefee
services session sessions sessionservice set setbootorderen setbootvd setetag sets setting settings settle settled settling setup sev several severe
severities severity sff sfp sfpdd sfpddsfp sfpsfp sftp sgram sgx sgxlepubkeyhas sgxlepubkeyhash sgxlewr sha shader shake shakes shall shape share
shareable shared shares sharing shasta shelf shell shelves shift shim shimaa shimx shm short shortened shorter shortest shortfall shot should show
showed shown shows shrink shut shutdown shutdowns shuts shutting sid side sideband sidecar sight sigint sign signal signaling signals signature
signatures signed signer significant significantly signing sigterm sik silence silent silicon silver similar similarly simple simplestorage simplified
simulated simultaneous since single singleton sink site situations sivoc six size sized sizemib sizes sjaaaad skew skewed skinit skip skipped skipping
skips sku sla slaac slaaci slashes sld sle sled sleep slice sliced slider slightly slim slingshot slink slit slot slot1bif slot2bif slot3bif slot4bif
slot5bif slot6bif slot7bif slot8bif slot9bif slots slow slowed slower slp small smallest smart smartcard smartstorageconfig smartstoragemessages smb
smbios smbus smbv2 smbv3 smc smcrakp sme smi smm smooth smr sms smt smtp smu smx snapi snapshot snc snm snmp snmpomsa snmpv1 snmpv2 snmpv2c snmpv3
snoop snooping snoops snp sntp so soap soc socket socketed sockets socks sodimm soft software softwareinventory sol solaris sold solid solidigm solomon
solum solution some something sordimm sort sorted soudimm source sources southbridge space span spanned spanning spans spare spareresourceset spares
sparing spatial spawn spcr spd spdm spdmgetsignedmeasurementsresponse spdminfo spdmpolicy spdmrequesterauth spdmresponderauth speak speaks spec special
specific specification specifications specified specifies specify spectrum speculative speculatively speed speedlimitmhz speedmhz speedns speeds
spelled spelling spellings spend sphere spi spikes spindown splice split splitted splitting splus sply spread sprintf sps sqrt sr416i sr650 sr670 sr850
sr932i sram srar srat sri sriov sriovvepa srv ss11 ssata ssd ssdp ssdpf ssdt sse ssh ssl sslv sso ssosettings sst ssw stable stack stage staged stages
staggering staging stagingdirectory stale staleatos stall stamp stand standalone standard standby standing stanza stanzas start started starting starts
starttls startup stat state stateful stateless states static statically station statistic statistics status statuses stay stays stby std stderr stdin
stdlic stdout step stepping steps stgs stick sticker sticks still stl stmcginnis stomped stop stopped stopping stops stor storage storagecontroller
storagegroup storagepool storages storageservice store stored stores stos stosb str strap stray strays strconv stream streamer streaming street
strength strengths strict strictly strike string stringify strings strip stripe striped stripes strong struct structured style sub subarray subclass
subcode subcomponent subdivision subfeed subfeeds subfield subinstance subinstances subject subjects submission submit submitted subnet subordinate
subordinates subsciption subscribe subscription subscriptions subset subsidiaries subsystem subsystems subtype succeeded succeeds success successful
successfully successor such sudden sufficient suffix suggestion suggestions suitable suite suiteb suites sum sumabr sumgr summable summarise summarize
summary summation sums sun sunday super supermicro suppl supplied supplier supplies supply supplying support supported supporting supports suppress
suppression supression sure surface surname surprise survival sushy suspend suspended suspending sustained sut sutreg svg svr sw1 sw10 sw11 sw12 sw2
sw3 sw4 sw5 sw6 sw7 sw8 sw9 swap swc switch switched switches switchgear switching switchmetrics swlicensing swordfish swp swpg sxm symbol symbolic
symbols symmetric sync synced synchronization synchronized synchronizing synchronous synergy syntax synthesized sys sysfam syslog sysmgmt sysprep
system systemacpipowerstate systembootrestartinitiated systemidevid systeminventory systemldevid systems t00 t01 t02 t03 t04 t05 t06 t07 t08 t09 t10
t11 t12 t13 t14 t15 t16 t17 t18 t19 t20 t21 t22 t23 tab table tables tabs tacac tach tachometer tacklebox tag tagged tagging tags tail take taken takes
tallies tally tamper tampering tank tap tape tapped target targeting targets targeturis tartget task tasks tasksettings tbt tcb tcbspd tcg tcm tcp
tcpipviadhcp tctrl tdp tds tdx team tech technical technician technologies technology tee telco telemetry telemetryservice telephone tell telling
telnet temp temperature temperatures template templates temporarily temporary temps tenant tend tentative tenths teport terabyte term terminal
terminate terminated terminating termination terminator terms terraform territory tesla test tested testhost testing tests tex texas text texten textja
texts textzh tfa tfor tfr tftp tful tgt than that thd the their theirs them then there thermal thermalequipment thermalmetrics thermals
thermalsubsystem these they thin thing think thinksystem third thirty this those thr thread threaded threading threads three thres threshold thresholds
throttle throttled throttling through throughput throw thrown thu thumbnail thumbprint thursday thus ticket tidied tidying tier time timed timeout
timeouts timer timers times timespan timestamp timestamping timezone timing ting tinkerbell titania title titled titles tjmax tklm tkt tls tlsaes
tlsconfig tlspolicy tlspsknv tlssmtp tlssslsmtp tlsv tlsv2 tlsv3 tme tmp tmpdir tnhr tnr to today toe together token tokenized tokens told tolerance
tolerant too took tool tools top topology toshiba total touches tpm tpmauth tpminfo tpms tpraid tps trace traced tracer traces tracing track tracked
tracking traditional traffic trailer trailing train training trains transaction transactional transactions transceiver transceivers transfer
transferred transform transformation transformer transient transition transitional transitioned transitioning transitions translate translation
translations transmission transmit transmits transmitted transparent transport trap traps tray treat tree trial trials tried tries trigger triggered
triggers triggerss trim trimmed trip triple tripped trips troubleshooting true trunc truncated truncation trust trusted trustedcomponent truststore try
trying tsme tsx ttl tty tue tuesday tune tunes tuning tunneling tuple turbo turn turned turning turns twenty twice twin two twos txbb txbiascurrent
txbroadcast txbytes txdiscards txerrors txexchanges txflowcontrol txframes txmutlicast txoutputpower txpfc txqueuesempty txqueuesfull txrx txsequences
txstompedecrc txt txunicast tyan type type3mld type3sld typed typeof types typical typically u uart ubm ubuntu uce ucr ucs ucsc udimm udp ued uefi
uefihttp ufffd ufs uhci uiconsoleinfo uid uint ula uma unable unach unadvertised unallocated unanswered unassign unassigned unauthenticated
unauthorised unauthorized unavailability unavailable unbalanced unbind unblinktarget unbracketed uncaught uncertain uncertainty unchangeable unchanged
unchecked unclassified unclear unconfigured uncore uncorrectable uncorrected undefined undemoted undemotion under underlay underlying undersize
understand underutilized undescribed undetected undiscovered undo undone unecrypted unencrypted uneven unexpected unfinished unfit ungraceful unhalted
unheard unhide unicast unicode unified uniform unintended union unique unit units universal unix unknown unless unlink unlinked unlisted unlock
unlocked unlogged unmarshal unmasked unmet unmodified unmodifiedetag unpack unplugged unpredictable unprivileged unprotected unquoted unreachable
unread unreadable unrecognised unrecognizable unrecognized unref unreliable unrepeatable unresponsive unsafe unsent unset unshared unsigned unsized
unsolicited unspecified unspent unstructured unsubscribe unsuccessful unsupported unsyncable unsynchronized untagged until untold untraced untrusted
unused unverified unwrap unwritten up updatable update updateable updated updates updating upgrade upi upload uploaded uploads upon uport upper upside
upstream upt uptime uptream urgent uri uris uriser url urls us usable usage usb usba usbc usbcd usbcontroller usc usd use used useful useless user
userip username users uses using usp usr usually utc utcm1 utcm10 utcm11 utcm12 utcm2 utcm3 utcm330 utcm4 utcm5 utcm6 utcm7 utcm8 utcm9 utcm930 utf
util utilities utility utilization utilize utilized utilizes uucp uuid uusb v05 val valid validate validated validates validation value values valve
vapg var variable variables variant varies variety various vars vary varying vasa vbat vbo vca vcaction vcat vcatentry vcc vccin vccinpg vccio vcciopg
vcentries vcmask vcore vcorevr vcs vdd vddcr vddio vdi vdm vdr veb vebvepa ven vendabr vendnam vendor vendors venhw ver verb verbose verbosity verde
verdict verification verified verifier verifies verify version versions versus vet vflash vflashcapable vfs vga vhd via video view viewer viewpoint
violation violations virt virtual virtualization virtualized virtually virtualmachineengine virtualmedia virus visibility visible vla vlan vlanenable
vlanid vlanmode vlannetworkinterface vlanport vlanpriority vlans vlansetting vlt vmd vmdk vmdon vme vmedia vmm vmscript vmware vmwaredpuen vmwareesx
vmwarenumofvfs vnc vndr vnic vnominal vnt vocabulary void vol volatile volt voltage voltages volts volume volumes vpi vport vpp vrm vroc vsa vsapg
vshort vsp vsphere vss vswpg vt100 vt220 vt400 vtd vtt vtutf8 vulnerabilities vulnerability w002 wait waited waiting waits wakeonlan walk want wanted
ware warm warn warned warning warnings warp warranty was watch watchdog watchdogs watched watching water watt wattage watts way ways wbem wcilf wdt we
weak weaker weakness web webhook webserver website webui wed wednesday week weekly weigh weight weightkg well were west wet what whea when whenever
where whether which whichever while who whole whose why wide wider width widthmm wifi wificapable wildcard wildcards will win window windows winner
winpe wins wipe wire wired wireless wires wiring wish wistron with withdraw withhold within without witness wiwynn wlan wmi wnc wol word worded words
work workaround worker workgroup working workload workloads works workspace world worn worse worst worth would wrap wrapped wraps writable write
writeable writeiokibytes writer writes written wrong wsman wtr wvilf wwn wwnn wwpn www wwwahsv wwwbmc wwwdoc wwwers wwwglis wwwinfosight wwwiol wwwlic
wwwlml wwwpass wwwprv wwwqspec wwwrestdoc wwwsup wwwswlic wyse wzp x x00b1 x01 x06 x0a x10 x102b x10de x11 x12 x13 x13deg x14e4 x15 x15b3 x16 x165f
x16d7 x17 x17b x19 x1c x1fc x1nvme x23 x2apic x2c80 x2f x2f8 x30 x3f8 x40 x4nvme x4x4x8 x6f x7c x86 x8x4x4 xa1 xa182 xa190 xa194 xa1a3 xa1cb xa1d2
xa2d6 xaa xca xcb xcc xce xcf xdc xdf xdfff xen xeon xfa xff xff00 xfffe xffff xfusion xgmi xhci xhtml xl675d xml xmlns xmm xoff xon xor xpt xsi xtermr
xtreme xxxxxxxxx xxxxxxxxxx xyz yaml yd2c2 year yekt yes yet yield ymm you young your z23 z63 zero zfra zip zlib zlprt zmprt zns zod zone zoned
zoneetag zones zvcat`;

/** The last words in the names of fields with measured numbers. */
export const MEASURES = `accuracy ah amps attempts average band bandwidth baud bias bits blocks bytes calibration capacity celsius channel cid collisions complete compositions
compute cores count credits critical cycle cycles days degrees depth discards duration ecn ecrc entries errors estimate expansion fahrenheit failures
fatal frames frequency gbps gbs ghz gib height hours hz increment indicator interval iops jobs kg kib lanes length level limit liters lower lun max
maximum mbps med meter meters mhz mib microseconds milliseconds min minute minutes miss month ms mtu multiplier ns nte occurrences offset order pcr
percent percentage percents point port ports precedence precision preference priority queues range ratio reading records recovery regions rejects
reports requests retries rh rpm second seconds sectors sequences sessions shutdowns size sizes slot socket speed steps temp terabyte threads threshold
tib timeout ttl upper var violations vlan vlanid voltage volts wattage watts weight width zero zones`;

#!/bin/sh
# Drives an IPMI BMC with freeipmi, one program of it per command, as bench/peers/README.md describes.
set -eu
PATH=$PATH:/usr/sbin

run() {
  program=$1
  shift
  "$program" -D LAN_2_0 -h "$PEER_HOST:$PEER_PORT" -u "$PEER_USERNAME" -p "$(cat "$PEER_PASSWORD_FILE")" \
    -I "${PEER_CIPHER_SUITE:-17}" -l ADMIN "$@"
}

case $PEER_OPERATION in
  state)
    answer=$(run ipmipower --stat)
    case ${answer##*: } in
      on | off) echo "${answer##*: }" ;;
      *)
        echo "$answer" >&2
        exit 1
        ;;
    esac
    ;;
  on | off)
    run ipmipower "--$PEER_OPERATION" "--wait-until-$PEER_OPERATION" | grep -q ': ok'
    echo "$PEER_OPERATION"
    ;;
  pxe-once)
    run ipmi-config --category=chassis --commit \
      --key-pair Chassis_Boot_Flags:Boot_Device=PXE --key-pair Chassis_Boot_Flags:Boot_Flags_Persistent=No
    run ipmi-config --category=chassis --checkout --key-pair Chassis_Boot_Flags:Boot_Device | grep -q 'Boot_Device *PXE'
    echo pxe
    ;;
  inventory)
    run bmc-info >/dev/null
    run ipmi-fru --ignore-sdr-cache --device-id=0 | sed -n 's/ *FRU Product Serial Number: //p'
    ;;
  *) exit 2 ;;
esac

#!/bin/sh
# Drives an IPMI BMC with ipmitool, one run of it per command, as bench/peers/README.md describes.
set -eu

run() {
  ipmitool -I lanplus -H "$PEER_HOST" -p "$PEER_PORT" -U "$PEER_USERNAME" -f "$PEER_PASSWORD_FILE" -C "${PEER_CIPHER_SUITE:-17}" "$@"
}

until_power() {
  until run chassis power status | grep -q "is $1"; do sleep 0.5; done
  echo "$1"
}

case $PEER_OPERATION in
  state) run chassis power status | sed 's/.* is //' ;;
  on | off)
    run chassis power "$PEER_OPERATION" >/dev/null
    until_power "$PEER_OPERATION"
    ;;
  pxe-once)
    run chassis bootdev pxe options=efiboot >/dev/null
    run chassis bootparam get 5 | grep -q 'Force PXE'
    echo pxe
    ;;
  inventory)
    run mc info >/dev/null
    run fru print 0 | sed -n 's/ *Product Serial *: //p'
    ;;
  *) exit 2 ;;
esac

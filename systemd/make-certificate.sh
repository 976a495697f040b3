#!/bin/sh
# A certificate for a server of yours, signed by an authority of your own:
#
#   sh make-certificate.sh FOLDER FILE NAME...
#   sh make-certificate.sh /etc/mosquitto/certs broker broker.casino.example
#
# makes FOLDER/FILE.pem and FILE.key for the host names and addresses by which clients connect,
# and the authority FOLDER/ca.pem, ca.key if it is not there. Clients are given ca.pem. Keep
# ca.key: it signs the next certificate. All of them are valid for ten years.
set -eu
[ $# -ge 3 ] || { echo "usage: sh make-certificate.sh FOLDER FILE NAME..." >&2; exit 2; }

folder=$1 file=$2
shift 2
names=
for name in "$@"; do
    case $name in
        *:* | [0-9]*.[0-9]*.[0-9]*.[0-9]*) names="$names,IP:$name" ;;
        *) names="$names,DNS:$name" ;;
    esac
done

mkdir -p "$folder"
umask 077
if [ ! -e "$folder/ca.pem" ]; then
    openssl req -x509 -nodes -days 3650 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 \
        -subj "/CN=Authority of $1" -addext keyUsage=critical,keyCertSign,cRLSign \
        -keyout "$folder/ca.key" -out "$folder/ca.pem"
fi
openssl req -x509 -nodes -days 3650 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 \
    -subj "/CN=$1" -addext "subjectAltName=${names#,}" \
    -addext basicConstraints=critical,CA:FALSE \
    -CA "$folder/ca.pem" -CAkey "$folder/ca.key" \
    -keyout "$folder/$file.key" -out "$folder/$file.pem"
chmod 644 "$folder/ca.pem" "$folder/$file.pem"
echo "$folder/$file.pem and $file.key for $*; clients trust $folder/ca.pem"

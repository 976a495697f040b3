#!/bin/sh
# Accounts at a mosquitto on this computer, each with a password by chance. As root:
#
#   sh make-accounts.sh table-7 board pit
#   systemctl reload mosquitto
#
# The password of NAME is the first line of /etc/shoe-daemon/NAME.password. One that is there
# already is kept. Copy the file to the computer that logs in with this account.
#
# Every account of shoe.passwd without a `user` block in /etc/mosquitto/shoe.acl gets the block of a
# table there. Without a NAME the script does only that.
set -eu

accounts=/etc/mosquitto/shoe.passwd
rights=/etc/mosquitto/shoe.acl
passwords=/etc/shoe-daemon

mkdir -p "$passwords"
umask 077
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if [ ! -e "$accounts" ]; then
    install -m 640 -g mosquitto /dev/null "$accounts"
fi
for name in "$@"; do
    file=$passwords/$name.password
    if [ ! -e "$file" ] && [ -e "$file.cred" ]; then # encrypted by `shoe-daemon init`
        echo "$name: $file.cred, kept as it is"
        continue
    fi
    if [ ! -e "$file" ]; then
        install -m 600 /dev/null "$file"
        openssl rand -hex 16 > "$file"
    fi
    # By a file: every user of this computer can read the arguments of a program.
    printf '%s:%s\n' "$name" "$(head -n 1 "$file")" > "$folder/line"
    mosquitto_passwd -U "$folder/line"
    grep -v "^$name:" "$accounts" > "$folder/others" || true
    # By its name: a power cut leaves the old file or the new one.
    cp -p "$accounts" "$accounts.new"
    cat "$folder/others" "$folder/line" > "$accounts.new"
    mv "$accounts.new" "$accounts"
    echo "$name: $file"
done

if ! grep -q '^#table ' "$rights"; then
    echo "$rights: has no line #table, rights stay as they are; expected mosquitto-shoe.acl" >&2
    exit
fi
sed -n 's/^#table //p' "$rights" > "$folder/block"
for name in $(sed -n 's/^\([a-z0-9-][a-z0-9-]*\):.*/\1/p' "$accounts"); do
    if ! grep -Eq "^user +$name *\$" "$rights"; then
        { echo; echo "user $name"; sed "s/TABLE/$name/g" "$folder/block"; } > "$folder/rights"
        cat "$folder/rights" >> "$rights"
        echo "$name: rights of a table, in $rights"
    fi
done
echo "next: systemctl reload mosquitto"

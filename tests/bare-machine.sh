#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The proof of `./dev setup`: a fresh Debian 12 in a directory, this tree cloned into it, set up and built there. By hand, as root; it
# takes minutes and gigabytes. The new system uses this machine's package sources.
#
#   sudo tests/bare-machine.sh [FOLDER] [COMMAND…]     default: /var/tmp/cicada-bare, ./dev build
set -euo pipefail
((EUID == 0)) || { echo "needs root" >&2; exit 1; }
readonly root=${1:-/var/tmp/cicada-bare}
shift || true
(($# > 0)) || set -- ./dev build
source_tree=$(cd "$(dirname "$0")/.." && pwd)

command -v mmdebstrap >/dev/null || apt-get install -y -q --no-install-recommends mmdebstrap
if [[ ! -e $root/etc/debian_version ]]; then
  mirror=$(sed -n 's/^URIs: \(.*debian.org\/debian\).*/\1/p; s/^deb \(\[[^]]*\] \)\?\([^ ]*\/debian\) .*/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -n 1 || true)
  mmdebstrap --variant=minbase --include=ca-certificates bookworm "$root" ${mirror:+"$mirror"}
fi
# How this machine reaches its package sources, certificates included.
mkdir -p "$root/etc/apt/apt.conf.d" "$root/etc/ssl/certs"
for file in /etc/apt/apt.conf /etc/apt/apt.conf.d/*proxy* /etc/resolv.conf /etc/ssl/certs/ca-certificates.crt; do
  [[ ! -e $file ]] || cp -L "$file" "$root$file"
done

mounted=()
unmount() { for point in "${mounted[@]}"; do umount -l "$point"; done; }
trap unmount EXIT
# A root that is a mount: tests make mount namespaces, which a directory as root refuses.
mount --bind "$root" "$root" && mount --make-private "$root"
mounted=("$root")
for point in proc sys dev; do
  mount --rbind "/$point" "$root/$point" && mount --make-rslave "$root/$point"
  mounted=("$root/$point" "${mounted[@]}")
done

rm -rf "$root/root/cicada"
git clone -q --no-hardlinks "$source_tree" "$root/root/cicada"
environment=(HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8)
if [[ -n ${CCACHE_DIR:-} ]]; then  # to borrow this machine's compiler cache: the second time is quick
  mkdir -p "$root/ccache" && mount --bind "$CCACHE_DIR" "$root/ccache" && mounted=("$root/ccache" "${mounted[@]}")
  environment+=(CCACHE_DIR=/ccache)
fi
for variable in http_proxy https_proxy no_proxy; do [[ -z ${!variable:-} ]] || environment+=("$variable=${!variable}"); done
# Not chroot: the kernel allows no user namespaces in one.
unshare --mount --propagation private bash -c 'cd "$0" && pivot_root . mnt && umount -l /mnt && cd /root/cicada && exec "$@"' \
  "$root" env -i "${environment[@]}" "$@"

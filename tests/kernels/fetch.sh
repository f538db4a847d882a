#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fetch.sh SUITE FOLDER: Debian's kernel of that suite as FOLDER/vmlinuz. Its packages are found as this machine finds its own: same
# source, same keys, another suite. Nothing is installed. Does nothing if the file is there.
set -euo pipefail
suite=${1:?usage: fetch.sh SUITE FOLDER} directory=${2:?}
[[ ! -s $directory/vmlinuz ]] || exit 0
mkdir -p "$directory/state/lists/partial" "$directory/cache/archives/partial"
directory=$(cd "$directory" && pwd)
uri=$({ cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null || true; } |
  sed -n 's/^URIs: \(.*\/debian\)\/\?$/\1/p; s/^deb \(\[[^]]*\] \)\?\([^ ]*\/debian\)\/\? .*/\2/p' | head -n 1)
[[ -n $uri ]] || { echo "SKIP: this machine's apt configuration names no Debian archive"; exit 77; }
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $suite main" >"$directory/sources.list"
apt=(-o "Dir::State=$directory/state" -o "Dir::Cache=$directory/cache" -o "Dir::Etc::sourcelist=$directory/sources.list" -o Dir::Etc::sourceparts=-
  -o "Dir::State::status=/dev/null" -o APT::Sandbox::User=root -o Acquire::Retries=3 -o APT::Get::List-Cleanup=false)
apt-get "${apt[@]}" -q update >"$directory/apt.log" 2>&1 || { tail -n 3 "$directory/apt.log"; echo "SKIP: no package lists of $suite to be had"; exit 77; }
depends_on() { apt-cache "${apt[@]}" depends "$1" | sed -n "s/^ *Depends: \($2-[^ ]*\)$/\1/p" | head -n 1; }
# The meta package names the image; from 7.x on that names a package with the file.
package=linux-image-cloud-amd64
for _ in 1 2 3; do
  next=$(depends_on "$package" linux-image)
  [[ -n $next ]] || next=$(depends_on "$package" linux-binary)
  [[ -n $next ]] || break
  package=$next
done
(cd "$directory" && apt-get "${apt[@]}" -q download "$package" >>apt.log 2>&1) || { tail -n 3 "$directory/apt.log"; exit 1; }
dpkg-deb --fsys-tarfile "$directory"/"$package"_*.deb | tar -x -O --wildcards '*/vmlinuz*' >"$directory/vmlinuz.part"
mv "$directory/vmlinuz.part" "$directory/vmlinuz"
rm -rf "$directory"/*.deb "$directory/state" "$directory/cache"
echo "$package" >"$directory/package"

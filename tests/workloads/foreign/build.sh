#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build.sh NAME FOLDER: compiles a workload of another toolchain into FOLDER unless it is there already, and prints the command that runs it.
# Exit code 77 with a reason: this machine has not what it takes.
set -euo pipefail
name=${1:?usage: build.sh NAME FOLDER} folder=${2:?usage: build.sh NAME FOLDER}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$folder"
skip() {
  echo "$*"
  exit 77
}
need() { command -v "$1" >/dev/null || skip "no $1"; }
# stale OUTPUT SOURCE…
stale() {
  local output=$1
  shift
  [[ -e $output ]] || return 0
  for source in "$@"; do [[ $source -nt $output ]] && return 0; done
  return 1
}
c_options=(-O2 -fomit-frame-pointer -D_GNU_SOURCE -I "$here/..")
case $name in
  go | go_stripped)
    need go
    export HOME=$folder GOCACHE=$folder/go-cache GOFLAGS=-mod=mod GO111MODULE=off
    options=()
    [[ $name == go ]] || options=(-ldflags "-s -w")
    ! stale "$folder/$name" "$here/go.go" || go build "${options[@]}" -o "$folder/$name" "$here/go.go" >&2
    echo "$folder/$name"
    ;;
  musl | musl_static)
    need musl-gcc
    options=()
    [[ $name == musl ]] || options=(-static)
    ! stale "$folder/$name" "$here/../chain.c" || musl-gcc "${c_options[@]}" "${options[@]}" -o "$folder/$name" "$here/../chain.c" >&2
    echo "$folder/$name"
    ;;
  musl_work | musl_work_static)
    need musl-gcc
    options=()
    [[ $name == musl_work ]] || options=(-static)
    ! stale "$folder/$name" "$here/libc_work.c" || musl-gcc "${c_options[@]}" "${options[@]}" -o "$folder/$name" "$here/libc_work.c" >&2
    echo "$folder/$name"
    ;;
  bits32)
    echo 'int main(void) { return 0; }' >"$folder/probe32.c"
    gcc -m32 -o "$folder/probe32" "$folder/probe32.c" 2>/dev/null || skip "no gcc -m32 (gcc-multilib)"
    "$folder/probe32" || skip "this kernel runs no 32-bit programs"
    ! stale "$folder/$name" "$here/bits32.c" || gcc -m32 -no-pie -fno-pie -O0 -D_GNU_SOURCE -I "$here/.." -o "$folder/$name" "$here/bits32.c" >&2
    echo "$folder/$name"
    ;;
  openssl)
    ! stale "$folder/$name" "$here/openssl.c" || gcc "${c_options[@]}" -o "$folder/$name" "$here/openssl.c" >&2
    "$folder/$name" 0 >/dev/null || skip "no libcrypto.so.3"
    echo "$folder/$name"
    ;;
  node)
    need node
    echo "node --perf-basic-prof-only-functions --interpreted-frames-native-stack $here/jit.js"
    ;;
  java)
    home=$(ls -d /usr/lib/jvm/java-17-openjdk-* 2>/dev/null | grep -v common | head -n 1)
    [[ -x $home/bin/javac ]] || skip "no javac 17"
    if stale "$folder/Jit.class" "$here/Jit.java" "$here/jit.c"; then
      "$home/bin/javac" -d "$folder" "$here/Jit.java" >&2
      gcc "${c_options[@]}" -fPIC -shared -I "$home/include" -I "$home/include/linux" -o "$folder/libjit.so" "$here/jit.c" >&2
    fi
    echo "$home/bin/java -XX:+PreserveFramePointer -Xshare:auto -cp $folder Jit $folder/libjit.so"
    ;;
  *) skip "no such workload: $name" ;;
esac

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build.sh NAME FOLDER: compiles a workload of another toolchain into FOLDER unless it is there already, and prints the command that runs it, quoted for a shell.
# Exit code 77 with a reason: this machine has not what it takes.
set -euo pipefail
name=${1:?usage: build.sh NAME FOLDER} directory=${2:?usage: build.sh NAME FOLDER}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$directory"
skip() {
  echo "$*"
  exit 77
}
need() { command -v "$1" >/dev/null || skip "no $1"; }
say() { echo "${@@Q}"; }
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
  go | go_stripped | go_pie | go_waits | go_work)
    need go
    export HOME=$directory GOCACHE=$directory/go-cache GOFLAGS=-mod=mod GO111MODULE=off
    options=()
    [[ $name != go_stripped ]] || options=(-ldflags "-s -w")
    [[ $name != go_pie ]] || options=(-buildmode=pie -ldflags "-s -w -linkmode=external")  # as Debian's: gcc links it
    source=${name%_stripped} source=$here/${source%_pie}.go
    ! stale "$directory/$name" "$source" || go build "${options[@]}" -o "$directory/$name" "$source" >&2
    say "$directory/$name"
    ;;
  musl | musl_static)
    need musl-gcc
    options=()
    [[ $name == musl ]] || options=(-static)
    ! stale "$directory/$name" "$here/../chain.c" || musl-gcc "${c_options[@]}" "${options[@]}" -o "$directory/$name" "$here/../chain.c" >&2
    say "$directory/$name"
    ;;
  musl_work | musl_work_static)
    need musl-gcc
    options=()
    [[ $name == musl_work ]] || options=(-static)
    ! stale "$directory/$name" "$here/libc_work.c" || musl-gcc "${c_options[@]}" "${options[@]}" -o "$directory/$name" "$here/libc_work.c" >&2
    say "$directory/$name"
    ;;
  bits32)
    echo 'int main(void) { return 0; }' >"$directory/probe32.c"
    gcc -m32 -o "$directory/probe32" "$directory/probe32.c" 2>/dev/null || skip "no gcc -m32 (gcc-multilib)"
    "$directory/probe32" || skip "this kernel runs no 32-bit programs"
    ! stale "$directory/$name" "$here/bits32.c" || gcc -m32 -no-pie -fno-pie -O0 -D_GNU_SOURCE -I "$here/.." -o "$directory/$name" "$here/bits32.c" >&2
    say "$directory/$name"
    ;;
  openssl)
    ! stale "$directory/$name" "$here/openssl.c" || gcc "${c_options[@]}" -o "$directory/$name" "$here/openssl.c" >&2
    "$directory/$name" 0 >/dev/null || skip "no libcrypto.so.3"
    say "$directory/$name"
    ;;
  node)
    need node
    say node --perf-basic-prof-only-functions --interpreted-frames-native-stack "$here/jit.js"
    ;;
  java)
    home=$(ls -d /usr/lib/jvm/java-17-openjdk-* 2>/dev/null | grep -v common | head -n 1)
    [[ -x $home/bin/javac ]] || skip "no javac 17"
    if stale "$directory/Jit.class" "$here/Jit.java" "$here/jit.c"; then
      "$home/bin/javac" -d "$directory" "$here/Jit.java" >&2
      gcc "${c_options[@]}" -fPIC -shared -I "$home/include" -I "$home/include/linux" -o "$directory/libjit.so" "$here/jit.c" >&2
    fi
    say "$home/bin/java" -XX:+PreserveFramePointer -Xshare:auto -cp "$directory" Jit "$directory/libjit.so"
    ;;
  *) skip "no such workload: $name" ;;
esac

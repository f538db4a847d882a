#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each a line that names the object, the documented exit code, and nothing written.
source "$(dirname "$0")/lib.sh"
none=4194303
expect_error 125 "-p $none: no such process" "$CICADA" record -p $none -o x.folded
expect_error 125 "-p nobody-has-this-name: no running process" "$CICADA" record -p nobody-has-this-name -o x.folded
expect_error 125 "-t $none: no such thread" "$CICADA" record -t $none -o x.folded
expect_error 127 "no-such-command: command not found" "$CICADA" record -o x.folded -- no-such-command
expect_error 125 "x.unknown" "$CICADA" record -a -d 1 -o x.unknown
expect_error 125 "/no/such/directory" "$CICADA" record -a -d 1 -o /no/such/directory/x.svg
expect_error 125 "-F 0" "$CICADA" record -a -F 0 -o x.folded
expect_error 125 "-F many: not a whole number" "$CICADA" record -a -F many -o x.folded
expect_error 125 "-F many: not a whole number" "$CICADA" bench -F many -o x -- true
expect_error 125 "-c 0" "$CICADA" record -a -c 0 -o x.folded
expect_error 125 "-d -1" "$CICADA" record -a -d -1 -o x.folded
expect_error 125 "--cpu 8000" "$CICADA" record -a --cpu 8000 -o x.folded
expect_error 125 "--unwind magic" "$CICADA" record -a --unwind magic -o x.folded
expect_error 125 "what shall be recorded" "$CICADA" record -o x.folded
expect_error 125 "exclude each other" "$CICADA" record -a -p 1 -o x.folded
expect_error 125 "which recording?" "$CICADA" report
expect_error 125 "which recording?" "$CICADA" convert
expect_error 125 "where to?" "$CICADA" convert --attach $none
expect_error 125 "process $none: no recording that can be looked at" "$CICADA" report --attach $none
expect_error 125 "/etc/passwd: nobody listens there" "$CICADA" report --attach /etc/passwd
expect_error 125 "--no-such-option" "$CICADA" record --no-such-option
[[ -z $(find . -name 'x*') ]] || fail "something was written: $(ls)"

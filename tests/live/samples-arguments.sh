#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Arguments of functions by their names in the source: values, groups and filters are those that the program says it passed, optimised or not, wherever the calling convention or
# the compiler puts them. What cannot be read is left out, and that is said.
source "$(dirname "$0")/lib.sh"
said() { sed -n "s/^$1 //p" out; }
value() { awk '{ sum += $NF } END { printf "%.0f\n", sum }' "$1"; }
of_event() { "$CICADA" convert --force --event "$1" "$2" "$3" "${@:4}" 2>/dev/null || fail "convert --event $1"; }
outcome() { awk -v event="($1," -v text="$2" '/ samples? in / { on = index($0, event) } on && index($0, text) { gsub(",", "", $1); n += $1 } END { print n + 0 }' err; }
is() { [[ $2 == "$3" ]] || fail "$program: $1: $2, not $3"; }

for program in arguments arguments_O0; do
  "$CICADA" record --stats -e "u:$program:pass/value=bytes,unit=bytes,by=priority/,u:pass/small<-10/,u:far_back/value=seventh/,u:timed/return,by=level,before==1/" \
    -e "u:shop::Till::pay/value=amount,this!=0/,u:shop::put_*/value=amount/,u:specialized/value=kept/,u:far_back/return,seventh==3,s32(arg0)==1/" \
    -o x.cicada -o x.txt --force -- "$WORKLOADS/$program" 3 2000 100 >out 2>err || fail "$program: record ended with $?: $(cat err)"
  python3 -B "$LIVE/accounting.py" err x.txt || fail "$program: the account does not add up"
  awk '/ lost: / { gsub(",", "", $1); lost += $1 } END { exit lost != 0 }' err || fail "$program: hits are lost, though threads pause: $(cat err)"
  of_event "u:$program:pass" x.cicada bytes.folded
  is bytes "$(value bytes.folded)" "$(said bytes)"
  of_event "u:$program:pass" x.cicada groups.folded --by group
  for ((priority = -2; priority < 2; priority++)); do
    is "bytes of priority $priority" "$(awk -F';' -v group=$priority '$1 == group' groups.folded | value /dev/stdin)" "$(said priority$priority)"
  done
  is "small<-10" "$(outcome u:pass ' stored')" "$(said negative)"
  of_event u:far_back x.cicada seventh.folded
  is seventh "$(value seventh.folded)" "$(said seventh)"
  of_event u:shop::Till::pay x.cicada paid.folded
  is paid "$(value paid.folded)" "$(said paid)"
  of_event 'u:shop::put_*' x.cicada put.folded
  is put "$(value put.folded)" "$(said put)"
  grep -qF "u:shop::put_*: left out: 1 functions whose amount is a floating-point number, as shop::put_none(double)" err || fail "$program: it does not say what is left out: $(cat err)"
  of_event u:specialized x.cicada kept.folded
  is kept "$(value kept.folded)" "$(said kept)"
  is "timed: stored" "$(outcome u:timed/return ' stored')" "$(said calls)"
  of_event u:timed/return x.cicada levels.folded --by group
  [[ $(cut -d';' -f1 levels.folded | sort -u | tr '\n' ' ') == "-1 0 1 " ]] || fail "$program: levels $(cut -d';' -f1 levels.folded | sort -u | tr '\n' ' ')"
  is "far_back(3): stored" "$(outcome u:far_back/return ' stored')" "$(($(said calls) / 10))"
  is "far_back(3): not wanted" "$(outcome u:far_back/return ' filtered out')" "$(($(said calls) - $(said calls) / 10))"
done

program=arguments
counted() {
  "$CICADA" record --force -e "$1" -o z.folded -- "$WORKLOADS/arguments" 1 100 >out 2>err || fail "record -e $1 ended with $?: $(cat err)"
  is "-e $1" "$(value z.folded)" "$2"
}
counted 'u:pass/priority==-1/' 25
counted 'u:pass/u8(priority)==0xff/' 25
counted 'u:pass/bytes>=90,arg1<95/' 5
counted 'u:/^shop::put_(first|second)//amount==4/' 36
counted 'u:shop::put_first(long, int)/amount==4,unused_one==1000/' 20

refused() {
  "$CICADA" record -e "$1" -o n.cicada -- "$WORKLOADS/${3:-arguments}" >/dev/null 2>err && fail "-e $1 was accepted"
  [[ $(wc -l <err) == 1 ]] && grep -qF -- "$2" err || fail "-e $1: not \"$2\": $(cat err)"
  [[ ! -e n.cicada ]] || fail "-e $1 left a recording"
}
refused 'u:pass/value=bites/' "u:pass: pass is a function without a parameter bites; did you mean bytes? It has priority, bytes, small"
refused 'u:pass/value=bytes/' "u:pass: pass is a function without debug information about its parameters (arg0 to arg5 need none)" arguments_plain
refused 'u:timed/weight>1/' "u:timed: timed is a function whose weight is a floating-point number"
refused 'u:timed/value=box/' "u:timed: timed is a function whose box is no number"
refused 'u:specialized/value=always/' "whose always is in no register: the compiler has optimized it away"
refused 'ur:pass/value=bytes/' "column 15: no bytes where a function returns; there is retval"
refused 'u:pass+4/value=bytes/' "column 16: bytes is known where a function begins, not behind that"
refused 'u:arguments.cc:27/value=bytes/' "bytes is known where a function begins, not behind that"
refused 'u:pass/value=arg6/' "column 14: no arg6 where a function begins; there are arg0 to arg5"

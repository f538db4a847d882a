// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/event_spec.h"

#include <gtest/gtest.h>

#include <limits>

namespace cicada::bpf_source {
namespace {

std::string error_of(std::string_view text) {
  const auto specs = parse_event_specs(text);
  EXPECT_FALSE(specs) << text;
  if (specs) return {};
  EXPECT_EQ(specs.error().kind(), ErrorKind::kInvalid);
  return specs.error().message();
}

TEST(EventSpecs, AreNamesWithTheirOwnRates) {
  const auto specs = parse_event_specs("cpu-clock,faults/period=1/,cycles/freq=199/");
  ASSERT_TRUE(specs) << specs.error().message();
  ASSERT_EQ(specs->size(), 3u);
  EXPECT_EQ((*specs)[0].type.name, "cpu-clock");
  EXPECT_FALSE((*specs)[0].period || (*specs)[0].frequency_hz);
  EXPECT_EQ((*specs)[1].type.name, "page-faults");
  EXPECT_EQ((*specs)[1].period, 1u);
  EXPECT_EQ((*specs)[2].type.name, "cycles");
  EXPECT_EQ((*specs)[2].frequency_hz, 199u);
}

TEST(EventSpecs, AWordOfACounterMayBeAFunctionToo) {
  const auto specs = parse_event_specs("cycles/period=5/,counter:faults/period=1/,cpu-clock,u:cycles");
  ASSERT_TRUE(specs) << specs.error().message();
  EXPECT_EQ((*specs)[0].maybe_function, "cycles/period=5/");
  EXPECT_EQ((*specs)[1].maybe_function, "") << "its kind is said";
  EXPECT_EQ((*specs)[1].type.name, "page-faults");
  EXPECT_EQ((*specs)[1].period, 1u);
  EXPECT_EQ((*specs)[2].maybe_function, "") << "no function is called so";
  EXPECT_EQ((*specs)[3].type.name, "u:cycles");
}

TEST(EventSpecs, FilesOfFunctionsAreToldFromCategories) {
  const auto specs = parse_event_specs("libssl.so.3:SSL_write,/opt/x.so:fn/period=2/,\"/a:b\":fn,libc:malloc");
  ASSERT_TRUE(specs) << specs.error().message();
  ASSERT_EQ(specs->size(), 4u);
  EXPECT_EQ((*specs)[0].place, (FunctionPlace{"libssl.so.3", "SSL_write", 0, false}));
  EXPECT_EQ((*specs)[1].place, (FunctionPlace{"/opt/x.so", "fn", 0, false}));
  EXPECT_EQ((*specs)[1].period, 2u);
  EXPECT_EQ((*specs)[2].place, (FunctionPlace{"/a:b", "fn", 0, false}));
  EXPECT_EQ((*specs)[3].type.kind, EventKind::kTracepoint);
  EXPECT_EQ((*specs)[3].maybe_function, "libc:malloc");
}

TEST(EventSpecs, LinesAndRegularExpressionsAreFunctionsWithoutAKind) {
  const auto specs = parse_event_specs("hits:hits.cc:41,/^sql_.*query//value=arg0/,libc:/^mem/,parser.c:7");
  ASSERT_TRUE(specs) << specs.error().message();
  ASSERT_EQ(specs->size(), 4u);
  EXPECT_EQ((*specs)[0].place, (FunctionPlace{.image = "hits", .function = "hits.cc:41", .is_line = true}));
  EXPECT_EQ((*specs)[1].place.function, "/^sql_.*query/");
  EXPECT_EQ((*specs)[1].value, "arg0");
  EXPECT_EQ((*specs)[2].place, (FunctionPlace{.image = "libc", .function = "/^mem/"}));
  EXPECT_TRUE((*specs)[3].place.is_line);
  EXPECT_EQ(error_of("u:a.c:1/return/"), "u:a.c:1/return/: column 1: return times calls of functions, not of lines");
}

TEST(EventSpecs, EndTheRecording) {
  const auto specs = parse_event_specs("u:f/stop=100,period=2/,cpu-clock/freq=99,stop=5/,u:g");
  ASSERT_TRUE(specs) << specs.error().message();
  EXPECT_EQ((*specs)[0].stop_after, 100u);
  EXPECT_EQ((*specs)[0].period, 2u);
  EXPECT_EQ((*specs)[1].stop_after, 5u);
  EXPECT_EQ((*specs)[1].frequency_hz, 99u);
  EXPECT_EQ((*specs)[2].stop_after, 0u);
  EXPECT_EQ(error_of("u:f/stop=0/"), "u:f/stop=0/: column 10: stop: must be more than 0");
  EXPECT_EQ(error_of("u:f/stop=1,stop=2/"), "u:f/stop=1,stop=2/: column 12: stop= a second time");
}

TEST(EventSpecs, NumbersWithoutASignAreNotBelowZero) {
  EXPECT_EQ(error_of("u:f/u32(arg0)==-1/"), "u:f/u32(arg0)==-1/: column 5: u32(arg0) is taken without a sign here; s32(arg0) or s64(arg0) has one");
  EXPECT_EQ(error_of("t:a:b/u32(x)<0/"), "t:a:b/u32(x)<0/: column 7: u32(x) is taken without a sign here; s32(x) or s64(x) has one");
}

TEST(EventSpecs, KeepNamesOfArgumentsOnce) {
  const auto specs = parse_event_specs("u:app:handle/value=bytes,by=s8(priority),bytes<0,arg1==7/,k:vfs_write/count>1/,u:f/return,by=this/");
  ASSERT_TRUE(specs) << specs.error().message();
  const EventSpec& first = specs->front();
  EXPECT_EQ(first.arguments, (std::vector<std::string>{"bytes", "priority"}));
  EXPECT_EQ(first.fields.value.kind, FIELD_OF_ARGUMENT);
  EXPECT_EQ(first.fields.value.offset, 0);
  EXPECT_EQ(first.fields.value.bytes, WHOLE_ARGUMENT);
  EXPECT_EQ(first.fields.group.offset, 1);
  EXPECT_EQ(first.fields.group.bytes, 1);
  EXPECT_EQ(first.fields.group.is_signed, 1);
  ASSERT_EQ(first.fields.filters, 2U);
  EXPECT_EQ(first.fields.filter[0].field.kind, FIELD_OF_ARGUMENT) << "its type may have a sign";
  EXPECT_EQ(first.fields.filter[1].field.kind, FIELD_OF_RECORD);
  EXPECT_EQ((*specs)[1].arguments, std::vector<std::string>{"count"});
  EXPECT_EQ((*specs)[2].arguments, std::vector<std::string>{"this"});
  EXPECT_EQ(error_of("ur:f/value=bytes/"), "ur:f/value=bytes/: column 12: no bytes where a function returns; there is retval");
  EXPECT_EQ(error_of("u:f+4/by=bytes/"), "u:f+4/by=bytes/: column 10: bytes is known where a function begins, not behind that");
  EXPECT_EQ(error_of("u:a.c:4/by=bytes/"), "u:a.c:4/by=bytes/: column 12: bytes is known where a function begins, not behind that");
  EXPECT_EQ(error_of("u:f/by=arg6/"), "u:f/by=arg6/: column 8: no arg6 where a function begins; there are arg0 to arg5");
  EXPECT_EQ(error_of("u:f/u32(bytes)==-1/"), "u:f/u32(bytes)==-1/: column 5: u32(bytes) is taken without a sign here; s32(bytes) or s64(bytes) has one");
}

TEST(EventSpecs, WhatSamplesAreTakenWithIsNotProbed) {
  EXPECT_EQ(error_of("k:__bpf_ringbuf_reserve"), "k:__bpf_ringbuf_reserve: column 3: __bpf_ringbuf_reserve is what a sample is taken with: the kernel would wait for itself");
  EXPECT_NE(error_of("kr:_raw_spin_lock_irqsave"), "");
  EXPECT_TRUE(parse_event_specs("k:vfs_read,k:spin_dump,kr:bpf_check"));
}

// Their fields are looked up in the kernel's types.
TEST(EventSpecs, PlacesInTheKernelAreNamedByItsTypes) {
  const auto specs = parse_event_specs("f:vfs_read/value=count,unit=bytes,by=s32(pos)/,fexit:vfs_read/retval<0/,rawtp:sched_switch/period=10,stop=5/");
  ASSERT_TRUE(specs) << specs.error().message();
  ASSERT_EQ(specs->size(), 3U);
  for (const EventSpec& spec : *specs) EXPECT_EQ(spec.type.kind, EventKind::kKernelPlace);
  EXPECT_EQ((*specs)[0].type.name, "f:vfs_read");
  EXPECT_EQ((*specs)[0].value, "count");
  EXPECT_EQ((*specs)[0].fields.value.bytes, 0);
  EXPECT_EQ((*specs)[1].type.name, "fr:vfs_read");
  EXPECT_TRUE((*specs)[1].place.at_return);
  EXPECT_EQ((*specs)[1].filters.size(), 1U);
  EXPECT_EQ((*specs)[2].type.name, "rawtp:sched_switch");
  EXPECT_EQ((*specs)[2].period, 10U);
  EXPECT_EQ(error_of("rawtp:sched:sched_switch"), "rawtp:sched:sched_switch: column 7: expected the name of a tracepoint of the kernel, as in rawtp:sched_switch");
  EXPECT_EQ(error_of("f:vfs_read+0x10"), "f:vfs_read+0x10: column 3: expected the name of a function of the kernel, as in f:vfs_read");
  EXPECT_EQ(error_of("fr:vfs_*"), "fr:vfs_*: column 4: of the kernel one at a time");
  EXPECT_EQ(error_of("f:bpf_ringbuf_reserve"), "f:bpf_ringbuf_reserve: column 3: bpf_ringbuf_reserve is what a sample is taken with: the kernel would wait for itself");
  EXPECT_EQ(error_of("f:vfs_read/return/"), "f:vfs_read/return/: column 12: no term \"return\"; there are period=N, stop=N and value=FIELD, unit=UNIT, by=FIELD and FIELD==N, !=, <, <=, >, >=");
}

TEST(EventSpecs, TracepointsHaveACategory) {
  const auto specs = parse_event_specs("sched:sched_switch,t:syscalls:sys_enter_read/period=10/,tracepoint:xhci-hcd:xhci_dbg,cpu-clock");
  ASSERT_TRUE(specs) << specs.error().message();
  ASSERT_EQ(specs->size(), 4u);
  EXPECT_EQ((*specs)[0].type.name, "sched:sched_switch");
  EXPECT_EQ((*specs)[0].type.kind, EventKind::kTracepoint);
  EXPECT_FALSE((*specs)[0].period);
  EXPECT_EQ((*specs)[1].type.name, "syscalls:sys_enter_read");
  EXPECT_EQ((*specs)[1].period, 10u);
  EXPECT_EQ((*specs)[2].type.name, "xhci-hcd:xhci_dbg");
  EXPECT_EQ((*specs)[3].type.kind, EventKind::kTimer);
  EXPECT_EQ(error_of("t:sched_switch"), "t:sched_switch: column 3: expected CATEGORY:NAME of a tracepoint, as in sched:sched_switch");
  EXPECT_EQ(error_of("t:"), "t:: column 3: expected CATEGORY:NAME of a tracepoint, as in sched:sched_switch");
  EXPECT_EQ(error_of(":x"), ":x: column 1: expected CATEGORY:NAME of a tracepoint, as in sched:sched_switch");
  EXPECT_EQ(error_of("sched:"), "sched:: column 1: expected CATEGORY:NAME of a tracepoint, as in sched:sched_switch");
  EXPECT_EQ(error_of("cs,x:sched:y"), "cs,x:sched:y: column 4: no kind of event \"x\"; there are uprobe (u), uretprobe (ur), kprobe (k), kretprobe (kr), usdt, fentry (f), fexit (fr), rawtp and tracepoint (t), as in t:sched:sched_switch");
  EXPECT_EQ(error_of("t:a:b:c"), "t:a:b:c: column 6: \":\" is in no tracepoint's name");
  EXPECT_EQ(error_of("t:..:id"), "t:..:id: column 3: \".\" is in no tracepoint's name");
  EXPECT_EQ(error_of("sched:sched_*"), "sched:sched_*: column 13: \"*\" is in no tracepoint's name");
  EXPECT_EQ(error_of("sched:x/freq=9/"), "sched:x/freq=9/: column 9: freq= is for clocks and counters; here period=N takes one of N hits");
  EXPECT_EQ(error_of("sched:x/period=4294967296/"), "sched:x/period=4294967296/: column 16: one of 4294967296 hits; 4294967295 at most");
  EXPECT_EQ(error_of("sched:x,t:sched:x/period=2/"), "sched:x,t:sched:x/period=2/: column 9: sched:x a second time");
}

TEST(EventSpecs, TracepointsHaveNumbers) {
  const auto specs = parse_event_specs("t:syscalls:sys_enter_write/fd==1,count>=0x1000,period=3,value=count,by=fd,unit=bytes,x!=-5,y<7,z<=8,w>9/,cpu-clock");
  ASSERT_TRUE(specs) << specs.error().message();
  ASSERT_EQ(specs->size(), 2u);
  const EventSpec& spec = specs->front();
  EXPECT_EQ(spec.value, "count");
  EXPECT_EQ(spec.group, "fd");
  EXPECT_EQ(spec.unit, profile::Unit::kBytes);
  EXPECT_EQ(spec.period, 3u);
  const std::vector<FieldComparison> expected{{"fd", IS_EQUAL, 1}, {"count", IS_GREATER_OR_EQUAL, 4096}, {"x", IS_NOT_EQUAL, -5}, {"y", IS_LESS, 7}, {"z", IS_LESS_OR_EQUAL, 8}, {"w", IS_GREATER, 9}};
  EXPECT_EQ(spec.filters, expected);
  EXPECT_EQ(parse_event_specs("a:b/x==-9223372036854775808/")->front().filters[0].number, std::numeric_limits<int64_t>::min());
  EXPECT_EQ(parse_event_specs("a:b/x==-0x1/")->front().filters[0].number, -1);
  EXPECT_EQ(error_of("a:b/x=5/"), "a:b/x=5/: column 5: no term \"x\"; there are period=N, stop=N and value=FIELD, unit=UNIT, by=FIELD and FIELD==N, !=, <, <=, >, >=");
  EXPECT_EQ(error_of("a:b/x===5/"), "a:b/x===5/: column 6: no comparison \"===\"; there are ==, !=, <, <=, > and >=");
  EXPECT_EQ(error_of("a:b/x=>5/"), "a:b/x=>5/: column 6: no comparison \"=>\"; there are ==, !=, <, <=, > and >=");
  EXPECT_EQ(error_of("a:b/x==y/"), "a:b/x==y/: column 8: not a number: \"y\"");
  EXPECT_EQ(error_of("a:b/x==/"), "a:b/x==/: column 8: not a number: \"\"");
  EXPECT_EQ(error_of("a:b/x==--1/"), "a:b/x==--1/: column 8: not a number: \"--1\"");
  EXPECT_EQ(error_of("a:b/x==5k/"), "a:b/x==5k/: column 8: not a number: \"5k\"");
  EXPECT_EQ(error_of("a:b/x==9223372036854775808/"), "a:b/x==9223372036854775808/: column 8: 9223372036854775808: more than 63 bits");
  EXPECT_EQ(error_of("a:b/x==99999999999999999999/"), "a:b/x==99999999999999999999/: column 8: 99999999999999999999: more than 63 bits");
  EXPECT_EQ(error_of("a:b/==1/"), "a:b/==1/: column 5: no term \"\"; there are period=N, stop=N and value=FIELD, unit=UNIT, by=FIELD and FIELD==N, !=, <, <=, >, >=");
  EXPECT_EQ(error_of("a:b/value=/"), "a:b/value=/: column 11: no name of a field: \"\"");
  EXPECT_EQ(error_of("a:b/value=x,value=y/"), "a:b/value=x,value=y/: column 13: a second value=: an event has one");
  EXPECT_EQ(error_of("a:b/value=x,unit=miles/"), "a:b/value=x,unit=miles/: column 18: no unit \"miles\"; there are events, bytes and ns");
  EXPECT_EQ(error_of("a:b/unit=bytes/"), "a:b/unit=bytes/: column 1: unit= goes with value=FIELD");
  EXPECT_EQ(error_of("a:b/by=abs(x)/"), "a:b/by=abs(x)/: column 8: no name of a field: \"abs(x)\"");
  EXPECT_EQ(error_of("a:b/by=x,by=y/"), "a:b/by=x,by=y/: column 10: a second by=: an event has one");
  EXPECT_EQ(error_of("cs/value=x/"), "cs/value=x/: column 4: value= is for probes and tracepoints");
  EXPECT_EQ(error_of("cs/x==1/"), "cs/x==1/: column 4: no term \"x\"; there are period=N, stop=N and freq=HZ");
  EXPECT_EQ(error_of("a:b/a==1,b==1,c==1,d==1,e==1,f==1,g==1,h==1,i==1/"), "a:b/a==1,b==1,c==1,d==1,e==1,f==1,g==1,h==1,i==1/: column 45: more than 8 comparisons");
}

TEST(EventSpecs, FunctionsHaveAPlaceAndRegisters) {
  const auto specs = parse_event_specs("u:libc:malloc/value=arg0,unit=bytes,arg0>4096,by=s32(arg1)/,uretprobe:std::map<int, long>::at/s64(retval)<0/,k:vfs_read,kretprobe:vfs_read/value=retval/,cpu-clock");
  ASSERT_TRUE(specs) << specs.error().message();
  ASSERT_EQ(specs->size(), 5u);
  const EventSpec& first = specs->front();
  EXPECT_EQ(first.type.name, "u:libc:malloc");
  EXPECT_EQ(first.type.kind, EventKind::kUserFunction);
  EXPECT_EQ(first.place, (FunctionPlace{"libc", "malloc", 0, false}));
  EXPECT_EQ(first.fields.value.offset, 112);
  EXPECT_EQ(first.fields.group.offset, 104);
  EXPECT_EQ(first.fields.group.bytes, 4);
  ASSERT_EQ(first.fields.filters, 1u);
  EXPECT_EQ(first.fields.filter[0].number, 4096);
  EXPECT_EQ((*specs)[1].type.name, "ur:std::map<int, long>::at");
  EXPECT_TRUE((*specs)[1].place.at_return);
  EXPECT_EQ((*specs)[2].type.kind, EventKind::kKernelFunction);
  EXPECT_EQ((*specs)[3].type.name, "kr:vfs_read");
  EXPECT_EQ((*specs)[3].fields.value.offset, 80);
  EXPECT_EQ(error_of("u:f/retval==1/"), "u:f/retval==1/: column 5: no retval where a function begins; there are arg0 to arg5");
  EXPECT_EQ(error_of("ur:f/value=arg0/"), "ur:f/value=arg0/: column 12: no arg0 where a function returns; there is retval");
  EXPECT_EQ(error_of("u:f+4/by=arg0/"), "u:f+4/by=arg0/: column 10: arg0 is known where a function begins, not behind that");
  EXPECT_EQ(error_of("u:f/arg0==-1/"), "u:f/arg0==-1/: column 5: arg0 is taken without a sign here; s32(arg0) or s64(arg0) has one");
  EXPECT_EQ(error_of("ur:f/retval<0/"), "ur:f/retval<0/: column 6: retval is taken without a sign here; s32(retval) or s64(retval) has one");
  EXPECT_TRUE(parse_event_specs("ur:f/retval>0,retval!=0/"));
  EXPECT_EQ(error_of("k:ext4:f"), "k:ext4:f: column 3: expected the name of a function of the kernel, as in k:vfs_read");
  EXPECT_EQ(error_of("k:vfs_*"), "k:vfs_*: column 3: of the kernel one at a time");
  EXPECT_EQ(error_of("cs,u:a:b:c"), "cs,u:a:b:c: column 9: expected [IMAGE:]FUNCTION; an image's name with a colon in it needs quotes (\"…\":FUNCTION)");
  EXPECT_EQ(error_of("u:f,uprobe:f"), "u:f,uprobe:f: column 5: u:f a second time");
}

TEST(EventSpecs, UsdtProbesHaveAPlaceAndArguments) {
  const auto specs = parse_event_specs("usdt:libc:libc:setjmp/value=arg1,unit=bytes,arg0<0,by=s32(arg11)/,usdt:app:*/period=10/,usdt:\"/a:b/x.so\":p?:n,cpu-clock");
  ASSERT_TRUE(specs) << specs.error().message();
  ASSERT_EQ(specs->size(), 4u);
  const EventSpec& first = specs->front();
  EXPECT_EQ(first.type.name, "usdt:libc:libc:setjmp");
  EXPECT_EQ(first.type.kind, EventKind::kUserFunction);
  EXPECT_EQ(first.place, (FunctionPlace{"libc", "libc:setjmp", 0, false, true}));
  EXPECT_EQ(first.fields.value.kind, FIELD_OF_ARGUMENT);
  EXPECT_EQ(first.fields.value.offset, 1);
  EXPECT_EQ(first.fields.value.bytes, WHOLE_ARGUMENT);
  EXPECT_EQ(first.fields.group.offset, 11);
  EXPECT_EQ(first.fields.group.bytes, 4);
  ASSERT_EQ(first.fields.filters, 1u);
  EXPECT_EQ(first.fields.filter[0].comparison, uint32_t{IS_LESS});
  EXPECT_EQ((*specs)[1].place, (FunctionPlace{"", "app:*", 0, false, true}));
  EXPECT_EQ((*specs)[1].period, 10u);
  EXPECT_EQ((*specs)[2].place, (FunctionPlace{"/a:b/x.so", "p?:n", 0, false, true}));
  EXPECT_EQ(error_of("usdt:a"), "usdt:a: column 6: expected [IMAGE:]PROVIDER:NAME of a USDT probe, as in usdt:python3:python:function__entry");
  EXPECT_EQ(error_of("usdt:a:b:c:d"), "usdt:a:b:c:d: column 11: expected [IMAGE:]PROVIDER:NAME of a USDT probe, as in usdt:python3:python:function__entry");
  EXPECT_EQ(error_of("usdt::b"), "usdt::b: column 6: expected the name of a provider");
  EXPECT_EQ(error_of("usdt:a:"), "usdt:a:: column 8: expected the name of a probe");
  EXPECT_EQ(error_of("usdt:a:b(int)"), "usdt:a:b(int): column 9: \"(\" is in no USDT probe's name");
  EXPECT_EQ(error_of("usdt:a:b/arg12==1/"), "usdt:a:b/arg12==1/: column 10: no arg12 of a USDT probe; there are arg0 to arg11");
  EXPECT_EQ(error_of("usdt:a:b/value=retval/"), "usdt:a:b/value=retval/: column 16: no retval of a USDT probe; there are arg0 to arg11");
  EXPECT_EQ(error_of("usdt:a:b/u32(arg0)==-1/"), "usdt:a:b/u32(arg0)==-1/: column 10: u32(arg0) is taken without a sign here; s32(arg0) or s64(arg0) has one");
}

TEST(EventSpecs, TimeCallsOfFunctions) {
  const auto specs = parse_event_specs("u:libc:malloc/return,arg0>4096,by=arg0,period=10/,u:libc:malloc,k:vfs_read/return/,libc:free/return/,free/return/");
  ASSERT_TRUE(specs) << specs.error().message();
  ASSERT_EQ(specs->size(), 5u);
  const EventSpec& first = specs->front();
  EXPECT_TRUE(first.times_calls && !first.place.at_return);
  EXPECT_EQ(first.type.name, "u:libc:malloc/return");
  EXPECT_EQ(first.unit, profile::Unit::kNanoseconds);
  EXPECT_EQ(first.fields.filters, 1u);
  EXPECT_EQ(first.fields.group.bytes, 8);
  EXPECT_FALSE((*specs)[1].times_calls);
  EXPECT_EQ((*specs)[2].type.name, "k:vfs_read/return");
  EXPECT_EQ((*specs)[3].maybe_function, "libc:free/return/");
  EXPECT_EQ((*specs)[4].type.name, "u:free/return");
  EXPECT_EQ(error_of("u:f/return/,u:f/period=2,return/"), "u:f/return/,u:f/period=2,return/: column 13: u:f/return a second time");
  EXPECT_EQ(error_of("u:f/return,return/"), "u:f/return,return/: column 12: return a second time");
  EXPECT_EQ(error_of("ur:f/return/"), "ur:f/return/: column 1: return times calls from where they begin: u: or k:");
  EXPECT_EQ(error_of("u:f+4/return/"), "u:f+4/return/: column 1: return times calls from where they begin: no offset");
  EXPECT_EQ(error_of("u:main.c:42/return/"), "u:main.c:42/return/: column 1: return times calls of functions, not of lines");
  EXPECT_EQ(error_of("u:f/return,value=arg0/"), "u:f/return,value=arg0/: column 1: value= does not go with return: a call counts the time that it took");
  EXPECT_EQ(error_of("u:f/return,s64(retval)<0/"), "u:f/return,s64(retval)<0/: column 12: no retval where a function begins; there are arg0 to arg5");
  EXPECT_EQ(error_of("t:sched:sched_switch/return/"), "t:sched:sched_switch/return/: column 22: no term \"return\"; there are period=N, stop=N and value=FIELD, unit=UNIT, by=FIELD and FIELD==N, !=, <, <=, >, >=");
  EXPECT_EQ(error_of("usdt:a:b/return/"), "usdt:a:b/return/: column 10: no term \"return\"; there are period=N, stop=N and value=FIELD, unit=UNIT, by=FIELD and FIELD==N, !=, <, <=, >, >=");
  EXPECT_EQ(error_of("cs/return/"), "cs/return/: column 4: no term \"return\"; there are period=N, stop=N and freq=HZ");
}

TEST(EventSpecs, GroupByTexts) {
  const auto specs = parse_event_specs("u:libc:open/by=str(arg0),arg1==0/,ur:f/by=str(retval)/,k:do_sys_openat2/by=str(arg1)/,usdt:a:b/by=str(arg1)/,t:sched:sched_switch/by=str(next_comm)/,u:f/return,by=str(arg2)/,u:g/by=arg0/");
  ASSERT_TRUE(specs) << specs.error().message();
  ASSERT_EQ(specs->size(), 7u);
  const auto has = [&](size_t i, std::string_view group, text_place place, uint16_t offset, uint8_t bytes) {
    const EventSpec& spec = (*specs)[i];
    EXPECT_EQ(spec.group, group) << i;
    EXPECT_EQ(spec.group_is_text, i < 6) << i;
    EXPECT_EQ(spec.fields.group_text, place) << i;
    EXPECT_EQ(spec.fields.group.offset, offset) << i;
    EXPECT_EQ(spec.fields.group.bytes, bytes) << i;
  };
  has(0, "arg0", TEXT_OF_USER, 112, 8);
  has(1, "retval", TEXT_OF_USER, 80, 8);
  has(2, "arg1", TEXT_OF_EITHER, 104, 8);
  has(3, "arg1", TEXT_OF_USER, 1, WHOLE_ARGUMENT);
  has(4, "next_comm", TEXT_NONE, 0, 0);  // until it is looked up
  has(5, "arg2", TEXT_OF_USER, 96, 8);
  has(6, "arg0", TEXT_NONE, 112, 8);
  EXPECT_EQ(error_of("u:f/value=str(arg0)/"), "u:f/value=str(arg0)/: column 11: str() goes with by= only: texts are neither counted nor compared");
  EXPECT_EQ(error_of("u:f/str(arg0)==1/"), "u:f/str(arg0)==1/: column 5: str() goes with by= only: texts are neither counted nor compared");
  EXPECT_EQ(error_of("a:b/by=str(x/"), "a:b/by=str(x/: column 13: expected \")\" behind the field's name, as in by=str(arg0)");
  EXPECT_EQ(error_of("u:f/by=str()/"), "u:f/by=str()/: column 12: no name of a field: \"\"");
  EXPECT_EQ(error_of("u:f/by=str(s32(arg0))/"), "u:f/by=str(s32(arg0))/: column 12: str() takes a whole field: its low bits are no address");
  EXPECT_EQ(error_of("u:f/by=str(retval)/"), "u:f/by=str(retval)/: column 12: no retval where a function begins; there are arg0 to arg5");
  EXPECT_EQ(error_of("u:f/by=str(arg0),by=arg1/"), "u:f/by=str(arg0),by=arg1/: column 18: a second by=: an event has one");
  EXPECT_EQ(error_of("cs/by=str(x)/"), "cs/by=str(x)/: column 4: by= is for probes and tracepoints");
}

TEST(EventSpecs, ErrorsPointAtTheColumn) {
  EXPECT_EQ(error_of("page-faults/perod=1/"), "page-faults/perod=1/: column 13: no term \"perod\"; there are period=N, stop=N and freq=HZ");
  EXPECT_EQ(error_of("cs,page-faults/period=1k/"), "cs,page-faults/period=1k/: column 23: not a number: \"1k\"");
  EXPECT_EQ(error_of("cs/period=0/"), "cs/period=0/: column 11: period: must be more than 0");
  EXPECT_EQ(error_of("cs/period=18446744073709551616/"), "cs/period=18446744073709551616/: column 11: not a number: \"18446744073709551616\"");
  EXPECT_EQ(error_of("cs/period=1"), "cs/period=1: column 12: expected \"/\" at the end of the terms");
  EXPECT_EQ(error_of("cs/period=1,freq=2/"), "cs/period=1,freq=2/: column 13: a second rate: an event has one period or frequency");
  EXPECT_EQ(error_of("cs/period/"), "cs/period/: column 10: expected \"=N\" after period");
  EXPECT_EQ(error_of("counter:cylces"), "counter:cylces: column 9: no clock or counter \"cylces\"; did you mean cycles? (of a function: u:counter:cylces)");
  EXPECT_EQ(error_of("u:fn/period=2"), "u:fn/period=2: column 14: expected \"/\" at the end of the terms");
  EXPECT_TRUE(parse_event_specs("u:github.com/a/b.F[<-chan int]"));
  EXPECT_EQ(error_of("u:fn/return"), "u:fn/return: column 12: expected \"/\" at the end of the terms");
  EXPECT_EQ(error_of("cs//"), "cs//: column 4: no term \"\"; there are period=N, stop=N and freq=HZ");
  EXPECT_EQ(error_of("cs/period=1/x"), "cs/period=1/x: column 13: expected a comma or the end, found \"x\"");
  EXPECT_EQ(error_of("cs,"), "cs,: column 4: expected the name of an event");
  EXPECT_EQ(error_of(""), ": column 1: expected the name of an event");
  EXPECT_EQ(error_of("cs,faults,context-switches"), "cs,faults,context-switches: column 11: context-switches a second time");
}

TEST(EventSpecs, SuggestNearNames) {
  EXPECT_EQ(error_of("page-fault"), "page-fault: column 1: no event \"page-fault\"; did you mean page-faults? (of a function: u:page-fault)");
  EXPECT_NE(error_of("clock").find("cpu-clock, task-clock"), std::string::npos);
  EXPECT_NE(error_of("cache-miss").find("cache-misses"), std::string::npos);
  EXPECT_EQ(error_of("wakeups-of-everything"), "wakeups-of-everything: column 1: no event \"wakeups-of-everything\"; `cicada record --help` lists them (of a function: u:wakeups-of-everything)");
}

TEST(EventSpecs, WithoutAKindAreFunctionsWhereNothingElseHasThatName) {
  const auto specs = parse_event_specs("malloc/value=arg0/,app::Cache::get,libc:free/arg0==0/");
  ASSERT_TRUE(specs) << specs.error().message();
  EXPECT_EQ((*specs)[0].type.name, "u:malloc");
  EXPECT_EQ((*specs)[0].fields.value.offset, 112);
  EXPECT_EQ((*specs)[1].type.name, "u:app::Cache::get");
  EXPECT_EQ((*specs)[2].type.kind, EventKind::kTracepoint);  // until it is looked up
  EXPECT_EQ((*specs)[2].maybe_function, "libc:free/arg0==0/");
  EXPECT_EQ(error_of("libc:free,u:x,libc:free"), "libc:free,u:x,libc:free: column 15: libc:free a second time");
}

TEST(EventTypes, HaveOneNameEach) {
  for (const EventType& type : event_types()) {
    EXPECT_EQ(find_event_type(type.name), &type);
    EXPECT_EQ(type.alias.empty() ? &type : find_event_type(type.alias), &type) << type.alias;
  }
}

}  // namespace
}  // namespace cicada::bpf_source

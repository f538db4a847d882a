// SPDX-License-Identifier: Apache-2.0
// A function, a USDT probe and system calls that are handed texts: texts THREADS TIMES PAUSES [DISTINCT]. Each thread TIMES times: take(), and named:text, with one of kTexts, of which the first is the
// most frequent; answer(), which returns it; and a rename of the thread, and openat() of what is not there, with another. It sleeps for a millisecond PAUSES times
// meanwhile. Before that take_odd() once each with texts that are not there, or not whole, and take_many() with DISTINCT others. Says how often each text was handed over: "take COUNT TEXT".
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "usdt_probe.h"
#include "workload.h"

namespace {

// Of eight bytes and more, in one word and in the next, with a blank, and letters of others.
const char* const kTexts[] = {"/etc/hosts", "a", "12345678", "123456789", "two words", "größer", "/usr/share/zoneinfo/Europe/Berlin", "/usr/share/zoneinfo/Europe/Bern"};
constexpr long kCount = sizeof kTexts / sizeof kTexts[0];
const char* const kNames[] = {"reader", "writer of files", "x"};
const char* const kPaths[] = {"/no/such/file", "/no/such/other"};
long times, pauses;
volatile long g_sink;

// The first more than half of the time.
long which(long i) { return i % (2 * kCount) < kCount ? 0 : i % kCount; }

}  // namespace

extern "C" NOINLINE void take(const char* text, int number) {
  __asm__ volatile("" ::: "rbx");
  g_sink = g_sink + number + (text != nullptr);
}

extern "C" NOINLINE const char* answer(long i) {
  NO_TAIL_CALL();
  return kTexts[which(i)];
}

extern "C" NOINLINE void take_odd(const char* text) {
  g_sink = g_sink + (text != nullptr);
  NO_TAIL_CALL();
}

extern "C" NOINLINE void take_many(const char* text) {
  g_sink = g_sink + (text != nullptr);
  NO_TAIL_CALL();
}

static NOINLINE void pass_named(int number, const char* text) {
  PROBE_OF("named", "text", "0", "-4@%k[number] 8@%[text]", [number] "r"(number), [text] "r"(text));
  NO_TAIL_CALL();
}

static void call_all() {
  for (long i = 0; i < times; i++) {
    const char* const text = kTexts[which(i)];
    take(text, static_cast<int>(i));
    pass_named(static_cast<int>(i), text);
    answer(i);
    prctl(PR_SET_NAME, kNames[i % 3]);
    const int fd = openat(AT_FDCWD, kPaths[i % 2], O_RDONLY);
    if (fd >= 0) close(fd);
    if (pauses != 0 && i % (times / pauses + 1) == 0) usleep(1000);
  }
}

int main(int argc, char** argv) {
  const long threads = argc > 1 ? atol(argv[1]) : 1;
  times = argc > 2 ? atol(argv[2]) : 100;
  pauses = argc > 3 ? atol(argv[3]) : 0;
  // What nobody has read may not be in memory: what follows is read here, or written.
  for (const char* text : kTexts) g_sink = g_sink + text[0];
  for (const char* text : kPaths) g_sink = g_sink + text[0];
  const long page = sysconf(_SC_PAGESIZE);
  auto* const pages = static_cast<char*>(mmap(nullptr, static_cast<size_t>(2 * page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (pages == MAP_FAILED || mprotect(pages + page, static_cast<size_t>(page), PROT_NONE) != 0) return 1;
  // The last letters of a page, without and with a 0 at the end.
  for (long i = 0; i < page; i++) pages[i] = 'e';
  const std::string empty, red("\x1b[2Jred;\xff\n"), longest(256, 'L'), longer(257, 'M'), letters = std::string(255, 'N') + "ü";
  take_odd(nullptr);
  take_odd(empty.c_str());
  take_odd(pages + page);
  take_odd(pages + page - 4);
  pages[page - 1] = 0;
  take_odd(pages + page - 4);
  take_odd(reinterpret_cast<const char*>(0xffffffff81000000));  // the kernel's
  take_odd(longest.c_str());
  take_odd(longer.c_str());
  take_odd(letters.c_str());
  take_odd(red.c_str());
  const long distinct = argc > 4 ? atol(argv[4]) : 0;
  for (long i = 0; i < distinct; i++) {
    take_many(("number " + std::to_string(i)).c_str());
    if (i % 100 == 0) usleep(1000);
  }
  std::vector<std::thread> all;
  for (long i = 0; i < threads; i++) all.emplace_back(call_all);
  for (std::thread& thread : all) thread.join();
  std::vector<long> taken(kCount), named(3), opened(2);
  for (long i = 0; i < times; i++) ++taken[static_cast<size_t>(which(i))], ++named[static_cast<size_t>(i % 3)], ++opened[static_cast<size_t>(i % 2)];
  for (size_t i = 0; i < taken.size(); i++)
    if (taken[i] != 0) std::printf("take %ld %s\n", threads * taken[i], kTexts[i]);
  for (size_t i = 0; i < named.size(); i++) std::printf("name %ld %s\n", threads * named[i], kNames[i]);
  for (size_t i = 0; i < opened.size(); i++) std::printf("open %ld %s\n", threads * opened[i], kPaths[i]);
}

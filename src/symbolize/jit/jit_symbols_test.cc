// SPDX-License-Identifier: Apache-2.0
#include "symbolize/jit/jit_symbols.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/unique_fd.h"
#include "symbolize/symbols/elf_image_for_test.h"
#include "symbolize/jit/jitdump.h"
#include "symbolize/jit/perf_map.h"

namespace cicada::symbolize {
namespace {

JitSymbol symbol(uint64_t begin, uint64_t end, std::string name, uint32_t space = 1) {
  JitSymbol s;
  s.address_space = space;
  s.code = {RuntimeAddr(begin), RuntimeAddr(end)};
  s.name = std::move(name);
  return s;
}

std::string at(const JitSymbols& symbols, uint64_t address, uint32_t space = 1) {
  const JitSymbol* found = symbols.find(space, RuntimeAddr(address));
  return found == nullptr ? "-" : found->name;
}

TEST(JitSymbols, LetsNewerCodeReplaceOlder) {
  const std::vector<JitSymbol> all{symbol(0x100, 0x200, "a"), symbol(0x300, 0x400, "b"), symbol(0x180, 0x380, "c"), symbol(0x110, 0x120, "d"), symbol(0x100, 0x200, "other", 2)};
  const JitSymbols symbols(all);
  EXPECT_EQ(at(symbols, 0x100), "a");
  EXPECT_EQ(at(symbols, 0x115), "d");
  EXPECT_EQ(at(symbols, 0x120), "a");
  EXPECT_EQ(at(symbols, 0x180), "c");
  EXPECT_EQ(at(symbols, 0x37f), "c");
  EXPECT_EQ(at(symbols, 0x380), "b");
  EXPECT_EQ(at(symbols, 0x400), "-");
  EXPECT_EQ(at(symbols, 0x115, 2), "other");
  EXPECT_EQ(at(symbols, 0x115, 3), "-");
}

TEST(JitSymbols, AgreesWithALinearScan) {
  std::vector<JitSymbol> all;
  uint32_t seed = 3;
  const auto random = [&seed](uint32_t below) { return (seed = seed * 1664525 + 1013904223) / 65536 % below; };
  for (int i = 0; i < 500; ++i) {
    const uint64_t begin = random(4000);
    all.push_back(symbol(begin, begin + 1 + random(200), std::to_string(i)));
  }
  const JitSymbols symbols(all);
  for (uint64_t address = 0; address < 4300; ++address) {
    std::string last = "-";
    for (const JitSymbol& s : all) {
      if (s.code.contains(RuntimeAddr(address))) last = s.name;
    }
    ASSERT_EQ(at(symbols, address), last) << address;
  }
}

std::string tidy(const std::string& name) {
  JitSymbol s = symbol(0, 1, name);
  tidy_jit_name(s);
  return s.name + "|" + s.file + "|" + std::to_string(s.line);
}

TEST(JitName, ReadsAsPeopleKnowIt) {
  EXPECT_EQ(tidy("LazyCompile:*processData /srv/server.js:42"), "processData (server.js:42)|/srv/server.js|42");
  EXPECT_EQ(tidy("JS:~processData file:///srv/server.mjs:42:7"), "processData (server.mjs:42)|/srv/server.mjs|42");
  EXPECT_EQ(tidy("JS:^ /srv/a.js:1:1"), "(anonymous) (a.js:1)|/srv/a.js|1");
  EXPECT_EQ(tidy("JS:'encode /srv/a.js:7:1"), "encode (a.js:7)|/srv/a.js|7");
  EXPECT_EQ(tidy("py::handle:/srv/app.py"), "handle (app.py)|/srv/app.py|0");
  EXPECT_EQ(tidy("Ljava/lang/String;::hashCode"), "java.lang.String.hashCode||0");
  EXPECT_EQ(tidy("int java.lang.String.hashCode()"), "int java.lang.String.hashCode()||0");
  EXPECT_EQ(tidy("Builtin:ArrayPrototypeJoin"), "Builtin:ArrayPrototypeJoin||0");
  EXPECT_EQ(tidy("JS:"), "(anonymous)||0");
}

TEST(PerfMap, SkipsGarbageAndKeepsTheRest) {
  std::vector<JitSymbol> symbols;
  size_t used = 0;
  const std::string text = "7f0000001000 20 JS:*f /a.js:1\nnonsense\n\n0x7f0000002000 0x10 with some spaces\nffffffffffffffff 2 wraps\n7f00 0 empty\n1000 zz x\n\x01\xff\xfe\n3000 10 unfinis";
  const auto counts = append_perf_map(text, 5, symbols, used);
  ASSERT_EQ(symbols.size(), 2U);
  EXPECT_EQ(counts.symbols, 2U);
  EXPECT_EQ(counts.garbage_lines, 5U);
  EXPECT_EQ(symbols[1].name, "with some spaces");
  EXPECT_EQ(symbols[1].code.begin.value, 0x7f0000002000U);
  EXPECT_EQ(symbols[0].address_space, 5U);
  EXPECT_EQ(text.substr(used), "3000 10 unfinis");
}

class DumpBytes {
 public:
  explicit DumpBytes(uint32_t pid) { u32(0x4A695444).u32(1).u32(40).u32(62).u32(0).u32(pid).u64(1).u64(0); }
  DumpBytes& u32(uint32_t v) { return raw(&v, 4); }
  DumpBytes& u64(uint64_t v) { return raw(&v, 8); }
  DumpBytes& text(const std::string& s) { return raw(s.c_str(), s.size() + 1); }
  DumpBytes& record(uint32_t id, const DumpBytes& body) {
    u32(id).u32(static_cast<uint32_t>(16 + body.bytes.size())).u64(0);
    return raw(body.bytes.data(), body.bytes.size());
  }
  static DumpBytes body() {
    DumpBytes b(0);
    b.bytes.clear();
    return b;
  }
  DumpBytes& raw(const void* data, size_t size) {
    const auto* from = static_cast<const uint8_t*>(data);
    bytes.insert(bytes.end(), from, from + size);
    return *this;
  }
  std::vector<uint8_t> bytes;
};

TEST(PerfMapReader, ContinuesWhereItStoppedWhileTheFileGrows) {
  const TestDirectory directory;
  const std::string path = directory.path("perf-7.map");
  directory.write("perf-7.map", "1000 10 first\n2000 10 sec");
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  PerfMapReader map("perf-7.map", 1);
  std::vector<JitSymbol> symbols;
  ASSERT_TRUE(map.update(fd.get(), symbols));
  ASSERT_EQ(symbols.size(), 1U);
  std::ofstream(path, std::ios::app) << "ond\n3000 10 third\n";
  ASSERT_TRUE(map.update(fd.get(), symbols));
  ASSERT_TRUE(map.update(fd.get(), symbols));
  ASSERT_EQ(symbols.size(), 3U);
  EXPECT_EQ(symbols[1].name, "second");
  std::ofstream(path, std::ios::trunc) << "9000 10 anew\n";
  ASSERT_TRUE(map.update(fd.get(), symbols));
  EXPECT_EQ(symbols.back().name, "anew");
  std::ofstream(path, std::ios::trunc) << std::string(3 << 20, 'x') << "\n4000 10 after\n";
  ASSERT_TRUE(map.update(fd.get(), symbols));
  EXPECT_EQ(symbols.back().name, "after");
}

TEST(Jitdump, IsFoundInTheProcesssMaps) {
  const std::string_view maps =
      "1000-2000 r-xp 00000000 08:01 5 /usr/bin/x\n7f00-7f01 r-xp 00000000 08:01 9 /srv/jit-77.dump\n7f02-7f03 r-xp 00000000 08:01 9 /srv/a b/jit-7.dump\n";
  EXPECT_EQ(find_jitdump(maps, 7), "/srv/a b/jit-7.dump");
  EXPECT_EQ(find_jitdump(maps, 77), "/srv/jit-77.dump");
  EXPECT_FALSE(find_jitdump(maps, 6));
  EXPECT_FALSE(find_jitdump(maps.substr(0, maps.size() - 1), 7));  // cut off
}

TEST(Jitdump, ReadsLoadsMovesAndLines) {
  DumpBytes dump(7);
  dump.record(2, DumpBytes::body().u64(0x1000).u64(3).u64(0x1000).u32(10).u32(0).text("/a.js").u64(0x1008).u32(11).u32(0).text("\xff").u64(0x1010).u32(3).u32(0).text("/b.js"));
  dump.record(0, DumpBytes::body().u32(7).u32(7).u64(0x1000).u64(0x1000).u64(0x20).u64(1).text("f").raw("codecode", 8));
  dump.record(0, DumpBytes::body().u32(7).u32(7).u64(0x3000).u64(0x3000).u64(0x20).u64(2).text("g"));
  dump.record(1, DumpBytes::body().u32(7).u32(7).u64(0).u64(0x3000).u64(0x5000).u64(0x20).u64(2));
  dump.record(99, DumpBytes::body().u64(1));
  std::vector<JitSymbol> symbols;
  ASSERT_TRUE(append_jitdump(dump.bytes, "dump", 7, 1, symbols));
  const JitSymbols index(symbols);
  const auto line = [&](uint64_t address) {
    const JitSymbol* found = index.find(1, RuntimeAddr(address));
    return found == nullptr ? "-" : found->name + " " + found->file + ":" + std::to_string(found->line);
  };
  EXPECT_EQ(line(0x1000), "f /a.js:10");
  EXPECT_EQ(line(0x100c), "f /a.js:11");
  EXPECT_EQ(line(0x101f), "f /b.js:3");
  EXPECT_EQ(line(0x1020), "-");
  EXPECT_EQ(line(0x5004), "g :0");
}

TEST(Jitdump, KeepsWhatIsCompleteOfAFileStillWritten) {
  DumpBytes dump(7);
  dump.record(0, DumpBytes::body().u32(7).u32(7).u64(0x1000).u64(0x1000).u64(0x20).u64(1).text("f"));
  dump.record(0, DumpBytes::body().u32(7).u32(7).u64(0x3000).u64(0x3000).u64(0x20).u64(2).text("g"));
  for (size_t cut = 0; cut < dump.bytes.size(); ++cut) {
    std::vector<JitSymbol> symbols;
    const auto read = append_jitdump(Bytes(dump.bytes).first(cut), "dump", 7, 1, symbols);
    EXPECT_EQ(static_cast<bool>(read), cut >= 40) << cut;
    EXPECT_LE(symbols.size(), 1U);
  }
}

TEST(Jitdump, RefusesAnotherProcessesDump) {
  std::vector<JitSymbol> symbols;
  const auto other = append_jitdump(DumpBytes(8).bytes, "dump", 7, 1, symbols);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind(), ErrorKind::kInvalid);
}

}  // namespace
}  // namespace cicada::symbolize

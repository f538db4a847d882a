// SPDX-License-Identifier: Apache-2.0
// One program, compiled in every way this reader must know; all must give the answers of llvm-symbolizer for the plain one.
// (Not addr2line's: for inlined functions without a linkage name it repeats the outer function.)
#include "symbolize/dwarf/dwarf_names.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/cpu_clock.h"
#include "base/diagnostics.h"
#include "symbolize/dwarf/line_table.h"
#include "symbolize/dwarf/scopes.h"
#include "symbolize/symbols/elf_image_for_test.h"
#include "symbolize/symbols/image_symbols_for_test.h"
#include "symbolize/symbol_report.h"

namespace cicada::symbolize {
namespace {

constexpr const char* kProgram = R"(
#include "other.h"
volatile int sink;
namespace shapes {
struct Square {
  int side;
  __attribute__((always_inline)) inline int area() const { return multiply(side, side); }
};
}
static __attribute__((always_inline)) inline int twice(int x) {
  shapes::Square s{x};
  return s.area() + multiply(x, 3);
}
__attribute__((noinline)) int outer(int x) {
  int sum = 0;
  for (int i = 0; i < x; ++i) sum += twice(i);
  if (__builtin_expect(sum == 12345, 0)) __builtin_trap();
  return sum;
}
template <typename T> __attribute__((noinline)) T generic(T a) { sink = static_cast<int>(a); return a + twice(sink); }
int main(int c, char**) { return outer(c) + static_cast<int>(generic(2.5) + generic(c)); }
)";
constexpr const char* kHeader = "extern volatile int sink;\nstatic __attribute__((always_inline)) inline int multiply(int a, int b) {\n  sink = a * b;\n  return sink;\n}\n";

// Addresses of the functions above, one per instruction.
constexpr const char* kAddresses = "objdump -d --no-show-raw-insn plain | awk '/^[0-9a-f]+ <(_Z5outeri|main|_Z7generic)/ {on=1} /^$/ {on=0} on && /^ +[0-9a-f]+:/ && !/nop|xchg +%ax,%ax|data16/ {sub(\":\", \"\", $1); print \"0x\" $1}' > addresses";

std::string slurp(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TextWriter append_to(std::string& out) {
  return [&out](std::string_view text) -> Result<void> {
    out += text;
    return {};
  };
}

std::string report(const TestDirectory& directory, const std::string& file, SymbolReportOptions options = {}) {
  const UniqueFd input(::open(directory.path("addresses").c_str(), O_RDONLY));
  std::string out;
  const auto done = report_symbols(directory.path(file), {}, input.get(), options, append_to(out));
  return done ? out : done.error().message();
}

class DwarfVariants : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = new TestDirectory;
    directory_->write("program.cc", kProgram);
    directory_->write("other.h", kHeader);
    ASSERT_TRUE(directory_->run("g++ -O2 -gdwarf-5 program.cc -o plain && " + std::string(kAddresses) + " && llvm-symbolizer -e plain --output-style=GNU -f -i -C < addresses | sed 's/ (discriminator .*//; s/ (.cold)//; s,/\\./,/,' > expected"));
  }
  static void TearDownTestSuite() {
    delete directory_;
    directory_ = nullptr;
  }
  static std::string expected() { return slurp(directory_->path("expected")); }
  static TestDirectory* directory_;
};
TestDirectory* DwarfVariants::directory_ = nullptr;

TEST_F(DwarfVariants, AnswersLikeLlvmSymbolizer) {
  const std::string answers = report(*directory_, "plain");
  EXPECT_GT(std::count(answers.begin(), answers.end(), '\n'), 200);
  EXPECT_NE(answers.find("multiply\n" + directory_->path("other.h") + ":3\nshapes::Square::area() const\n"), std::string::npos) << answers.substr(0, 500);
  EXPECT_EQ(answers, expected());
}

// In each function the first place that binutils has for the line; where it was inlined, too.
TEST_F(DwarfVariants, SaysWhereALineHasCode) {
  ASSERT_TRUE(directory_->run("nm plain | awk '/ [tTW] / {print $1, $3}' | sort > functions; objdump --dwarf=decodedline plain | awk '$3 ~ /^0x/ {print $1 \":\" $2, $3, $NF == \"x\"}' > rows"));
  const auto symbols = open_symbols(*elf::ElfFile::open(directory_->path("plain")), directory_->path("plain"));
  std::map<std::string, uint64_t> functions;
  std::ifstream names(directory_->path("functions"));
  for (std::string name, address; names >> address >> name;) functions[name] = std::stoull(address, nullptr, 16);
  struct Row {
    std::string place;
    uint64_t address;
    bool is_statement;
  };
  std::vector<Row> rows;
  std::ifstream table(directory_->path("rows"));
  for (auto [place, address, is_statement] = std::tuple<std::string, std::string, int>(); table >> place >> address >> is_statement;) rows.push_back({place, std::stoull(address, nullptr, 16), is_statement != 0});
  size_t lines = 0;
  for (const std::string file : {"program.cc", "other.h"}) {
    for (int line = 1; line < 25; ++line) {
      const std::string place = fmt::format("{}:{}", file, line);
      std::map<uint64_t, uint64_t> first;  // by function
      const bool has_statements = std::any_of(rows.begin(), rows.end(), [&](const Row& row) { return row.place == place && row.is_statement; });
      for (const auto& [at, address, is_statement] : rows) {
        if (has_statements && !is_statement) continue;
        uint64_t begin = 0;
        for (const auto& [name, own] : functions)
          if (own <= address) begin = std::max(begin, own);
        if (at == place && begin != 0 && (!first.contains(begin) || first[begin] > address)) first[begin] = address;
      }
      const FunctionSearch found = symbols->find_functions(std::vector<std::string>{place}, 100);
      std::map<uint64_t, uint64_t> ours;
      for (const FoundFunction& one : found.functions) ours[one.begin.value - one.within] = one.begin.value;
      EXPECT_EQ(ours, first) << place;
      lines += first.size();
    }
  }
  EXPECT_GT(lines, 15U);
  const std::vector<std::string> asked{"program.cc:9999", "none.cc:3", directory_->path("other.h") + ":3", "ther.h:3"};
  const FunctionSearch found = symbols->find_functions(asked, 100);
  EXPECT_EQ(found.near[0], "program.cc:21");
  EXPECT_EQ(found.near[1], "");
  EXPECT_GT(std::count_if(found.functions.begin(), found.functions.end(), [](const FoundFunction& one) { return one.pattern == 2; }), 2);
  EXPECT_EQ(std::count_if(found.functions.begin(), found.functions.end(), [](const FoundFunction& one) { return one.pattern == 3; }), 0);
}

TEST_F(DwarfVariants, ReadsVersionFourAndThree) {
  ASSERT_TRUE(directory_->run("g++ -O2 -gdwarf-4 program.cc -o v4 && g++ -O2 -gdwarf-3 -gno-strict-dwarf program.cc -o v3"));
  EXPECT_EQ(report(*directory_, "v4"), expected());
  EXPECT_EQ(report(*directory_, "v3"), expected());
}

TEST_F(DwarfVariants, ReadsSixtyFourBitDwarf) {
  ASSERT_TRUE(directory_->run("g++ -O2 -gdwarf-5 -gdwarf64 program.cc -o wide"));
  EXPECT_EQ(report(*directory_, "wide"), expected());
}

TEST_F(DwarfVariants, ReadsCompressedSections) {
  ASSERT_TRUE(directory_->run("objcopy --compress-debug-sections=zlib plain zlib && objcopy --compress-debug-sections=zlib-gnu plain gnu"));
  EXPECT_EQ(report(*directory_, "zlib"), expected());
  EXPECT_EQ(report(*directory_, "gnu"), expected());
  ASSERT_TRUE(directory_->run("objcopy --compress-debug-sections=zstd plain zstd && readelf -t zstd | grep -q ZSTD"));
  EXPECT_EQ(report(*directory_, "zstd"), expected());
}

TEST_F(DwarfVariants, ReadsUnitsWithoutAranges) {
  ASSERT_TRUE(directory_->run("objcopy --remove-section=.debug_aranges plain bare"));
  EXPECT_EQ(report(*directory_, "bare"), expected());
}

TEST_F(DwarfVariants, ReadsSplitUnits) {
  for (const std::string version : {"4", "5"}) {
    ASSERT_TRUE(directory_->run("g++ -O2 -gdwarf-" + version + " -gsplit-dwarf program.cc -o split" + version + " && ls split" + version + "-program.dwo"));
    EXPECT_EQ(report(*directory_, "split" + version), expected()) << version;
  }
}

TEST_F(DwarfVariants, ReadsPackagesOfSplitUnits) {
  ASSERT_TRUE(directory_->run("g++ -O2 -gdwarf-5 -gsplit-dwarf program.cc -o packed && llvm-dwp packed-program.dwo -o packed.dwp && rm packed-program.dwo"));
  EXPECT_EQ(report(*directory_, "packed"), expected());
  ASSERT_TRUE(directory_->run("g++ -O2 -gdwarf-4 -gsplit-dwarf program.cc -o packed4 && dwp packed4-program.dwo -o packed4.dwp && rm packed4-program.dwo"));
  EXPECT_EQ(report(*directory_, "packed4"), expected());
}

TEST_F(DwarfVariants, ReadsClangsUnits) {
  const auto clang = [&](const std::string& flags, const std::string& out) {
    // by way of an object file: it names the .dwo, which clang otherwise calls program.dwo for all of them
    return directory_->run("clang++ -O2 " + flags + " -c program.cc -o " + out + ".o && clang++ " + out + ".o -o " + out);
  };
  ASSERT_TRUE(clang("-gdwarf-5", "clang5") && clang("-gdwarf-4", "clang4") && clang("-gdwarf-5 -gsplit-dwarf", "clang5s") && clang("-gdwarf-4 -gsplit-dwarf", "clang4s"));
  ASSERT_TRUE(directory_->run("cp addresses keep; cp plain keep.bin; cp clang5 plain; " + std::string(kAddresses) + "; llvm-symbolizer -e clang5 --output-style=GNU -f -i -C < addresses | sed 's/ (discriminator .*//; s/:0$/:?/; s/ (.cold)//; s,/\\./,/,' > expected.clang; cp keep.bin plain"));
  const std::string want = slurp(directory_->path("expected.clang"));
  EXPECT_GT(want.size(), 1000U);
  for (const std::string file : {"clang5", "clang4", "clang5s", "clang4s"}) EXPECT_EQ(report(*directory_, file), want) << file;
  ASSERT_TRUE(directory_->run("cp keep addresses"));
}

TEST_F(DwarfVariants, ReadsFilesThatShareDwarf) {
  ASSERT_TRUE(directory_->run("cp plain a && g++ -O2 -gdwarf-5 -DOTHER program.cc -o b && cp a a5 && cp b b5 && dwz -m shared a b && readelf -WS a | grep -q gnu_debugaltlink"));
  EXPECT_EQ(report(*directory_, "a"), expected());
  ASSERT_TRUE(directory_->run("dwz -m shared5 --dwarf-5 a5 b5 && readelf -WS a5 | grep -q debug_sup"));
  EXPECT_EQ(report(*directory_, "a5"), expected());
}

TEST_F(DwarfVariants, FindsSharedDwarfBesideWhereALinkLeads) {
  // as distributions lay it out: .build-id/ab/cdef.debug is a link, and the path in .gnu_debugaltlink is relative to its target
  ASSERT_TRUE(directory_->run("mkdir -p far/files far/.dwz near && cp plain far/files/a && g++ -O2 -gdwarf-5 -DOTHER program.cc -o far/files/b && (cd far/files && dwz -m ../.dwz/shared -M ../.dwz/shared a b) && ln -s ../far/files/a near/a"));
  EXPECT_EQ(report(*directory_, "near/a"), expected());
}

TEST_F(DwarfVariants, LeavesInlinedCallsAndLinesOutWhenNotWanted) {
  SymbolReportOptions options;
  options.symbols.inlines = false;
  const std::string answers = report(*directory_, "plain", options);
  EXPECT_EQ(answers.find("multiply"), std::string::npos);
  EXPECT_NE(answers.find("outer(int)\n" + directory_->path("program.cc") + ":"), std::string::npos);
  options.symbols.lines = false;
  EXPECT_NE(report(*directory_, "plain", options).find("outer(int)\n??:?\n"), std::string::npos);
}

TEST_F(DwarfVariants, SurvivesDamageAnywhere) {
  const auto whole = elf::ElfFile::open(directory_->path("plain"));
  ASSERT_TRUE(whole);
  std::vector<uint64_t> wanted;
  std::ifstream in(directory_->path("addresses"));
  for (uint64_t address = 0; in >> std::hex >> address;) wanted.push_back(address);
  uint32_t seed = 11;
  const auto random = [&seed](uint64_t below) { return (seed = seed * 1664525 + 1013904223) / 256 % below; };
  std::vector<std::pair<uint64_t, uint64_t>> debug;
  for (const elf::Section& section : whole->sections()) {
    if (section.name.starts_with(".debug_")) debug.emplace_back(section.offset.value, section.size);
  }
  ASSERT_GT(debug.size(), 5U);
  size_t frames_seen = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<uint8_t> bytes(whole->bytes().begin(), whole->bytes().end());
    for (int flips = 0; flips < 20; ++flips) {
      const auto& [offset, size] = debug[random(debug.size())];
      bytes[offset + random(size)] = static_cast<uint8_t>(random(256));
    }
    auto elf = elf::ElfFile::parse_copy(bytes, "damaged");
    ASSERT_TRUE(elf);
    const auto image = open_symbols(std::move(*elf), "/damaged");
    std::vector<LinkAddr> addresses;
    for (const uint64_t address : wanted) addresses.push_back(LinkAddr(address));
    const NamedAddresses named = name_checked(*image, addresses);
    for (size_t i = 0; i < addresses.size(); ++i) {
      const auto positions = named.positions_of(i);
      frames_seen += positions.size();
      EXPECT_TRUE(positions.empty() || named.functions[positions.back().function].shown != 0);
    }
  }
  EXPECT_GT(frames_seen, 0U);
}

TEST(SplitDwarf, NeverOpensAFifoAStrangerNames) {
  TestDirectory directory;
  directory.write("program.cc", "int main() { return 0; }\n");
  ASSERT_TRUE(directory.run("g++ -O2 -g -gsplit-dwarf program.cc -o split && rm split-program.dwo"));
  ASSERT_EQ(::mkfifo(directory.path("split-program.dwo").c_str(), 0600), 0);
  std::vector<std::string> lines;
  diagnostics().set_handler([&](Severity severity, const std::string& line) {
    if (severity == Severity::kWarning) lines.push_back(line);
  });
  ASSERT_TRUE(directory.run("nm split | awk '$3 == \"main\" {print \"0x\" $1}' > addresses"));
  EXPECT_EQ(report(directory, "split").substr(0, 5), "main\n");
  diagnostics().set_handler({});
  EXPECT_FALSE(lines.empty());
}

// --- hand-made DWARF

struct Blob {
  std::vector<uint8_t> bytes;
  Blob& u8(uint64_t v) { bytes.push_back(static_cast<uint8_t>(v)); return *this; }
  Blob& u16(uint64_t v) { return u8(v & 255).u8(v >> 8 & 255); }
  Blob& u32(uint64_t v) { return u16(v & 65535).u16(v >> 16 & 65535); }
  Blob& u64(uint64_t v) { return u32(v & 0xffffffff).u32(v >> 32); }
  Blob& text(const std::string& s) {
    bytes.insert(bytes.end(), s.begin(), s.end());
    return u8(0);
  }
};

TEST(Dwarf, EndsALoopOfAbstractOrigins) {
  // 1: compile unit with low/high; 2: subprogram low, high, abstract_origin ref4; 3: subprogram abstract_origin
  Blob abbrev;
  abbrev.u8(1).u8(0x11).u8(1).u8(0x11).u8(0x01).u8(0x12).u8(0x06).u8(0).u8(0);
  abbrev.u8(2).u8(0x2e).u8(0).u8(0x11).u8(0x01).u8(0x12).u8(0x06).u8(0x31).u8(0x13).u8(0).u8(0);
  abbrev.u8(3).u8(0x2e).u8(0).u8(0x31).u8(0x13).u8(0).u8(0).u8(0);
  Blob info;
  info.u32(0).u16(4).u32(0).u8(8);
  info.u8(1).u64(0x1000).u32(0x100);
  const auto function = info.bytes.size();
  info.u8(2).u64(0x1000).u32(0x100).u32(function + 17);
  ASSERT_EQ(info.bytes.size(), function + 17);
  info.u8(3).u32(function).u8(0);
  info.bytes[0] = static_cast<uint8_t>(info.bytes.size() - 4);
  ElfImage image;
  image.add_text(0x1000, 0x100);
  image.add({".debug_info", SHT_PROGBITS, 0, 0, 0, 0, info.bytes});
  image.add({".debug_abbrev", SHT_PROGBITS, 0, 0, 0, 0, abbrev.bytes});
  const auto symbols = open_symbols(image.parse(), "/loop");
  ASSERT_TRUE(symbols->has_dwarf());
  const std::vector<LinkAddr> addresses{LinkAddr(0x1010)};
  EXPECT_TRUE(name_checked(*symbols, addresses).positions_of(0).empty());
}

TEST(Dwarf, BoundsWorkThatIsNamedFromEverywhere) {
  // 20,000 blocks that all name one range list of 20,000 entries: 400 million if nobody counts
  Blob abbrev;
  abbrev.u8(1).u8(0x11).u8(1).u8(0x11).u8(0x01).u8(0x12).u8(0x06).u8(0).u8(0);
  abbrev.u8(2).u8(0x1d).u8(0).u8(0x55).u8(0x17).u8(0).u8(0).u8(0);
  Blob ranges;
  for (int i = 0; i < 20000; ++i) ranges.u64(0).u64(0x100);
  ranges.u64(0).u64(0);
  Blob info;
  info.u32(0).u16(4).u32(0).u8(8);
  info.u8(1).u64(0x1000).u32(0x100);
  for (int i = 0; i < 20000; ++i) info.u8(2).u32(0);
  info.u8(0);
  const auto size = static_cast<uint32_t>(info.bytes.size() - 4);
  std::memcpy(info.bytes.data(), &size, 4);
  ElfImage image;
  image.add_text(0x1000, 0x100);
  image.add({".debug_info", SHT_PROGBITS, 0, 0, 0, 0, info.bytes});
  image.add({".debug_abbrev", SHT_PROGBITS, 0, 0, 0, 0, abbrev.bytes});
  image.add({".debug_ranges", SHT_PROGBITS, 0, 0, 0, 0, ranges.bytes});
  std::vector<std::string> lines;
  diagnostics().set_handler([&](Severity severity, const std::string& line) {
    if (severity == Severity::kWarning) lines.push_back(line);
  });
  const auto start = cpu_time();
  const auto symbols = open_symbols(image.parse(), "/bomb");
  const std::vector<LinkAddr> addresses{LinkAddr(0x1010)};
  EXPECT_TRUE(name_checked(*symbols, addresses).cut_short);
  EXPECT_LT(cpu_time() - start, std::chrono::seconds(10));
  diagnostics().set_handler({});
  EXPECT_EQ(lines.size(), 1U);
}

TEST(LineProgram, RefusesAbsurdCountsAndHeaders) {
  WorkBudget budget(1 << 20);
  for (const unsigned count : {0U, 1U, 255U}) {
    Blob line;
    line.u32(0).u16(5).u8(8).u8(0).u32(20).u8(1).u8(1).u8(1).u8(0xfb).u8(14).u8(1);
    line.u8(count);  // format count, then a directory count that no file holds
    for (int i = 0; i < 9; ++i) line.u8(0xff);
    line.u8(1);
    const auto size = static_cast<uint32_t>(line.bytes.size() - 4);
    std::memcpy(line.bytes.data(), &size, 4);
    DwarfSections sections;
    sections.line = line.bytes;
    auto program = LineProgram::open(sections, 0, "/", budget);
    if (program) {
      EXPECT_EQ(program->file_path(1, budget), "");
    }
  }
  DwarfSections sections;
  EXPECT_FALSE(LineProgram::open(sections, 0, "/", budget));
  EXPECT_FALSE(LineProgram::open(sections, UINT64_MAX, "/", budget));
}

TEST(SymbolReport, AnswersUnknownAddressesAndNonsenseAsAddr2lineDoes) {
  TestDirectory directory;
  directory.write("a.c", "int main(void) { return 0; }\n");
  ASSERT_TRUE(directory.run("gcc a.c -o a"));
  std::string out;
  const std::vector<std::string> asked{"0x1", "hello", "ffffffffffffffff", ""};
  SymbolReportOptions options;
  ASSERT_TRUE(report_symbols(directory.path("a"), asked, -1, options, append_to(out)));
  EXPECT_EQ(out, "??\n??:0\n??\n??:0\n??\n??:0\n??\n??:0\n");
  EXPECT_FALSE(report_symbols(directory.path("missing"), asked, -1, options, append_to(out)));
  EXPECT_FALSE(report_symbols("/dev/zero", asked, -1, options, append_to(out)));
}

TEST(SymbolReport, StopsWhenItsAnswersCannotBeWritten) {
  TestDirectory directory;
  directory.write("a.c", "int main(void) { return 0; }\n");
  ASSERT_TRUE(directory.run("gcc a.c -o a"));
  const std::vector<std::string> asked{"0x1"};
  const auto full = [](std::string_view) -> Result<void> { return Error(ErrorKind::kIo, "disk full"); };
  const auto done = report_symbols(directory.path("a"), asked, -1, {}, full);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message(), "disk full");
}

}  // namespace
}  // namespace cicada::symbolize

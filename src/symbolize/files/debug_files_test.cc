// SPDX-License-Identifier: Apache-2.0
#include "symbolize/files/debug_files.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <stop_token>
#include <thread>

#include "base/cpu_clock.h"
#include "base/diagnostics.h"
#include "symbolize/files/debuginfod_client.h"
#include "symbolize/symbols/elf_image_for_test.h"
#include "symbolize/symbols/image_symbols_for_test.h"
#include "symbolize/files/mini_debug_info.h"
#include "symbolize/files/section_contents.h"

namespace cicada::symbolize {
namespace {

constexpr const char* kBuildId = "00112233445566778899aabbccddeeff00112233";

// A stripped program "a" and its debug file "a.debug"; `inner` is a static function that only the latter names.
class DebugFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    diagnostics().set_handler([this](Severity severity, const std::string& line) {
      if (severity == Severity::kWarning) lines.push_back(line);
    });
    directory.write("a.c", "__attribute__((noinline)) static int inner(int x) { return x * 3 + 1; }\nint main(int c, char** v) { (void)v; return inner(c); }\n");
  }
  void TearDown() override { diagnostics().set_handler({}); }
  bool build(const std::string& link_flags) {
    return directory.run("gcc -O1 -g " + link_flags + " a.c -o whole && objcopy --only-keep-debug whole a.debug && strip whole -o a && nm whole | awk '$3 == \"inner\" {print $1}' > at");
  }
  // The name and source of inner's address in `file`.
  std::string name_in(const std::string& file, std::vector<std::string> debug_dirs, std::shared_ptr<DebuginfodClient> debuginfod = nullptr) {
    return name_in_root(file, directory.path(file), std::move(debug_dirs), {}, std::move(debuginfod));
  }
  // `file` of our directory, which its process calls `path` in a root of its own.
  std::string name_in_root(const std::string& file, const std::string& path, std::vector<std::string> debug_dirs, const FileRoot& root,
                           std::shared_ptr<DebuginfodClient> debuginfod = nullptr) {
    uint64_t address = 0;
    std::ifstream(directory.path("at")) >> std::hex >> address;
    auto elf = elf::ElfFile::open(directory.path(file));
    if (!elf) return elf.error().message();
    SymbolizeOptions options;
    options.debug_dirs = std::move(debug_dirs);
    const auto image = ImageSymbols::open(std::move(*elf), path, companions_in(root, std::move(debuginfod)), options);
    const std::vector<LinkAddr> addresses{LinkAddr(address)};
    const NamedAddresses named = name_checked(*image, addresses);
    const auto positions = named.positions_of(0);
    if (positions.empty() || positions.back().source == profile::NameSource::kFunctionBegin) return "-";
    const NamedAddresses::Position& outermost = positions.back();
    return fmt::format("{} {} {}", named.text(named.functions[outermost.function].shown), static_cast<int>(outermost.source), outermost.line);
  }
  static std::string named(profile::NameSource source) { return fmt::format("inner {} 1", static_cast<int>(source)); }

  TestDirectory directory;
  std::vector<std::string> lines;
};

TEST_F(DebugFiles, AreFoundByBuildId) {
  ASSERT_TRUE(build(std::string("-Wl,--build-id=0x") + kBuildId + ""));
  EXPECT_EQ(name_in("a", {directory.path("debug")}), "-");
  ASSERT_TRUE(directory.run("mkdir -p debug/.build-id/00 && cp a.debug debug/.build-id/00/112233445566778899aabbccddeeff00112233.debug"));
  EXPECT_EQ(name_in("a", {directory.path("debug")}), named(profile::NameSource::kDebugFile));
  EXPECT_TRUE(lines.empty());
}

TEST_F(DebugFiles, OfAnotherBuildIdAreRefused) {
  ASSERT_TRUE(build(std::string("-Wl,--build-id=0x") + kBuildId + ""));
  ASSERT_TRUE(directory.run("gcc -O1 -g -Wl,--build-id=0xffff a.c -o other && mkdir -p debug/.build-id/00 && cp other debug/.build-id/00/112233445566778899aabbccddeeff00112233.debug"));
  EXPECT_EQ(name_in("a", {directory.path("debug")}), "-");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("build-id"), std::string::npos);
}

TEST_F(DebugFiles, AreFoundByLinkBesideTheImageBelowItAndInDebugDirs) {
  ASSERT_TRUE(build("-Wl,--build-id=none") && directory.run("objcopy --add-gnu-debuglink=a.debug a"));
  EXPECT_EQ(name_in("a", {}), named(profile::NameSource::kDebugFile));
  ASSERT_TRUE(directory.run("mkdir .debug && mv a.debug .debug/"));
  EXPECT_EQ(name_in("a", {}), named(profile::NameSource::kDebugFile));
  ASSERT_TRUE(directory.run("mkdir -p g\"$PWD\" && mv .debug/a.debug g\"$PWD\"/"));
  EXPECT_EQ(name_in("a", {directory.path("g")}), named(profile::NameSource::kDebugFile));
  EXPECT_TRUE(lines.empty());
}

TEST_F(DebugFiles, OfAnotherChecksumAreRefused) {
  ASSERT_TRUE(build("-Wl,--build-id=none") && directory.run("objcopy --add-gnu-debuglink=a.debug a && printf x >> a.debug"));
  EXPECT_EQ(name_in("a", {}), "-");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("checksum"), std::string::npos);
}

TEST_F(DebugFiles, ThatAreFifosCostOneDiagnostic) {
  ASSERT_TRUE(build("-Wl,--build-id=none") && directory.run("objcopy --add-gnu-debuglink=a.debug a && rm a.debug"));
  ASSERT_EQ(::mkfifo(directory.path("a.debug").c_str(), 0600), 0);
  EXPECT_EQ(name_in("a", {}), "-");
  EXPECT_EQ(name_in("a", {}), "-");
  EXPECT_EQ(lines.size(), 1U);
}

TEST_F(DebugFiles, OfFourGigabytesOfNothingCostNothing) {
  ASSERT_TRUE(build("-Wl,--build-id=none") && directory.run("objcopy --add-gnu-debuglink=a.debug a && rm a.debug && truncate -s 4G a.debug"));
  const auto start = cpu_time();
  EXPECT_EQ(name_in("a", {}), "-");
  EXPECT_LT(cpu_time() - start, std::chrono::milliseconds(500));
  EXPECT_EQ(lines.size(), 1U);
}

TEST_F(DebugFiles, LinksCannotLeaveTheirDirectories) {
  ElfImage image;
  image.add_text(0x1000, 16);
  std::vector<uint8_t> link;
  for (const char c : std::string("../../secret.debug")) link.push_back(static_cast<uint8_t>(c));
  while (link.size() % 4 != 0 || link.back() != 0) link.push_back(0);
  link.insert(link.end(), 4, 0);
  image.add({".gnu_debuglink", SHT_PROGBITS, 0, 0, 0, 0, link});
  std::filesystem::create_directories(directory.path("x/y"));
  directory.write("secret.debug", "not an ELF file");
  EXPECT_FALSE(find_debug_file(image.parse(), directory.path("x/y/a"), {}, *companions_in({})));
  EXPECT_TRUE(lines.empty()) << "it was looked at";
}

FileRoot root_at(const std::string& path) { return FileRoot(std::make_shared<const UniqueFd>(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC))); }

TEST_F(DebugFiles, AreFoundInTheImagesOwnRoot) {
  ASSERT_TRUE(build(std::string("-Wl,--build-id=0x") + kBuildId + "") && directory.run("mkdir -p box/d/.build-id/00 box/srv box/store && mv a.debug box/store/"));
  const FileRoot root = root_at(directory.path("box"));
  EXPECT_EQ(name_in_root("a", "/srv/a", {"/d"}, root), "-");
  // a link as the container sees it
  ASSERT_TRUE(directory.run("ln -s /store/a.debug box/d/.build-id/00/112233445566778899aabbccddeeff00112233.debug"));
  EXPECT_EQ(name_in_root("a", "/srv/a", {"/d"}, root), named(profile::NameSource::kDebugFile));
  ASSERT_TRUE(directory.run("rm -r box/d && mv box/store/a.debug box/srv/ && objcopy --add-gnu-debuglink=box/srv/a.debug a"));
  EXPECT_EQ(name_in_root("a", "/srv/a", {"/d"}, root), named(profile::NameSource::kDebugFile));
  // our own debug directories, for containers without any
  ASSERT_TRUE(directory.run("mkdir -p ours/.build-id/00 && mv box/srv/a.debug ours/.build-id/00/112233445566778899aabbccddeeff00112233.debug"));
  EXPECT_EQ(name_in_root("a", "/srv/a", {directory.path("ours")}, root), named(profile::NameSource::kDebugFile));
  EXPECT_TRUE(lines.empty());
}

TEST_F(DebugFiles, AreNotReadThroughLinksThatLeaveTheImagesRoot) {
  ASSERT_TRUE(build(std::string("-Wl,--build-id=0x") + kBuildId + "") && directory.run("mkdir -p box/d/.build-id/00"));
  const FileRoot root = root_at(directory.path("box"));
  const std::string link = "box/d/.build-id/00/112233445566778899aabbccddeeff00112233.debug";
  for (const std::string& target : {directory.path("a.debug"), std::string("../../../../a.debug"), "/proc/self/cwd/nowhere/.." + directory.path("a.debug")}) {
    ASSERT_TRUE(directory.run("ln -sf " + target + " " + link));
    EXPECT_EQ(name_in_root("a", "/a", {"/d"}, root), "-") << target;
  }
  EXPECT_TRUE(lines.empty());
  EXPECT_EQ(name_in_root("a", "/a", {directory.path("box/d")}, {}), "-") << "the third link leads nowhere here";
}

TEST_F(DebugFiles, ThatAreDevicesAreNotOpened) {
  ASSERT_TRUE(build("-Wl,--build-id=none") && directory.run("objcopy --add-gnu-debuglink=a.debug a && ln -sf /dev/tty a.debug"));
  EXPECT_EQ(name_in("a", {}), "-");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("not a regular file"), std::string::npos) << lines[0];
}

TEST_F(DebugFiles, WithFourGigabytesOfEmptyUnitsAreBounded) {
  // a section header that announces them, over a hole in the file
  ElfImage image;
  image.add_text(0x1000, 16);
  image.add({".debug_info", SHT_PROGBITS, 0, 0, 0, 0, {0}});
  image.add({".debug_abbrev", SHT_PROGBITS, 0, 0, 0, 0, {0}});
  image.add({".debug_aranges", SHT_PROGBITS, 0, 0, 0, 0, {0}});
  image.add({".symtab", SHT_SYMTAB, 0, 0, sizeof(Elf64_Sym), 1, {0}});
  std::vector<uint8_t> bytes = image.bytes();
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  for (size_t section = 2; section <= 5; ++section) {
    uint8_t* at = bytes.data() + header.e_shoff + section * sizeof(Elf64_Shdr);
    Elf64_Shdr changed;
    std::memcpy(&changed, at, sizeof changed);
    changed.sh_offset = uint64_t{1} << 20;
    changed.sh_size = (uint64_t{4} << 30) - (1 << 20);
    std::memcpy(at, &changed, sizeof changed);
  }
  directory.write("huge", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  std::filesystem::resize_file(directory.path("huge"), uint64_t{4} << 30);
  auto elf = elf::ElfFile::open(directory.path("huge"));
  ASSERT_TRUE(elf);
  const auto start = cpu_time();
  const auto opened = open_symbols(std::move(*elf), "/huge");
  EXPECT_FALSE(opened->has_symbols());
  name_checked(*opened, std::vector{LinkAddr(0x1000)});
  EXPECT_LT(cpu_time() - start, std::chrono::seconds(10));
  EXPECT_LE(lines.size(), 1U);
}

TEST_F(DebugFiles, MiniDebugInfoNamesStaticFunctions) {
  ASSERT_TRUE(build("") && directory.run("objcopy -S --remove-section .gdb_index --remove-section .comment --keep-symbol inner whole mini && xz mini && objcopy --add-section .gnu_debugdata=mini.xz a"));
  EXPECT_EQ(name_in("a", {}), fmt::format("inner {} 0", static_cast<int>(profile::NameSource::kMiniDebugInfo)));
  EXPECT_TRUE(lines.empty());
  ASSERT_TRUE(directory.run("head -c 100 mini.xz > cut.xz && strip whole -o b && objcopy --add-section .gnu_debugdata=cut.xz b"));
  EXPECT_EQ(name_in("b", {}), "-");
  EXPECT_EQ(lines.size(), 1U);
}

TEST_F(DebugFiles, MiniDebugInfoThatExplodesIsRefused) {
  ASSERT_TRUE(directory.run("gcc a.c -o b && head -c 300M /dev/zero | xz -1 > bomb.xz && objcopy --add-section .gnu_debugdata=bomb.xz b"));
  const auto elf = elf::ElfFile::open(directory.path("b"));
  ASSERT_TRUE(elf);
  const auto loaded = load_mini_debug_info(*elf);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind(), ErrorKind::kLimit);
}

TEST_F(DebugFiles, ComeFromDebuginfodWhenAsked) {
  ASSERT_TRUE(build(std::string("-Wl,--build-id=0x") + kBuildId + "") && directory.run("mkdir -p server/buildid/" + std::string(kBuildId) + " && cp a.debug server/buildid/" + kBuildId + "/debuginfo"));
  ::setenv("DEBUGINFOD_URLS", ("file://" + directory.path("server")).c_str(), 1);
  ::setenv("DEBUGINFOD_CACHE_PATH", directory.path("cache").c_str(), 1);
  const auto client = std::make_shared<DebuginfodClient>();
  const std::string name = name_in("a", {}, client);
  ::unsetenv("DEBUGINFOD_URLS");
  if (!lines.empty() && lines[0].find("libdebuginfod1") != std::string::npos) GTEST_SKIP() << lines[0];
  EXPECT_EQ(name, named(profile::NameSource::kDebuginfod));
  DebuginfodClient late(std::chrono::milliseconds(0));
  ::setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1", 1);
  EXPECT_EQ(late.find_debug_file(kBuildId).error().kind(), ErrorKind::kLimit);
  ::unsetenv("DEBUGINFOD_URLS");
  EXPECT_EQ(client->find_debug_file(kBuildId).error().kind(), ErrorKind::kUnsupported);
}

TEST_F(DebugFiles, AServerThatIsSilentKeepsNobodyWaiting) {
  const UniqueFd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(server.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(server.get(), 8), 0);
  ASSERT_EQ(::getsockname(server.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  ::setenv("DEBUGINFOD_URLS", fmt::format("http://127.0.0.1:{}", ::ntohs(address.sin_port)).c_str(), 1);
  ::setenv("DEBUGINFOD_CACHE_PATH", directory.path("cache").c_str(), 1);
  ::setenv("DEBUGINFOD_TIMEOUT", "600", 1);
  DebuginfodClient client(std::chrono::minutes(10));
  std::stop_source stop;
  std::stop_source stopped;
  stopped.request_stop();
  const ErrorKind at_once = client.find_debug_file(kBuildId, stopped.get_token()).error().kind();
  if (at_once == ErrorKind::kUnsupported) GTEST_SKIP() << "libdebuginfod1 is not installed";
  EXPECT_EQ(at_once, ErrorKind::kNotFound);
  {
    std::vector<std::jthread> asking;  // one waits for the other
    for (int i = 0; i < 2; ++i) {
      asking.emplace_back([&] { EXPECT_EQ(client.find_debug_file(kBuildId, stop.get_token()).error().kind(), ErrorKind::kNotFound); });
    }
    pollfd asked{server.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&asked, 1, 60'000), 1);
    stop.request_stop();
  }
  for (const char* name : {"DEBUGINFOD_URLS", "DEBUGINFOD_TIMEOUT"}) ::unsetenv(name);
}

TEST(BuildIdPath, IsEmptyForWhatIsNoBuildId) {
  EXPECT_EQ(build_id_path("/d", "abcdef", ".debug"), "/d/.build-id/ab/cdef.debug");
  EXPECT_EQ(build_id_path("/d", "ab", ""), "");
  EXPECT_EQ(build_id_path("/d", "../../etc/passwd", ""), "");
}

TEST(SectionContents, RefusesAnnouncedSizesThatCannotBe) {
  for (const uint64_t size : {uint64_t{1} << 30, uint64_t{1} << 62, uint64_t{7}}) {
    std::vector<uint8_t> bytes(24 + 16, 0x5a);
    const Elf64_Chdr header{ELFCOMPRESS_ZLIB, 0, size, 1};
    std::memcpy(bytes.data(), &header, sizeof header);
    ElfImage image;
    image.add_text(0x1000, 16);
    image.add({".debug_info", SHT_PROGBITS, SHF_COMPRESSED, 0, 0, 0, bytes});
    WorkBudget budget(uint64_t{4} << 30);
    EXPECT_FALSE(SectionContents::load(image.parse(), ".debug_info", budget)) << size;
  }
}

TEST(SectionContents, ShareTheBudgetOfTheirFile) {
  TestDirectory directory;
  ASSERT_TRUE(directory.run("head -c 1M /dev/zero > zeros && printf 'int main;' | gcc -c -x c - -o a && objcopy --add-section .debug_info=zeros --add-section .debug_line=zeros a && "
                         "objcopy --compress-debug-sections=zlib a"));
  auto elf = elf::ElfFile::open(directory.path("a"));
  ASSERT_TRUE(elf);
  ASSERT_LT(elf->bytes().size(), 100U << 10);
  WorkBudget budget(3 << 19);
  EXPECT_EQ(SectionContents::load(*elf, ".debug_info", budget)->bytes().size(), 1U << 20);
  const auto second = SectionContents::load(*elf, ".debug_line", budget);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind(), ErrorKind::kLimit);
}

}  // namespace
}  // namespace cicada::symbolize

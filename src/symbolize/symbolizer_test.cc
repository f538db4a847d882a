// SPDX-License-Identifier: Apache-2.0
#include "symbolize/symbolizer.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <fstream>
#include <thread>

#include "base/diagnostics.h"
#include "base/file_mapping.h"
#include "profile/call_tree.h"
#include "symbolize/image_namer.h"
#include "symbolize/kernel/kernel_names.h"
#include "symbolize/symbols/elf_image_for_test.h"

namespace cicada::symbolize {
namespace {

using profile::Frame;
using profile::FrameKind;
using profile::Image;
using profile::ImageKind;
using profile::NameSource;
using profile::Profile;

Frame native(profile::ImageId image, uint64_t address) {
  Frame frame;
  frame.kind = FrameKind::kNative;
  frame.image = image;
  frame.address = address;
  return frame;
}

std::string name_of(const Profile& profile, profile::FrameId frame) {
  const auto locations = profile.locations(frame);
  return locations.empty() ? "" : std::string(profile.text(profile.functions()[locations.back().function.value].name));
}

// Link addresses of functions of a loaded library.
uint64_t link_address(void* function) {
  Dl_info info{};
  EXPECT_NE(::dladdr(function, &info), 0);
  return reinterpret_cast<uint64_t>(function) - reinterpret_cast<uint64_t>(info.dli_fbase);
}

TEST(Symbolize, NamesFramesOfALibraryTheVdsoTheKernelAndJitCode) {
  Profile profile;
  Image libc;
  Dl_info info{};
  void* function = ::dlsym(RTLD_NEXT, "lfind");  // one that no sanitizer intercepts
  ASSERT_NE(::dladdr(function, &info), 0);
  libc.path = profile.intern(info.dli_fname);
  libc.kind = ImageKind::kLibrary;
  const auto library_frame = profile.intern_frame(native(profile.intern_image(libc), link_address(function) + 4));
  Image vdso;
  vdso.path = profile.intern("[vdso]");
  vdso.kind = ImageKind::kVdso;
  void* vdso_handle = ::dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(vdso_handle, nullptr);
  const auto vdso_frame = profile.intern_frame(native(profile.intern_image(vdso), link_address(::dlsym(vdso_handle, "__vdso_clock_gettime"))));
  Frame jit;
  jit.kind = FrameKind::kJit;
  jit.address_space = 7;
  jit.address = 0x7f0000001010;
  const auto jit_frame = profile.intern_frame(jit);
  jit.address_space = 8;
  const auto other_space = profile.intern_frame(jit);
  Frame kernel;
  kernel.kind = FrameKind::kKernel;
  kernel.address = 0xffffffff81000010;
  const auto kernel_frame = profile.intern_frame(kernel);

  class Names : public KernelNames {
    Result<void> resolve(std::span<const uint64_t> addresses, std::vector<KernelSymbol>& symbols) override {
      for (const uint64_t address : addresses) {
        EXPECT_EQ(address, 0xffffffff81000010);
        symbols.push_back(parse_kernel_text("ext4_read.constprop.0+0x10/0x20 [ext4]"));
      }
      return {};
    }
  } names;
  SymbolizeOptions options;
  options.kernel_names = &names;
  const std::vector<JitSymbol> symbols{{7, {RuntimeAddr(0x7f0000001000), RuntimeAddr(0x7f0000002000)}, "old", "", 0, NameSource::kPerfMap},
                                       {7, {RuntimeAddr(0x7f0000001000), RuntimeAddr(0x7f0000001100)}, "LazyCompile:~run", "app.js", 42, NameSource::kJitDump}};
  const auto files = on_disk_images();
  Symbolizer symbolizer(*files, options);
  symbolizer.add_jit_symbols(symbols);
  const SymbolizeStats stats = symbolizer.finish(profile);
  EXPECT_EQ(name_of(profile, library_frame), "lfind");
  EXPECT_EQ(name_of(profile, vdso_frame), "__vdso_clock_gettime");
  EXPECT_EQ(profile.locations(vdso_frame)[0].source, NameSource::kVdso);
  EXPECT_EQ(name_of(profile, kernel_frame), "ext4_read");
  EXPECT_EQ(name_of(profile, jit_frame), "LazyCompile:~run");
  EXPECT_EQ(profile.locations(jit_frame)[0].line, 42U);
  EXPECT_EQ(name_of(profile, other_space), "");
  EXPECT_EQ(stats.frames, 5U);
  EXPECT_EQ(stats.named, 4U);
  EXPECT_TRUE(profile.validate());
}

TEST(Symbolize, FoldsClonesUnlessAskedToShowThem) {
  TestDirectory directory;
  directory.write("a.s", ".globl main\n.type main,@function\nmain: ret\n.size main,.-main\n.type main.cold,@function\nmain.cold: nop\nret\n.size main.cold,.-main.cold\n");
  ASSERT_TRUE(directory.run("gcc -nostdlib -shared a.s -o a && nm a | awk '$3 == \"main.cold\" {print $1}' > at"));
  uint64_t address = 0;
  std::ifstream(directory.path("at")) >> std::hex >> address;
  for (const bool fold : {true, false}) {
    Profile profile;
    Image image;
    image.path = profile.intern(directory.path("a"));
    const auto frame = profile.intern_frame(native(profile.intern_image(image), address));
    SymbolizeOptions options;
    options.fold_clones = fold;
    const auto files = on_disk_images();
    symbolize(profile, *files, options);
    EXPECT_EQ(name_of(profile, frame), fold ? "main" : "main.cold");
  }
}

TEST(Symbolize, CallsStrippedFunctionsByWhereTheyBegin) {
  TestDirectory directory;
  directory.write("a.c", "static int f(int x) { return x * 3; }\nint main(int c, char** v) { (void)v; return f(c); }\n");
  ASSERT_TRUE(directory.run("gcc -O0 a.c -o a && nm a | awk '$3 == \"f\" || $3 == \"main\" { print $1 }' | sort > at && strip a"));
  uint64_t f = 0, main = 0;
  std::ifstream(directory.path("at")) >> std::hex >> f >> main;
  ASSERT_LT(f + 4, main);
  Profile profile;
  Image stripped;
  stripped.path = profile.intern(directory.path("a"));
  const auto image = profile.intern_image(stripped);
  const auto first = profile.intern_frame(native(image, f + 1));
  const auto second = profile.intern_frame(native(image, f + 4));
  const auto other = profile.intern_frame(native(image, main + 4));
  const auto nowhere = profile.intern_frame(native(image, 0x40));
  const auto files = on_disk_images();
  const SymbolizeStats stats = symbolize(profile, *files, {});
  EXPECT_EQ(name_of(profile, first), fmt::format("a+{:#x}", f));
  EXPECT_EQ(name_of(profile, second), fmt::format("a+{:#x}", f));
  EXPECT_EQ(name_of(profile, other), "main");  // what _start hands to the C library
  EXPECT_EQ(name_of(profile, nowhere), "");
  EXPECT_EQ(profile::frame_name(profile, nowhere, profile.place(nowhere)), "a+0x40");
  EXPECT_EQ(stats.named, 1U);  // a place is not a name
  EXPECT_TRUE(profile.validate());
}

TEST(Symbolize, LeavesFramesOfMissingImagesUnnamed) {
  TestDirectory directory;
  Profile profile;
  Image missing;
  missing.path = profile.intern(directory.path("gone"));
  const auto b = profile.intern_frame(native(profile.intern_image(missing), 0x1130));
  const auto files = on_disk_images();
  symbolize(profile, *files, {});
  EXPECT_EQ(name_of(profile, b), "");
  EXPECT_EQ(profile::frame_name(profile, b, profile.place(b)), "gone+0x1130");
}

TEST(Symbolize, RefusesAFileOfAnotherBuildId) {
  TestDirectory directory;
  directory.write("a.c", "int main(void) { return 0; }\n");
  ASSERT_TRUE(directory.run("gcc -O0 -Wl,--build-id=0x00112233445566778899aabbccddeeff00112233 a.c -o a"));
  Profile profile;
  Image image;
  image.path = profile.intern(directory.path("a"));
  image.build_id = profile.intern("ffffffffffffffffffffffffffffffffffffffff");
  const auto id = profile.intern_image(image);
  const auto files = on_disk_images();
  const auto refused = files->find(profile, id).open({});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kInvalid);
  image.build_id = profile.intern("00112233445566778899aabbccddeeff00112233");
  EXPECT_TRUE(files->find(profile, profile.intern_image(image)).open({}));
}

// A library of functions f0, f1, … of 16 bytes each, and the files of a profile that has it.
class WhileRecording : public testing::Test {
 protected:
  static constexpr int kFunctions = 400;
  class Images : public ImageFiles {
   public:
    ImageFile find(const profile::ProfileSnapshot& profile, profile::ImageId image) override {
      const std::string path(profile.text(profile.images()[image.value].path));
      return {[this, path](const std::stop_token&) -> Result<UniqueFd> {
                ++opened;
                if (gone) return make_error(ErrorKind::kGone, "{}: written over", path);
                return open_regular(path);
              },
              {},
              path == "/others" ? 1000U : 0U};
    }
    std::atomic<int> opened{0};
    std::atomic<bool> gone{false};
  };
  // Names of "/hangs" and "/others", in three parts at kAll, of which some wait until they are asked to stop; others as usual.
  class Namers : public ImageNamers {
   public:
    class Some : public Namer {
     public:
      explicit Some(Namers& all) : all_(all) {}
      Result<std::vector<std::vector<uint32_t>>> parts(std::span<const uint64_t> addresses, const std::stop_token& stop) override {
        if (all_.hang_in_parts) wait(stop);
        if (stop.stop_requested()) return make_error(ErrorKind::kIo, "stopped");
        std::vector<std::vector<uint32_t>> parts(std::min<size_t>(addresses.size(), 3));
        for (uint32_t i = 0; i < addresses.size(); ++i) parts[i * parts.size() / addresses.size()].push_back(i);
        return parts;
      }
      Result<NamedAddresses> name(std::span<const uint64_t> addresses, NameDepth depth, const std::stop_token& stop) override {
        if (depth != NameDepth::kAll || addresses[0] >= all_.hangs_from) wait(stop);
        if (stop.stop_requested()) return make_error(ErrorKind::kIo, "stopped");
        const std::lock_guard lock(mutex_);
        WorkBudget budget(1 << 20);
        NamedAddressesBuilder builder(addresses.size(), all_.demangled_, budget);
        for (size_t i = 0; i < addresses.size(); ++i) {
          const std::string name = fmt::format("at{}", addresses[i]);
          const SourcePosition position{.linkage_name = name, .source = NameSource::kSymtab};
          builder.set(i, std::span(&position, 1));
        }
        return builder.take();
      }

     private:
      void wait(const std::stop_token& stop) {
        ++all_.waiting;
        std::unique_lock lock(mutex_);
        changed_.wait(lock, stop, [] { return false; });
        --all_.waiting;
      }
      Namers& all_;
      std::mutex mutex_;
      std::condition_variable_any changed_;
    };
    std::unique_ptr<Namer> make(ImageToName image) override {
      if (image.path == "/hangs" || image.path == "/others") return std::make_unique<Some>(*this);
      return local_->make(std::move(image));
    }
    std::atomic<int> waiting{0};
    std::atomic<uint64_t> hangs_from{0};  // of the parts
    std::atomic<bool> hang_in_parts{false};

   private:
    std::shared_ptr<ImageNamers> local_ = local_image_namers({}, std::make_shared<ImageCache>(SymbolizeOptions{}));
    DemangleCache demangled_{Demangle::kNone, false};
  };
  SymbolizeOptions hanging() const {
    SymbolizeOptions options;
    options.image_namers = namers;
    options.threads = 3;
    return options;
  }
  WhileRecording() {
    std::string text;
    for (int i = 0; i < kFunctions; ++i) text += fmt::format(".globl f{0}\n.type f{0},@function\n.balign 16\nf{0}: ret\n.balign 16\n.size f{0},.-f{0}\n", i);
    directory.write("a.s", text);
    EXPECT_TRUE(directory.run("gcc -nostdlib -shared a.s -o a.so && nm a.so | awk '$3 == \"f0\" { print $1 }' > at"));
    std::ifstream(directory.path("at")) >> std::hex >> first;
    EXPECT_NE(first, 0U);
    diagnostics().set_handler([this](Severity severity, const std::string&) { lines += severity == Severity::kWarning ? 1 : 0; });
  }
  ~WhileRecording() override { diagnostics().set_handler({}); }
  profile::FrameId add(Profile& profile, const std::string& path, uint64_t address) const {
    Image image;
    image.path = profile.intern(path);
    return profile.intern_frame(native(profile.intern_image(image), address));
  }
  void add(Profile& profile, int begin, int end) const {
    for (int i = begin; i < end; ++i) add(profile, directory.path("a.so"), first + 16 * static_cast<uint64_t>((i * 7) % kFunctions) + 1);
  }
  // Function, file and line of every position of every frame, in an order of their own.
  static std::vector<std::string> everything(const Profile& profile) {
    std::vector<std::string> all;
    for (size_t i = 0; i < profile.frames().size(); ++i) {
      const Frame& frame = profile.frames()[i];
      std::string& text = all.emplace_back(fmt::format("{}+{:#x}: ", profile.text(profile.images()[frame.image.value].path), frame.address));
      for (const profile::Location& location : profile.locations(profile::FrameId(i))) {
        const profile::Function& function = profile.functions()[location.function.value];
        text += fmt::format("{}|{} {}:{} {} {}; ", profile.text(function.name), profile.text(function.linkage_name), profile.text(location.file), location.line,
                            location.inlined, static_cast<int>(location.source));
      }
    }
    std::sort(all.begin(), all.end());
    return all;
  }
  // As a session does, until `done`.
  template <typename Done>
  static void run_until(Symbolizer& symbolizer, Profile& profile, Done done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    while (!done()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end);
      symbolizer.request(profile);
      symbolizer.apply_ready(profile);
      std::this_thread::yield();
    }
  }
  static void run_until_named(Symbolizer& symbolizer, Profile& profile, size_t frame) {
    run_until(symbolizer, profile, [&] { return !profile.locations(profile::FrameId(frame)).empty(); });
  }

  TestDirectory directory;
  Images files;
  std::shared_ptr<Namers> namers = std::make_shared<Namers>();
  std::atomic<int> lines{0};
  uint64_t first = 0;
};

TEST_F(WhileRecording, NamesArrive) {
  Profile profile;
  Symbolizer symbolizer(files, {});
  add(profile, 0, 20);
  run_until_named(symbolizer, profile, 19);
  EXPECT_EQ(name_of(profile, profile::FrameId(3)), "f21");
  add(profile, 20, 21);
  run_until_named(symbolizer, profile, 20);
  EXPECT_EQ(name_of(profile, profile::FrameId(20)), "f140");
}

TEST_F(WhileRecording, AreThoseOfNamingAtTheEnd) {
  directory.write("b.c", "static inline __attribute__((always_inline)) int in(int x) { return x * x + 3; }\n"
                      "__attribute__((noinline)) int out(int x) { return in(x) / 7 + in(x + 1) % 5; }\nint main(int c, char** v) { (void)v; return out(c); }\n");
  ASSERT_TRUE(directory.run("gcc -O1 -g b.c -o b && nm b | awk '$3 == \"out\" { print $1 }' > at_b"));
  uint64_t out = 0;
  std::ifstream(directory.path("at_b")) >> std::hex >> out;
  const auto add_some = [&](Profile& profile, int begin, int end) {
    add(profile, begin, end);
    for (int i = begin; i < end; i += 10) add(profile, directory.path("b"), out + static_cast<uint64_t>(i / 10));
  };
  Profile at_end, before;
  add_some(at_end, 0, kFunctions);
  symbolize(at_end, files, {});

  Symbolizer symbolizer(files, {});
  add_some(before, 0, 150);
  run_until_named(symbolizer, before, 149);
  add_some(before, 150, 300);
  run_until(symbolizer, before, [&] {
    const auto all = everything(before);
    return std::any_of(all.begin(), all.end(), [](const std::string& text) { return text.find(": in| ") != std::string::npos; });
  });
  add_some(before, 300, kFunctions);
  const SymbolizeStats stats = symbolizer.finish(before);
  EXPECT_GE(stats.named_before, 150U);
  EXPECT_GE(stats.named, static_cast<uint64_t>(kFunctions));
  EXPECT_EQ(stats.images, 2U);
  const auto expected = everything(at_end), got = everything(before);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], expected[i]) << i;
  EXPECT_TRUE(before.validate());
}

TEST_F(WhileRecording, NoFrameIsAskedForTwice) {
  Profile profile;
  Symbolizer symbolizer(files, {});
  add(profile, 0, 200);
  const auto nowhere = add(profile, directory.path("a.so"), 0x40);  // has no name, however often one asks
  run_until_named(symbolizer, profile, 0);
  for (int i = 0; i < 100; ++i) symbolizer.request(profile);
  const SymbolizeStats stats = symbolizer.finish(profile);
  EXPECT_EQ(files.opened, 1);
  EXPECT_EQ(stats.named_before, 200U);
  EXPECT_EQ(stats.named, 200U);
  EXPECT_EQ(name_of(profile, nowhere), "");
  symbolizer.finish(profile);
  EXPECT_EQ(files.opened, 1);
}

TEST_F(WhileRecording, ImagesThatCannotBeOpenedAreTriedOnceMoreAtTheEnd) {
  Profile profile;
  Symbolizer symbolizer(files, {});
  files.gone = true;
  add(profile, 0, 100);
  run_until(symbolizer, profile, [&] { return lines == 1; });
  add(profile, 100, 300);
  for (int i = 0; i < 100; ++i) {
    symbolizer.request(profile);
    symbolizer.apply_ready(profile);
  }
  EXPECT_EQ(files.opened, 1);
  EXPECT_EQ(symbolizer.finish(profile).named, 0U);
  EXPECT_EQ(files.opened, 2);
  EXPECT_EQ(lines, 1);
  files.gone = false;
  EXPECT_EQ(symbolizer.finish(profile).named, 300U);
}

TEST_F(WhileRecording, WhatWasFoundStaysWhenAFileIsWrittenOver) {
  Profile profile;
  Symbolizer symbolizer(files, {});
  add(profile, 0, 100);
  run_until_named(symbolizer, profile, 99);
  files.gone = true;
  add(profile, 100, 300);
  EXPECT_EQ(symbolizer.finish(profile).named, 100U);
  EXPECT_EQ(name_of(profile, profile::FrameId(3)), "f21");
  EXPECT_EQ(name_of(profile, profile::FrameId(103)), "");
}

TEST_F(WhileRecording, TheEndLosesNothingThatItInterrupts) {
  for (int i = 0; i < 20; ++i) {
    Profile profile;
    Symbolizer symbolizer(files, {});
    add(profile, 0, 300);
    symbolizer.request(profile);
    add(profile, 300, kFunctions);
    EXPECT_EQ(symbolizer.finish(profile).named, static_cast<uint64_t>(kFunctions));
  }
}

TEST_F(WhileRecording, JitCodeIsNamedWhenItsSymbolsCome) {
  Profile profile;
  Symbolizer symbolizer(files, {});
  Frame jit;
  jit.kind = FrameKind::kJit;
  jit.address_space = 7;
  jit.address = 0x7f0000001010;
  const auto frame = profile.intern_frame(jit);
  symbolizer.request(profile);
  symbolizer.add_jit_symbols({{8, {RuntimeAddr(0x7f0000001000), RuntimeAddr(0x7f0000002000)}, "another's", "", 0, NameSource::kPerfMap}});
  run_until(symbolizer, profile, [&, i = 0]() mutable { return ++i == 100; });
  EXPECT_EQ(name_of(profile, frame), "");
  symbolizer.add_jit_symbols({{7, {RuntimeAddr(0x7f0000001000), RuntimeAddr(0x7f0000002000)}, "late", "app.js", 3, NameSource::kPerfMap}});
  run_until_named(symbolizer, profile, frame.value);
  EXPECT_EQ(name_of(profile, frame), "late");
}

TEST_F(WhileRecording, TheDeadlineEndsIt) {
  Profile profile;
  Symbolizer symbolizer(files, {});
  add(profile, 0, 100);
  EXPECT_EQ(symbolizer.finish(profile, {Symbolizer::Clock::now() - std::chrono::seconds(1), {}}).named, 0U);
  EXPECT_EQ(lines, 1);
  EXPECT_EQ(symbolizer.finish(profile).named, 100U);
}

TEST_F(WhileRecording, ANamerThatHangsKeepsNobodyWaiting) {
  Profile profile;
  Symbolizer symbolizer(files, hanging());
  const auto frame = add(profile, "/hangs", 0x1000);
  run_until(symbolizer, profile, [&] { return namers->waiting == 1; });
  add(profile, 0, 100);
  run_until_named(symbolizer, profile, 100);
  EXPECT_EQ(namers->waiting, 1);
  const SymbolizeStats stats = symbolizer.finish(profile, {Symbolizer::Clock::now() + std::chrono::milliseconds(100), {}});
  EXPECT_EQ(namers->waiting, 0);
  EXPECT_EQ(stats.cut_short, 1U);
  EXPECT_EQ(stats.named, 100U);
  EXPECT_TRUE(profile.validate());
  namers->hangs_from = ~uint64_t{0};
  EXPECT_EQ(symbolizer.finish(profile).named, 101U);
  EXPECT_EQ(name_of(profile, frame), "at4096");
}

TEST_F(WhileRecording, WhoForgetsASymbolizerWaitsForNoNamer) {
  Profile profile;
  {
    Symbolizer symbolizer(files, hanging());
    add(profile, "/hangs", 0x1000);
    run_until(symbolizer, profile, [&] { return namers->waiting == 1; });
  }
  EXPECT_EQ(namers->waiting, 0);
}

TEST_F(WhileRecording, FilesOfOthersHaveADeadlineOfTheirOwn) {
  Profile profile;
  Symbolizer symbolizer(files, hanging());
  namers->hang_in_parts = true;
  add(profile, "/others", 0x1000);
  add(profile, 0, 100);
  const auto now = Symbolizer::Clock::now();
  const SymbolizeStats stats = symbolizer.finish(profile, {now + std::chrono::minutes(10), now + std::chrono::milliseconds(200)});
  EXPECT_EQ(stats.named, 100U);
  EXPECT_EQ(stats.images, 2U);
  EXPECT_EQ(stats.images_without_symbols, 1U);
  EXPECT_EQ(namers->waiting, 0);
  EXPECT_EQ(stats.cut_short, 1U);
  EXPECT_LT(Symbolizer::Clock::now() - now, std::chrono::minutes(5));
}

TEST_F(WhileRecording, APartThatHangsLosesItsOwnNamesOnly) {
  Profile profile;
  Symbolizer symbolizer(files, hanging());
  for (uint64_t i = 30; i-- > 0;) add(profile, "/hangs", i);
  namers->hangs_from = 20;
  SymbolizeStats stats = symbolizer.finish(profile, {Symbolizer::Clock::now() + std::chrono::seconds(3), {}});
  EXPECT_EQ(stats.named, 20U);
  EXPECT_EQ(stats.cut_short, 1U);
  EXPECT_EQ(namers->waiting, 0);
  for (size_t i = 0; i < 30; ++i) EXPECT_EQ(name_of(profile, profile::FrameId(i)), i < 10 ? "" : fmt::format("at{}", 29 - i));
  namers->hangs_from = ~uint64_t{0};
  stats = symbolizer.finish(profile);
  EXPECT_EQ(stats.named, 30U);
  EXPECT_EQ(stats.cut_short, 0U);
  for (size_t i = 0; i < 30; ++i) EXPECT_EQ(profile.text(profile.functions()[i].name), fmt::format("at{}", i)) << "whoever was first";
}

TEST_F(WhileRecording, ServersAreAskedAtTheEndOnly) {
  directory.write("c.c", "__attribute__((noinline)) static int inner(int x) { return x * 3 + 1; }\nint main(int c, char** v) { (void)v; return inner(c); }\n");
  const std::string id = "00112233445566778899aabbccddeeff00112233";
  ASSERT_TRUE(directory.run("gcc -O1 -g -Wl,--build-id=0x" + id + " c.c -o whole && mkdir -p server/buildid/" + id + " && objcopy --only-keep-debug whole server/buildid/" + id +
                         "/debuginfo && strip whole -o c && nm whole | awk '$3 == \"inner\" {print $1}' > at_c"));
  uint64_t inner = 0;
  std::ifstream(directory.path("at_c")) >> std::hex >> inner;
  ::setenv("DEBUGINFOD_URLS", ("file://" + directory.path("server")).c_str(), 1);
  ::setenv("DEBUGINFOD_CACHE_PATH", directory.path("cache").c_str(), 1);
  Profile profile;
  SymbolizeOptions options;
  options.debuginfod = true;
  Symbolizer symbolizer(files, options);
  const auto frame = add(profile, directory.path("c"), inner);
  run_until_named(symbolizer, profile, frame.value);
  EXPECT_EQ(name_of(profile, frame), fmt::format("c+{:#x}", inner));
  symbolizer.finish(profile);
  ::unsetenv("DEBUGINFOD_URLS");
  if (lines != 0) GTEST_SKIP() << "libdebuginfod1 is not installed";
  EXPECT_EQ(name_of(profile, frame), "inner");
  EXPECT_EQ(profile.locations(frame).back().line, 1U);
}

}  // namespace
}  // namespace cicada::symbolize

// SPDX-License-Identifier: Apache-2.0
#include "symbolize/symbolizer.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <time.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "base/diagnostics.h"
#include "base/file_mapping.h"
#include "profile/call_tree.h"
#include "symbolize/symbols/elf_image_for_test.h"
#include "symbolize/kernel/kernel_names.h"

namespace cicada::symbolize {
namespace {

using profile::Frame;
using profile::FrameKind;
using profile::Image;
using profile::ImageKind;
using profile::NameSource;
using profile::Profile;
using profile::ProfileSnapshot;

Frame native(profile::ImageId image, uint64_t address) {
  Frame frame;
  frame.kind = FrameKind::kNative;
  frame.image = image;
  frame.address = address;
  return frame;
}

std::string name_of(const ProfileSnapshot& profile, profile::FrameId frame) {
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
  const SymbolizeStats stats = symbolize(profile, *files, symbols, options);
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
  TestFolder folder;
  folder.write("a.s", ".globl main\n.type main,@function\nmain: ret\n.size main,.-main\n.type main.cold,@function\nmain.cold: nop\nret\n.size main.cold,.-main.cold\n");
  ASSERT_TRUE(folder.run("gcc -nostdlib -shared a.s -o a && nm a | awk '$3 == \"main.cold\" {print $1}' > at"));
  uint64_t address = 0;
  std::ifstream(folder.path("at")) >> std::hex >> address;
  for (const bool fold : {true, false}) {
    Profile profile;
    Image image;
    image.path = profile.intern(folder.path("a"));
    const auto frame = profile.intern_frame(native(profile.intern_image(image), address));
    SymbolizeOptions options;
    options.fold_clones = fold;
    const auto files = on_disk_images();
    symbolize(profile, *files, {}, options);
    EXPECT_EQ(name_of(profile, frame), fold ? "main" : "main.cold");
  }
}

TEST(Symbolize, CallsStrippedFunctionsByWhereTheyBegin) {
  TestFolder folder;
  folder.write("a.c", "static int f(int x) { return x * 3; }\nint main(int c, char** v) { (void)v; return f(c); }\n");
  ASSERT_TRUE(folder.run("gcc -O0 a.c -o a && nm a | awk '$3 == \"f\" || $3 == \"main\" { print $1 }' | sort > at && strip a"));
  uint64_t f = 0, main = 0;
  std::ifstream(folder.path("at")) >> std::hex >> f >> main;
  ASSERT_LT(f + 4, main);
  Profile profile;
  Image stripped;
  stripped.path = profile.intern(folder.path("a"));
  const auto image = profile.intern_image(stripped);
  const auto first = profile.intern_frame(native(image, f + 1));
  const auto second = profile.intern_frame(native(image, f + 4));
  const auto other = profile.intern_frame(native(image, main + 4));
  const auto nowhere = profile.intern_frame(native(image, 0x40));
  const auto files = on_disk_images();
  const SymbolizeStats stats = symbolize(profile, *files, {}, {});
  EXPECT_EQ(name_of(profile, first), fmt::format("a+{:#x}", f));
  EXPECT_EQ(name_of(profile, second), fmt::format("a+{:#x}", f));
  EXPECT_EQ(name_of(profile, other), fmt::format("a+{:#x}", main));
  EXPECT_EQ(name_of(profile, nowhere), "");
  EXPECT_EQ(profile::frame_name(profile, nowhere, 0), "a+0x40");
  EXPECT_EQ(stats.named, 0U);  // a place is not a name
  EXPECT_TRUE(profile.validate());
}

TEST(Symbolize, LeavesFramesOfMissingImagesUnnamed) {
  TestFolder folder;
  Profile profile;
  Image missing;
  missing.path = profile.intern(folder.path("gone"));
  const auto b = profile.intern_frame(native(profile.intern_image(missing), 0x1130));
  const auto files = on_disk_images();
  symbolize(profile, *files, {}, {});
  EXPECT_EQ(name_of(profile, b), "");
  EXPECT_EQ(profile::frame_name(profile, b, 0), "gone+0x1130");
}

TEST(Symbolize, RefusesAFileOfAnotherBuildId) {
  TestFolder folder;
  folder.write("a.c", "int main(void) { return 0; }\n");
  ASSERT_TRUE(folder.run("gcc -O0 -Wl,--build-id=0x00112233445566778899aabbccddeeff00112233 a.c -o a"));
  Profile profile;
  Image image;
  image.path = profile.intern(folder.path("a"));
  image.build_id = profile.intern("ffffffffffffffffffffffffffffffffffffffff");
  const auto id = profile.intern_image(image);
  const auto files = on_disk_images();
  const auto refused = files->find(profile, id).open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kInvalid);
  image.build_id = profile.intern("00112233445566778899aabbccddeeff00112233");
  EXPECT_TRUE(files->find(profile, profile.intern_image(image)).open());
}

// A library of functions f0, f1, … of 16 bytes each, and the files of a profile that has it.
class AheadOfTheEnd : public testing::Test {
 protected:
  static constexpr int kFunctions = 400;
  class Images : public ImageFiles {
   public:
    explicit Images(std::string path) : path_(std::move(path)) {}
    ImageFile find(const ProfileSnapshot&, profile::ImageId) override {
      return {[this]() -> Result<UniqueFd> {
                ++opened;
                if (gone) return make_error(ErrorKind::kGone, "{}: written over", path_);
                return open_regular(path_);
              },
              {}};
    }
    std::atomic<int> opened{0};
    std::atomic<bool> gone{false};

   private:
    std::string path_;
  };

  AheadOfTheEnd() : files(folder.path("a.so")) {
    std::string text;
    for (int i = 0; i < kFunctions; ++i) text += fmt::format(".globl f{0}\n.type f{0},@function\n.balign 16\nf{0}: ret\n.balign 16\n.size f{0},.-f{0}\n", i);
    folder.write("a.s", text);
    EXPECT_TRUE(folder.run("gcc -nostdlib -shared a.s -o a.so && nm a.so | awk '$3 == \"f0\" { print $1 }' > at"));
    std::ifstream(folder.path("at")) >> std::hex >> first;
    EXPECT_NE(first, 0U);
  }
  void add(Profile& profile, int begin, int end) const {
    Image image;
    image.path = profile.intern(folder.path("a.so"));
    const auto id = profile.intern_image(image);
    for (int i = begin; i < end; ++i) profile.intern_frame(native(id, first + 16 * static_cast<uint64_t>((i * 7) % kFunctions) + 1));
  }
  static std::vector<std::string> names(const ProfileSnapshot& profile) {
    std::vector<std::string> names;
    for (size_t i = 0; i < profile.frames().size(); ++i) names.push_back(name_of(profile, profile::FrameId(i)));
    return names;
  }
  static std::vector<std::string> function_table(const ProfileSnapshot& profile) {
    std::vector<std::string> table;
    for (const profile::Function& function : profile.functions()) table.emplace_back(profile.text(function.name));
    return table;
  }
  static void look_up(Symbolizer& symbolizer, const ProfileSnapshot& profile) {
    symbolizer.look_up_ahead(profile);
    while (symbolizer.is_busy()) std::this_thread::yield();
  }
  // How often a file has been opened once functions [begin, end) have been sampled, too.
  int opened_after(Symbolizer& symbolizer, Profile& profile, int begin, int end) const {
    add(profile, begin, end);
    look_up(symbolizer, profile);
    return files.opened;
  }

  TestFolder folder;
  Images files;
  uint64_t first = 0;
};

TEST_F(AheadOfTheEnd, GivesTheProfileOfNamingAtTheEnd) {
  Profile at_end, ahead;
  add(at_end, 0, kFunctions);
  Symbolizer(files, {}).name_frames(at_end, {});
  EXPECT_EQ(name_of(at_end, profile::FrameId(3)), "f21");

  Symbolizer symbolizer(files, {});
  add(ahead, 0, 150);
  look_up(symbolizer, ahead);
  EXPECT_EQ(name_of(ahead, profile::FrameId(3)), "");  // kept until the end
  add(ahead, 150, 300);
  look_up(symbolizer, ahead);
  add(ahead, 300, kFunctions);
  const SymbolizeStats stats = symbolizer.name_frames(ahead, {});
  EXPECT_EQ(stats.looked_up_ahead, 300U);
  EXPECT_EQ(stats.named, static_cast<uint64_t>(kFunctions));
  EXPECT_EQ(stats.images, 1U);
  EXPECT_EQ(names(ahead), names(at_end));
  EXPECT_EQ(function_table(ahead), function_table(at_end));
  EXPECT_TRUE(ahead.validate());
}

TEST_F(AheadOfTheEnd, WaitsUntilItPays) {
  Profile profile;
  Symbolizer symbolizer(files, {});
  EXPECT_EQ(opened_after(symbolizer, profile, 0, 20), 0);
  EXPECT_EQ(opened_after(symbolizer, profile, 20, 200), 1);
  look_up(symbolizer, profile);
  EXPECT_EQ(opened_after(symbolizer, profile, 200, 220), 1);
  SymbolizeOptions fetching;
  fetching.debuginfod = true;
  Symbolizer afterwards(files, fetching);
  look_up(afterwards, profile);
  EXPECT_EQ(files.opened, 1);
}

TEST_F(AheadOfTheEnd, AsksForNoFrameTwice) {
  Profile profile;
  Symbolizer symbolizer(files, {});
  add(profile, 0, 200);
  const auto nowhere = profile.intern_frame(native(profile::ImageId(0), 0x40));  // has no name, however often one asks
  look_up(symbolizer, profile);
  const SymbolizeStats stats = symbolizer.name_frames(profile, {});
  EXPECT_EQ(files.opened, 1);
  EXPECT_EQ(stats.looked_up_ahead, 201U);
  EXPECT_EQ(stats.named, 200U);
  EXPECT_EQ(name_of(profile, nowhere), "");
  EXPECT_EQ(symbolizer.name_frames(profile, {}).named, 0U);
  EXPECT_EQ(files.opened, 1);
}

TEST_F(AheadOfTheEnd, TriesImagesThatCannotBeOpenedOnceMoreAtTheEnd) {
  std::atomic<int> lines{0};
  diagnostics().set_handler([&](Severity, const std::string&) { ++lines; });
  Profile profile;
  Symbolizer symbolizer(files, {});
  files.gone = true;
  EXPECT_EQ(opened_after(symbolizer, profile, 0, 100), 1);
  EXPECT_EQ(opened_after(symbolizer, profile, 100, 300), 1);
  EXPECT_EQ(symbolizer.name_frames(profile, {}).named, 0U);
  EXPECT_EQ(files.opened, 2);
  EXPECT_EQ(lines, 1);
  files.gone = false;
  EXPECT_EQ(symbolizer.name_frames(profile, {}).named, 300U);
  diagnostics().set_handler({});
}

TEST_F(AheadOfTheEnd, KeepsWhatItFoundBeforeAFileWasWrittenOver) {
  Profile profile;
  Symbolizer symbolizer(files, {});
  add(profile, 0, 100);
  look_up(symbolizer, profile);
  files.gone = true;
  add(profile, 100, 300);
  EXPECT_EQ(symbolizer.name_frames(profile, {}).named, 100U);
  EXPECT_EQ(name_of(profile, profile::FrameId(3)), "f21");
  EXPECT_EQ(name_of(profile, profile::FrameId(103)), "");
}

TEST_F(AheadOfTheEnd, LosesNothingOfABatchThatTheEndCutsShort) {
  Profile profile;
  Symbolizer symbolizer(files, {});
  add(profile, 0, 300);
  symbolizer.look_up_ahead(profile);
  add(profile, 300, kFunctions);
  EXPECT_EQ(symbolizer.name_frames(profile, {}).named, static_cast<uint64_t>(kFunctions));
}

}  // namespace
}  // namespace cicada::symbolize

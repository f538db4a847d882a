// SPDX-License-Identifier: Apache-2.0
#include "symbolize/symbolizer.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <fstream>
#include <link.h>
#include <time.h>

#include "profile/call_tree.h"
#include "symbolize/elf_image_for_test.h"
#include "symbolize/kernel_names.h"

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
  const auto refused = files->open(profile, id);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kInvalid);
  image.build_id = profile.intern("00112233445566778899aabbccddeeff00112233");
  EXPECT_TRUE(files->open(profile, profile.intern_image(image)));
}

}  // namespace
}  // namespace cicada::symbolize

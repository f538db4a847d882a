// SPDX-License-Identifier: Apache-2.0
// Images of a profile that came from elsewhere or outlived its session: found by path, accepted only with the right build-id.
// An image recorded without a build-id is accepted by path alone, which is all there is to go by.
#include "elf/elf_file.h"
#include "elf/vdso_image.h"
#include "symbolize/files/debug_files.h"
#include "symbolize/files/image_files.h"

namespace cicada::symbolize {
namespace {

class OnDiskImages : public ImageFiles {
 public:
  explicit OnDiskImages(std::vector<std::string> debug_dirs) : debug_dirs_(std::move(debug_dirs)) {}

  ImageFile find(const profile::ProfileSnapshot& profile, profile::ImageId id) override {
    const profile::Image& image = profile.images()[id.value];
    return {[this, path = std::string(profile.text(image.path)), build_id = std::string(profile.text(image.build_id))](const std::stop_token&) { return open(path, build_id); }, {}};
  }

 private:
  Result<UniqueFd> open(const std::string& path, const std::string& build_id) const {
    if (path == "[vdso]") return check(TRY(elf::open_vdso()), path, build_id);
    if (!path.starts_with('/')) return make_error(ErrorKind::kNotFound, "{}: not a file", path);
    Result<UniqueFd> here = open_checked(path, build_id);
    if (here) return here;
    for (const std::string& dir : debug_dirs_) {
      const std::string candidate = build_id_path(dir, build_id, "");  // some distributions link the executable there too
      if (candidate.empty()) continue;
      if (auto found = open_checked(candidate, build_id)) return found;
      if (auto found = open_checked(candidate + ".debug", build_id)) return found;
    }
    return here;
  }
  static Result<UniqueFd> open_checked(const std::string& path, const std::string& build_id) { return check(TRY(open_regular(path)), path, build_id); }
  static Result<UniqueFd> check(UniqueFd fd, const std::string& path, const std::string& build_id) {
    if (build_id.empty()) return fd;
    FileMapping mapping = TRY(FileMapping::map(fd.get(), path));
    const elf::ElfFile elf = TRY(elf::ElfFile::parse(std::move(mapping), path));
    if (elf.build_id() != build_id) {
      return make_error(ErrorKind::kInvalid, "{}: build-id {} instead of {}; this is another version of the file", path, elf.build_id(), build_id);
    }
    return fd;
  }
  std::vector<std::string> debug_dirs_;
};

}  // namespace

std::unique_ptr<ImageFiles> on_disk_images(std::vector<std::string> debug_dirs) {
  return std::make_unique<OnDiskImages>(std::move(debug_dirs));
}

}  // namespace cicada::symbolize

// SPDX-License-Identifier: Apache-2.0
#include "symbolize/name_writer.h"

#include <algorithm>

namespace cicada::symbolize {

using profile::NameSource;
using profile::Profile;

NameWriter::NameWriter(NamedAddresses names, std::vector<profile::FrameId> frames, profile::ImageId image, bool of_kernel)
    : names_(std::move(names)), frames_(std::move(frames)), image_(image), of_kernel_(of_kernel), functions_(names_.functions.size()),
      files_(names_.text_ends.size()) {}

profile::FunctionId NameWriter::function(Profile& profile, uint32_t index) {
  profile::FunctionId& known = functions_[index];
  if (known.valid()) return known;
  const NamedAddresses::Function& from = names_.functions[index];
  profile::ImageId image = image_;
  if (of_kernel_) {
    const std::string_view module = names_.text(from.module);
    profile::Image kernel;
    kernel.kind = module.empty() ? profile::ImageKind::kKernel : module == "bpf" ? profile::ImageKind::kBpf : profile::ImageKind::kKernelModule;
    kernel.path = profile.intern(module.empty() ? "[kernel]" : module == "bpf" ? "[bpf]" : module);
    image = profile.intern_image(kernel);
  }
  const profile::StringId name = profile.intern(names_.text(from.shown));
  return known = profile.intern_function({name, from.linkage == 0 ? profile::StringId() : profile.intern(names_.text(from.linkage)), image});
}

bool NameWriter::write(Profile& profile, size_t most) {
  const bool vdso = image_.valid() && profile.images()[image_.value].kind == profile::ImageKind::kVdso;
  for (const size_t end = next_ + std::min(most, frames_.size() - next_); next_ < end; ++next_) {
    const auto positions = names_.positions_of(next_);
    if (positions.empty() || !frames_[next_].valid()) continue;
    locations_.clear();
    for (const NamedAddresses::Position& from : positions) {
      profile::StringId& file = files_[from.file];
      if (from.file != 0 && !file.valid()) file = profile.intern(names_.text(from.file));
      locations_.push_back({function(profile, from.function), file, from.line, from.inlined != 0, vdso ? NameSource::kVdso : from.source});
    }
    profile.set_locations(frames_[next_], locations_);
    if (locations_.back().source != NameSource::kCallFrame) ++named_;
  }
  return next_ < frames_.size();
}

void NameWriter::rebase(profile::RowCopier& ids) {
  for (profile::FrameId& frame : frames_) frame = ids.find(frame).value_or(profile::FrameId());
  image_ = ids.image(image_);
  std::fill(functions_.begin(), functions_.end(), profile::FunctionId());
  std::fill(files_.begin(), files_.end(), profile::StringId());
}

}  // namespace cicada::symbolize
